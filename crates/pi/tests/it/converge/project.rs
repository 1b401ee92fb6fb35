//! Small projects with a bug that their check finds, and models that edit them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::adversary::Run;
use super::toolchain::search_path;
use super::{configure, run_file};
use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// A project with a bug.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) name: &'static str,
    /// Programs that the check needs.
    pub(super) needs: &'static [&'static str],
    pub(super) check: &'static str,
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The file with the bug, and its content after the repair.
    pub(super) repaired: (&'static str, &'static str),
}

/// A change that a scripted model makes with one of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    Bash(String),
    Write(String, String),
}

/// Returns the edit that writes a file.
pub(super) fn write(path: &str, content: &str) -> Edit {
    Edit::Write(path.to_owned(), content.to_owned())
}

/// Returns the edit that a command makes.
pub(super) fn bash(command: &str) -> Edit {
    Edit::Bash(command.to_owned())
}

impl Edit {
    /// Makes the edit without a model.
    pub(super) fn apply(&self, env: &TestEnv) {
        match self {
            Self::Bash(command) => drop(shell(env, command)),
            Self::Write(path, content) => write_file(&env.project().join(path), content),
        }
    }

    /// Returns the answer of a model that makes the edit.
    fn reply(&self, index: usize) -> Reply {
        let (name, args) = match self {
            Self::Bash(command) => ("bash", json!({"command": command})),
            Self::Write(path, content) => ("write", json!({"path": path, "content": content})),
        };
        let (id, name) = (format!("call{index}"), name.to_owned());
        Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
    }
}

impl Project {
    /// Creates the project as a git repository with one commit.
    pub(super) fn create(&self) -> TestEnv {
        create(self.files)
    }

    /// Returns true if the file with the bug has one of the lines that the repair changes, or is not
    /// there.
    pub(super) fn has_bug(&self, env: &TestEnv) -> bool {
        let (path, repaired) = self.repaired;
        let Ok(now) = fs::read_to_string(env.project().join(path)) else { return true };
        let (_, before) = self.files.iter().find(|(name, _)| *name == path).unwrap();
        let is_wrong = |line: &&str| !repaired.lines().any(|other| other == *line);
        before.lines().filter(is_wrong).any(|line| now.lines().any(|other| other == line))
    }

    /// Returns the edit that repairs the bug.
    pub(super) fn repair(&self) -> Edit {
        write(self.repaired.0, self.repaired.1)
    }
}

/// Creates a git repository with one commit. Names that end in `*` are executable.
pub(super) fn create(files: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().parent().unwrap().join("home")).unwrap();
    for (name, text) in files {
        let path = env.project().join(name.trim_end_matches('*'));
        write_file(&path, text);
        if name.ends_with('*') {
            make_executable(&path);
        }
    }
    let identity = "-c user.name=a -c user.email=a@example.com";
    let command = format!(
        "git init -q -b main && git add -A && git {identity} commit -q --allow-empty -m start"
    );
    let output = shell(&env, &command);
    assert!(output.status.success(), "{output:?}");
    env
}

fn write_file(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

/// Runs a command in the project, outside of any sandbox.
pub(super) fn shell(env: &TestEnv, command: &str) -> Output {
    let home = env.project().parent().unwrap().join("home");
    Command::new("sh")
        .args(["-c", command])
        .env_clear()
        .env("PATH", search_path())
        .env("HOME", home)
        .current_dir(env.project())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Returns true if all of these checks pass in the project, outside of any sandbox.
pub(super) fn passes(env: &TestEnv, checks: &[&str]) -> bool {
    checks.iter().all(|check| shell(env, check).status.success())
}

/// Returns a `pi run` of a contract, which is written to a file.
pub(super) fn command(env: &TestEnv, mut contract: Value, more: &[&str]) -> Command {
    if contract.get("goal").is_none() {
        contract["goal"] = json!("Repair the bug.");
    }
    let file = env.agent().join("task.json");
    fs::write(&file, contract.to_string()).unwrap();
    let mut command = env.command(&[&["run"], more, &[file.to_str().unwrap()]].concat());
    command.env("PATH", search_path());
    command
}

/// Starts a model that makes these edits, each in an answer of its own, and then claims success for
/// ever.
pub(super) fn model(edits: Vec<Edit>) -> Server {
    let server = Server::choosing(move |_, index| match edits.get(index) {
        Some(edit) => edit.reply(index),
        None => Reply::Text("Everything is done and all tests pass.".to_owned()),
    });
    server.unwrap()
}

/// Runs a contract with a model that makes these edits.
pub(super) fn run(env: &TestEnv, edits: &[Edit], contract: Value) -> Run {
    let server = model(edits.to_vec());
    configure(env, &server);
    let output = command(env, contract, &[]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = run_file(env, "report.json");
    assert_eq!(report["exitCode"].as_i64(), output.status.code().map(i64::from), "{stderr}");
    Run { code: output.status.code(), stderr, report, server }
}

/// Returns command checks for a contract.
pub(super) fn command_checks(commands: &[&str]) -> Vec<Value> {
    commands.iter().map(|command| json!({"command": command, "timeout": "5m"})).collect()
}

/// Handles the rows of a table on two threads, and returns the problems of all of them.
pub(super) fn problems_of<T: Sync>(
    rows: &[T],
    problem: impl Fn(&T) -> Option<String> + Sync,
) -> BTreeSet<String> {
    let next = Mutex::new(rows.iter());
    let problems = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let row = next.lock().unwrap().next();
                    let Some(row) = row else { return };
                    if let Some(problem) = problem(row) {
                        problems.lock().unwrap().insert(problem);
                    }
                }
            });
        }
    });
    problems.into_inner().unwrap()
}
