//! Runs a scenario with a program: sets up its directory, sends its input, and collects the results.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::{Value, json};

use super::format::{Run, Scenario, Step};
use super::server::Server;

/// Time after which a scenario counts as hanging.
const TIMEOUT: Duration = Duration::from_secs(40);

/// A program with its leading arguments.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) first: Vec<PathBuf>,
    /// Installation directory.
    pub(super) home: PathBuf,
}

/// The raw results of a scenario.
#[derive(Debug)]
pub(super) struct Observed {
    /// Texts that differ between runs, with their replacements.
    pub(super) placeholders: Vec<(String, &'static str)>,
    pub(super) runs: Vec<ObservedRun>,
    pub(super) requests: Vec<Value>,
    /// Session files by name.
    pub(super) sessions: BTreeMap<String, String>,
    /// Contents of the files in `look`; `None` if a file does not exist.
    pub(super) files: BTreeMap<String, Option<String>>,
}

#[derive(Debug)]
pub(super) struct ObservedRun {
    /// Standard output consists of JSON records.
    pub(super) records: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit: Option<i32>,
}

/// Runs a scenario. The error describes what did not happen, and the output so far.
pub(super) fn run(scenario: &Scenario, program: &Program) -> Result<Observed, String> {
    let directory = tempfile::Builder::new().prefix("pi-scenario-").tempdir().map_err(text)?;
    let root = directory.path().canonicalize().map_err(text)?;
    let server = Server::start(scenario.server.clone()).map_err(text)?;
    let mut names = BTreeMap::from([
        ("$ROOT".to_owned(), root.to_string_lossy().into_owned()),
        ("$URL".to_owned(), server.url()),
    ]);
    set_up(scenario, &root, &names).map_err(text)?;
    let mut runs = Vec::new();
    for run in &scenario.runs {
        runs.push(run_once(run, program, &root, &server, &mut names)?);
    }
    let mut sessions = BTreeMap::new();
    collect(&root, &mut sessions).map_err(text)?;
    let look = |path: &String| (path.clone(), fs::read_to_string(root.join(path)).ok());
    Ok(Observed {
        files: scenario.look.iter().map(look).collect(),
        placeholders: vec![
            (root.to_string_lossy().into_owned(), "$ROOT"),
            (server.url(), "$URL"),
            (program.home.to_string_lossy().into_owned(), "$PI"),
        ],
        runs,
        requests: server.requests(),
        sessions,
    })
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
fn text(error: io::Error) -> String {
    error.to_string()
}

fn set_up(scenario: &Scenario, root: &Path, names: &BTreeMap<String, String>) -> io::Result<()> {
    for directory in ["work", "agent", "home", "tmp"] {
        fs::create_dir(root.join(directory))?;
    }
    let mut settings = json!({
        "defaultProvider": "mock",
        "defaultModel": "m1",
        "retry": {"baseDelayMs": 1},
    });
    for (key, value) in &scenario.settings {
        settings[key] = value.clone();
    }
    fs::write(root.join("agent/settings.json"), settings.to_string())?;
    let models = scenario.models.clone().unwrap_or_else(models);
    if !models.is_null() {
        fs::write(root.join("agent/models.json"), fill(&models, names).to_string())?;
    }
    for (path, content) in &scenario.files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        match content.strip_prefix("base64:") {
            Some(code) => fs::write(path, STANDARD.decode(code).map_err(io::Error::other)?)?,
            None => fs::write(path, fill_text(content, names))?,
        }
    }
    Ok(())
}

/// Returns the default models: a plain one, one that reasons, and one that reads images.
fn models() -> Value {
    let model = |id: &str, reasoning: bool, input: &[&str]| json!({"id": id, "reasoning": reasoning, "input": input, "contextWindow": 100_000, "maxTokens": 1000});
    let models = [
        model("m1", false, &["text"]),
        model("r1", true, &["text"]),
        model("v1", false, &["text", "image"]),
    ];
    let provider = json!({
        "baseUrl": "$URL/v1", "apiKey": "key", "api": "openai-completions", "models": models,
    });
    json!({"providers": {"mock": provider}})
}

fn fill_text(text: &str, names: &BTreeMap<String, String>) -> String {
    // Longer names first, since a name may be the prefix of another.
    names.iter().rev().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

fn fill(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => fill_text(text, names).into(),
        Value::Array(items) => items.iter().map(|item| fill(item, names)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, item)| (key.clone(), fill(item, names)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Collects all session files below a directory.
fn collect(directory: &Path, found: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.insert(path.to_string_lossy().into_owned(), fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// The output of a program so far.
#[derive(Default)]
struct Output {
    state: Mutex<(Vec<String>, bool)>,
    changed: Condvar,
}

impl Output {
    fn read(&self, stdout: impl io::Read) {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            self.state.lock().unwrap().0.push(String::from_utf8_lossy(&line).into_owned());
            self.changed.notify_all();
            line.clear();
        }
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    /// Waits for the first record with these fields that is not used yet.
    fn find(&self, pattern: &Value, used: &mut Vec<usize>) -> Option<Value> {
        let deadline = Instant::now() + TIMEOUT;
        let mut at = 0;
        let mut state = self.state.lock().unwrap();
        loop {
            while let Some(line) = state.0.get(at) {
                let record: Value = serde_json::from_str(line).unwrap_or(Value::Null);
                if !used.contains(&at) && has(&record, pattern) {
                    used.push(at);
                    return Some(record);
                }
                at += 1;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.1 || left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits for the end of the output. Returns false after the timeout.
    fn ended(&self) -> bool {
        let state = self.state.lock().unwrap();
        let open = |state: &mut (Vec<String>, bool)| !state.1;
        !self.changed.wait_timeout_while(state, TIMEOUT, open).unwrap().1.timed_out()
    }

    fn all(&self) -> String {
        self.state.lock().unwrap().0.concat()
    }
}

/// Returns true if `value` contains every field of `pattern`.
pub(super) fn has(value: &Value, pattern: &Value) -> bool {
    match (value, pattern) {
        (Value::Object(value), Value::Object(pattern)) => {
            pattern.iter().all(|(key, part)| value.get(key).is_some_and(|value| has(value, part)))
        }
        (value, pattern) => value == pattern,
    }
}

/// A child process that is killed on drop.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Usually, it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the program once.
fn run_once(
    run: &Run,
    program: &Program,
    root: &Path,
    server: &Server,
    names: &mut BTreeMap<String, String>,
) -> Result<ObservedRun, String> {
    let mut command = Command::new(&program.path);
    command.args(&program.first).args(run.args.iter().map(|argument| fill_text(argument, names)));
    command.current_dir(root.join("work")).env_clear();
    // The tools need a shell; everything else is set by the scenario.
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", root.join("home")).env("TMPDIR", root.join("tmp"));
    command.env("PI_CODING_AGENT_DIR", root.join("agent")).env("PI_OFFLINE", "1");
    command.env("LANG", "C.UTF-8").env("TZ", "UTC");
    command.envs(run.env.iter().map(|(name, value)| (name, fill_text(value, names))));
    let silent = run.stdin.is_none() && run.steps.is_empty();
    command.stdin(if silent { Stdio::null() } else { Stdio::piped() });
    let mut child =
        KillOnDrop(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(text)?);
    let output = Arc::new(Output::default());
    let (stdout, collected) = (child.0.stdout.take().unwrap(), Arc::clone(&output));
    std::thread::spawn(move || collected.read(stdout));
    let mut stderr = child.0.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stderr.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut stdin = child.0.stdin.take();
    if let (Some(stdin), Some(content)) = (&mut stdin, &run.stdin) {
        stdin.write_all(fill_text(content, names).as_bytes()).map_err(text)?;
    }
    let mut used = Vec::new();
    for step in &run.steps {
        if let Err(problem) = take(step, root, &mut stdin, &output, &mut used, server, names) {
            drop(child);
            let stderr = errors.join().unwrap_or_default();
            return Err(format!("{problem}\n--- stdout\n{}--- stderr\n{stderr}", output.all()));
        }
    }
    drop(stdin);
    if !output.ended() {
        drop(child);
        let stderr = errors.join().unwrap_or_default();
        return Err(format!(
            "the program does not end\n--- stdout\n{}--- stderr\n{stderr}",
            output.all()
        ));
    }
    let exit = child.0.wait().map_err(text)?.code();
    let records = run.args.iter().any(|argument| argument == "json" || argument == "rpc");
    let stderr = errors.join().unwrap_or_default();
    Ok(ObservedRun { records, stdout: output.all(), stderr, exit })
}

/// Takes a step of the scenario.
fn take(
    step: &Step,
    root: &Path,
    stdin: &mut Option<ChildStdin>,
    output: &Output,
    used: &mut Vec<usize>,
    server: &Server,
    names: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let mut write = |content: &str| match stdin {
        Some(stdin) => stdin.write_all(content.as_bytes()).map_err(text),
        None => Ok(()),
    };
    match step {
        Step::Send(record) => write(&format!("{}\n", fill(record, names))),
        Step::Write(content) => write(&fill_text(content, names)),
        Step::Wait(pattern) => match output.find(&fill(pattern, names), used) {
            Some(_) => Ok(()),
            None => Err(format!("no record {pattern}")),
        },
        Step::Capture(capture) => {
            let record = output.find(&fill(&capture.from, names), used);
            let record = record.ok_or_else(|| format!("no record {}", capture.from))?;
            let part = record.pointer(&capture.at).and_then(Value::as_str);
            let part = part.ok_or_else(|| format!("no text {} in {record}", capture.at))?;
            names.insert(format!("${}", capture.name), part.to_owned());
            Ok(())
        }
        Step::Release(gate) => {
            server.open(gate);
            Ok(())
        }
        Step::Requests(count) => match server.wait_for_requests(*count, TIMEOUT) {
            true => Ok(()),
            false => Err(format!("only {} requests, not {count}", server.requests().len())),
        },
        Step::Touch(path) => fs::write(root.join(path), "").map_err(text),
    }
}
