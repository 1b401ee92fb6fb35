//! The cost of the program as users run it: start-up with many files, a long answer, a long session.
//!
//! Runs the release build of `pi` against a server in this process. CPU time of the program alone,
//! since the server is not its child; memory as the system reports it while the program runs.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::process::{Whose, cpu_of, peak_memory_of};
use crate::repository;

const SKILLS: usize = 50;
const PROMPTS: usize = 20;
const CHUNKS: usize = 20_000;

/// A row of the table, with its budget.
struct Row {
    what: String,
    milliseconds: f64,
    megabytes: Option<f64>,
    budget: &'static str,
}

/// Measures everything and prints the table.
#[allow(clippy::print_stdout)]
pub(super) fn print(quick: bool) {
    match measure(quick) {
        Ok(rows) => {
            println!("\npi, release build: CPU time and peak memory\n");
            println!("| what | CPU | memory | budget |\n|---|---|---|---|");
            for row in rows {
                let memory = row.megabytes.map_or("–".to_owned(), |mb| format!("{mb:.1} MB"));
                println!(
                    "| {} | {:.1} ms | {memory} | {} |",
                    row.what, row.milliseconds, row.budget
                );
            }
        }
        Err(error) => println!("\nmodes: not measured: {error}"),
    }
}

fn measure(quick: bool) -> io::Result<Vec<Row>> {
    let pi = build()?;
    let directory = tempfile::tempdir()?;
    let port = start_model()?;
    let (sessions, groups, runs) = if quick { (500, 1_000, 3) } else { (5_000, 10_000, 10) };
    let env = TestEnv::create(directory.path(), port, sessions)?;
    let long = env.long_session(groups)?;
    let prompt = |text: &str| {
        let mut command = env.command(&pi);
        command.args(["-p", "--model", "mock/m1", text]);
        command
    };
    let mut rows = Vec::new();
    let mut add = |what: String, milliseconds: f64, megabytes, budget| {
        rows.push(Row { what, milliseconds, megabytes, budget });
    };
    let mut version = env.command(&pi);
    version.arg("--version");
    add("`--version`".to_owned(), cpu(runs * 10, &mut version)?, None, "3 ms, 8 MB");
    let files = format!("{SKILLS} skills, {PROMPTS} prompts, {sessions} sessions");
    let print = cpu(runs, &mut prompt("hi"))?;
    let memory = env.rpc(&pi, &[], Some("hi"))?;
    add(format!("`-p hi` with {files}"), print, memory, "15 ms, 20 MB");
    let answer = cpu(runs, &mut prompt(&format!("CHUNKS {CHUNKS}")))?;
    let memory = env.rpc(&pi, &[], Some(&format!("CHUNKS {CHUNKS}")))?;
    add(format!("`-p` with an answer of {CHUNKS} chunks"), answer, memory, "60 ms, flat");
    let session = ["--session", &*long.to_string_lossy()];
    let mut state = || env.rpc(&pi, &session, None).map(drop);
    let took = cpu_of(runs, Whose::Children, &mut state)?;
    let took = took.map_or(f64::NAN, |took| took.as_secs_f64() * 1000.0);
    let memory = env.rpc(&pi, &session, None)?;
    let what = format!("RPC `get_state`, {} messages", groups * 4);
    add(what, took, memory, "50 ms, 80 MB");
    Ok(rows)
}

pub(super) fn build() -> io::Result<PathBuf> {
    let built = repository::cargo()
        .args(["build", "--release", "--package", "pi", "--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()?;
    let binary = built.stdout.split(|byte| *byte == b'\n').rev().find_map(|line| {
        let message: Value = serde_json::from_slice(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    binary.ok_or_else(|| io::Error::other("the release build failed"))
}

/// Starts the server of the model. Returns its port.
pub(super) fn start_model() -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    Ok(port)
}

/// Returns the CPU time of a command in milliseconds.
pub(super) fn cpu(runs: u32, command: &mut Command) -> io::Result<f64> {
    let took = cpu_of(runs, Whose::Children, || {
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
    })?;
    Ok(took.map_or(f64::NAN, |took| took.as_secs_f64() * 1000.0))
}

/// A home and a project directory with many files.
pub(super) struct TestEnv {
    home: PathBuf,
    project: PathBuf,
}

impl TestEnv {
    pub(super) fn create(root: &Path, port: u16, sessions: usize) -> io::Result<Self> {
        let env = Self { home: root.join("home"), project: root.join("project") };
        let agent = env.agent();
        fs::create_dir_all(&env.project)?;
        for number in 0..SKILLS {
            let skill = agent.join(format!("skills/skill-{number}"));
            fs::create_dir_all(&skill)?;
            let text = format!("---\ndescription: Does thing {number} well.\n---\n");
            fs::write(skill.join("SKILL.md"), text + &"Do it.\n".repeat(200))?;
        }
        fs::create_dir_all(agent.join("prompts"))?;
        for number in 0..PROMPTS {
            let text = format!("---\ndescription: Prompt {number}\n---\nDo $1.\n");
            fs::write(agent.join(format!("prompts/prompt-{number}.md")), text)?;
        }
        let models = json!({"providers": {"mock": {
            "baseUrl": format!("http://127.0.0.1:{port}/v1"),
            "api": "openai-completions",
            "models": [{"id": "m1"}],
        }}});
        fs::write(agent.join("models.json"), models.to_string())?;
        for number in 0..sessions {
            let name = format!("2026-01-01T00-00-00-000Z_old-{number}.jsonl");
            let header = env.header(&format!("old-{number}"));
            fs::write(env.sessions()?.join(name), format!("{header}\n"))?;
        }
        Ok(env)
    }

    pub(super) fn agent(&self) -> PathBuf {
        self.home.join(".pi/agent")
    }

    fn sessions(&self) -> io::Result<PathBuf> {
        let directory = pi_session::session_directory(&self.agent(), &self.project);
        fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    fn header(&self, id: &str) -> Value {
        let timestamp = "2026-01-01T00:00:00.000Z";
        json!({"type": "session", "version": 3, "id": id, "timestamp": timestamp, "cwd": self.project})
    }

    /// Writes a session with four messages per group: question, call, result, answer.
    fn long_session(&self, groups: usize) -> io::Result<PathBuf> {
        let path = self.sessions()?.join("2026-01-02T00-00-00-000Z_long.jsonl");
        let mut file = io::BufWriter::new(fs::File::create(&path)?);
        writeln!(file, "{}", self.header("long"))?;
        let text = |text: String| json!([{"type": "text", "text": text}]);
        let output: String = (0..90).map(|n| format!("line {n} of some output\n")).collect();
        let mut parent = Value::Null;
        for number in 0..groups * 4 {
            let id = format!("{number:08x}");
            let call = format!("c{}", number / 4);
            let message = match number % 4 {
                0 => {
                    json!({"role": "user", "content": text("A question? ".repeat(10)), "timestamp": 1})
                }
                1 => assistant(
                    &json!([{"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "ls"}}]),
                    "toolUse",
                ),
                2 => {
                    json!({"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": text(output.clone()), "isError": false, "timestamp": 1})
                }
                _ => assistant(&text("An answer. ".repeat(20)), "stop"),
            };
            let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-02T00:00:00.000Z", "message": message});
            writeln!(file, "{entry}")?;
            parent = id.into();
        }
        file.flush()?;
        Ok(path)
    }

    pub(super) fn command(&self, pi: &Path) -> Command {
        let mut command = Command::new(pi);
        command.current_dir(&self.project).env_clear().env("HOME", &self.home);
        command
    }

    /// Requests the state in RPC mode, after the prompt if there is one, and returns the peak memory.
    fn rpc(&self, pi: &Path, arguments: &[&str], prompt: Option<&str>) -> io::Result<Option<f64>> {
        let mut command = self.command(pi);
        command.args(["--mode", "rpc", "--model", "mock/m1"]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(mut input), Some(output)) = (input, output) else {
            return Err(io::Error::other("no pipes"));
        };
        let mut lines = BufReader::new(output).lines();
        let mut wait_for = |kind: &str| -> io::Result<()> {
            for line in lines.by_ref() {
                let record: Value = serde_json::from_str(&line?)?;
                if record["type"] == kind {
                    return Ok(());
                }
            }
            Err(io::Error::other(format!("no {kind}")))
        };
        if let Some(prompt) = prompt {
            writeln!(input, "{}", json!({"type": "prompt", "message": prompt}))?;
            wait_for("agent_settled")?;
        }
        writeln!(input, "{}", json!({"type": "get_state"}))?;
        wait_for("response")?;
        let peak = peak_memory_of(&child.id().to_string());
        drop(input);
        child.wait()?;
        Ok(peak)
    }
}

fn assistant(content: &Value, stop_reason: &str) -> Value {
    let none = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    json!({
        "role": "assistant", "content": content, "api": "openai-completions", "provider": "mock",
        "model": "m1", "stopReason": stop_reason, "timestamp": 1,
        "usage": {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15, "cost": none},
    })
}

/// Answers every request of a connection. `CHUNKS n` in a request selects the number of chunks.
fn serve(stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim().is_empty() => break,
                Ok(_) => {}
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8_lossy(&body);
        let asked = body.rsplit_once("CHUNKS ").map_or("1", |(_, rest)| rest);
        let count = asked.split(|c: char| !c.is_ascii_digit()).next();
        let count = count.and_then(|count| count.parse().ok()).unwrap_or(1);
        let piece = json!({"id": "r", "model": "m1", "choices": [{"index": 0, "delta": {"content": "word "}}]});
        let end = json!({"id": "r", "model": "m1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
        let mut answer = format!("data: {piece}\n\n").repeat(count);
        answer.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let out = reader.get_mut();
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(answer.as_bytes())).is_err() {
            return;
        }
    }
}
