//! File tools compared with recordings of the TypeScript pi.
//!
//! A case has files, calls with their results, and the files afterwards. Where our result differs,
//! the case has a reason (`deviation`) and our result (`ours`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::FnTool;
use pi_tools::{Workspace, edit, read, write};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::call;
use crate::env::TestEnv;

pub(crate) const EDITS: &str = include_str!("../fixtures/edit.json");
pub(crate) const WRITES: &str = include_str!("../fixtures/write.json");
pub(crate) const READS: &str = include_str!("../fixtures/read.json");

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    files: Vec<File>,
    calls: Vec<Call>,
    after: Vec<Value>,
    /// Reason for a different result.
    deviation: Option<String>,
    /// Files afterwards with our tools, if they differ.
    ours: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    #[serde(default)]
    directory: bool,
    link: Option<String>,
    hex: Option<String>,
    /// The text consists of `start`, `repeat` (as many `times`) and `text`.
    #[serde(default)]
    start: String,
    #[serde(default)]
    repeat: String,
    #[serde(default)]
    times: usize,
    #[serde(default)]
    text: String,
    mode: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    args: Value,
    ok: Option<Value>,
    error: Option<String>,
    /// Our result, if it differs.
    ours: Option<Value>,
}

#[tokio::test]
async fn edits_match_the_recording() {
    replay(EDITS, &TestEnv::host(), 1).await;
}

#[tokio::test]
async fn writes_match_the_recording() {
    replay(WRITES, &TestEnv::host(), 1).await;
}

#[tokio::test]
async fn reads_match_the_recording() {
    replay(READS, &TestEnv::host(), 1).await;
}

/// Replays every `one_of`-th case.
pub(crate) async fn replay(fixture: &str, env: &TestEnv, one_of: usize) {
    let fixture: Fixture = serde_json::from_str(fixture).unwrap();
    let mut wrong = Vec::new();
    // Devices are refused here, unlike in the recording.
    let cases = fixture.cases.iter().filter(|case| case.name != "device");
    for case in cases.step_by(one_of) {
        wrong.extend(run(case, env).await);
    }
    assert!(wrong.is_empty(), "{}\n{} differ", wrong.join("\n"), wrong.len());
}

/// Runs a case and returns the differences.
async fn run(case: &Case, env: &TestEnv) -> Vec<String> {
    let (cwd, home) = (env.directory(), env.directory());
    let local = Directories { cwd: cwd.path().to_owned(), home: home.path().to_owned() };
    let remote =
        Directories { cwd: env.remote_path(&local.cwd), home: env.remote_path(&local.home) };
    for file in &case.files {
        create(&local.path(&file.path), file);
    }
    // The recordings were made as root. Other users are refused, and the files stay.
    let is_refused = case.name.ends_with("(root may)") && !rustix::process::geteuid().is_root();
    let refusal = json!({ "error": "EACCES: permission denied, open '{cwd}/f'" });
    let before = local.files();
    let mut wrong = Vec::new();
    let mut differs = false;
    for call_made in &case.calls {
        // A workspace per call: the TypeScript pi does not track which files were seen.
        let workspace = Workspace::new(
            Arc::clone(&env.executor),
            remote.cwd.clone(),
            Some(remote.home.clone()),
        );
        let tool = tool(&call_made.tool, Arc::new(workspace));
        let arguments = remote.real(&call_made.args);
        let found = match call(&tool, &arguments).await {
            Ok(output) => json!({ "ok": output }),
            // The excerpt of the file is an addition.
            Err(error) => json!({ "error": sentence(&error.to_string()) }),
        };
        let found = remote.shown(&found);
        let observed = match (&call_made.ok, &call_made.error) {
            (Some(ok), _) => json!({ "ok": ok }),
            (None, error) => json!({ "error": error }),
        };
        let recorded = call_made.ours.as_ref().unwrap_or(&observed);
        differs |= recorded != &observed;
        let expected = if is_refused { &refusal } else { recorded };
        if &found != expected {
            let (name, args) = (&case.name, &call_made.args);
            wrong.push(format!("{name} {args}\n  expected {expected}\n  found    {found}"));
        }
    }
    let after = local.files();
    let recorded = case.ours.as_ref().unwrap_or(&case.after);
    differs |= recorded != &case.after;
    let expected = if is_refused { &before } else { recorded };
    if &after != expected {
        let (expected, after) = (json!(expected), json!(after));
        wrong.push(format!("{} left\n  expected {expected}\n  found    {after}", case.name));
    }
    if differs != case.deviation.is_some() {
        wrong.push(format!(
            "{}: a deviation needs a reason, and a reason needs a deviation",
            case.name
        ));
    }
    wrong
}

fn tool(name: &str, workspace: Arc<Workspace>) -> FnTool {
    match name {
        "edit" => edit(workspace),
        "read" => read(workspace),
        "write" => write(workspace),
        other => panic!("no tool {other}"),
    }
}

fn create(path: &Path, file: &File) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if file.directory {
        return fs::create_dir_all(path).unwrap();
    }
    if let Some(link) = &file.link {
        return std::os::unix::fs::symlink(link, path).unwrap();
    }
    let text = || format!("{}{}{}", file.start, file.repeat.repeat(file.times), file.text);
    let bytes = file.hex.as_deref().map_or_else(|| text().into_bytes(), unhex);
    fs::write(path, bytes).unwrap();
    let mode = file.mode.as_deref().unwrap_or("644");
    set_mode(path, u32::from_str_radix(mode, 8).unwrap());
}

/// The files in a directory, in the form of a fixture.
fn look(directory: &Path, prefix: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if kind.is_dir() {
            found.extend(look(&path, &format!("{name}/")));
            continue;
        }
        if kind.is_symlink() {
            found.push(json!({ "path": name, "link": fs::read_link(&path).unwrap() }));
            continue;
        }
        let mut file = match String::from_utf8(fs::read(&path).unwrap()) {
            Ok(text) => json!({ "path": name, "text": shortened(&text) }),
            Err(error) => json!({ "path": name, "hex": hex(error.as_bytes()) }),
        };
        let mode = mode(&path);
        if mode != 0o644 {
            file["mode"] = json!(format!("{mode:o}"));
        }
        found.push(file);
    }
    found
}

/// The directories that fixtures call `{cwd}` and `{home}`.
struct Directories {
    cwd: PathBuf,
    home: PathBuf,
}

impl Directories {
    fn path(&self, name: &str) -> PathBuf {
        name.strip_prefix("~/").map_or_else(|| self.cwd.join(name), |rest| self.home.join(rest))
    }

    /// All files, in the form of a fixture.
    fn files(&self) -> Vec<Value> {
        let mut files = look(&self.cwd, "");
        files.extend(look(&self.home, "~/"));
        files.sort_by_key(|file| file["path"].to_string());
        files
    }

    fn real(&self, value: &Value) -> Value {
        map(value, &|text| text.replace("{cwd}", self.cwd.to_str().unwrap()))
    }

    fn shown(&self, value: &Value) -> Value {
        map(value, &|text| {
            let text = text.replace(self.cwd.to_str().unwrap(), "{cwd}");
            shortened(&text.replace(self.home.to_str().unwrap(), "{home}"))
        })
    }
}

fn map(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| map(item, change)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), map(field, change))).collect()
        }
        other => other.clone(),
    }
}

/// Long texts are stored in fixtures as start, length and end.
fn shortened(text: &str) -> String {
    if text.len() <= 3000 {
        return text.to_owned();
    }
    let start: String = text.chars().take(60).collect();
    let end = text.char_indices().rev().nth(199).map_or(0, |(at, _)| at);
    format!("{start}…{}…{}", text.len(), &text[end..])
}

/// Returns the part of an error before the excerpt of the file.
fn sentence(error: &str) -> &str {
    match error.split_once("\n\n") {
        Some((sentence, _)) if sentence.starts_with("Could not find") => sentence,
        _ => error,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
