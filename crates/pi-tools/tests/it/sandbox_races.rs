//! A sandboxed process that exchanges files and links while tools run: nothing outside changes, and
//! no hidden content is shown.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_agent::AgentTool;
use pi_guard::confine::Machine;
use pi_tools::{Command, Executor, Host, Process, Workspace, edit, grep, read, write};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::call::{call, text};
use crate::env::{TESTBED, sandboxed_host, sandboxes};

/// Minimum number of calls of each tool.
const TIMES: usize = 1500;

struct RaceEnv {
    _directory: TempDir,
    base: PathBuf,
    host: Arc<Host>,
    workspace: Arc<Workspace>,
}

impl RaceEnv {
    fn new(machine: &Machine) -> Self {
        let directory = TempDir::new().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for name in ["ws/work", "outside/deep", "hidden"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for name in ["outside/f", "outside/deep/f"] {
            fs::write(base.join(name), "one outside\n").unwrap();
        }
        // A file with several names is normally overwritten in place, where a link does the most
        // harm.
        fs::hard_link(base.join("outside/f"), base.join("outside/too")).unwrap();
        fs::write(base.join("hidden/f"), "planted\n").unwrap();
        let hidden = base.join("hidden");
        let host = sandboxed_host(&base.join("ws"), machine, |wanted| wanted.hidden.push(hidden));
        let host = Arc::new(host);
        let executor = Arc::clone(&host);
        let workspace = Arc::new(Workspace::new(executor, base.join("ws/work"), None));
        Self { _directory: directory, base, host, workspace }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.base.join("ws/work").join(name)
    }

    /// Runs the testbed in the workspace until the process is dropped.
    async fn race(&self, arguments: [&str; 3]) -> Process {
        let command = Command::new(TESTBED, self.work("")).arguments(arguments);
        self.host.spawn(&command).await.unwrap()
    }

    fn outside(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut found = Vec::new();
        let mut open = vec![self.base.join("outside"), self.base.join("hidden")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let content = path.is_file().then(|| fs::read_to_string(&path).unwrap());
                if content.is_none() {
                    open.push(path.clone());
                }
                found.push((path, content));
            }
        }
        found.sort();
        found
    }
}

/// Calls a tool until it has both succeeded and failed, and at least [`TIMES`] times.
async fn both(
    racer: &mut Process,
    tool: &dyn AgentTool,
    arguments: impl Fn(usize) -> Value,
    seen: impl Fn(&str),
) {
    let patience = Instant::now() + Duration::from_secs(120);
    let (mut done, mut refused) = (0, 0);
    while done + refused < TIMES || done == 0 || refused == 0 {
        let answer = text(&call(tool, &arguments(done + refused)).await);
        seen(&answer);
        match answer.starts_with("error: ") {
            true => refused += 1,
            false => done += 1,
        }
        if Instant::now() > patience {
            let mut output = vec![0; 4096];
            let read = tokio::time::timeout(Duration::from_secs(1), racer.output.read(&mut output));
            let racer = read
                .await
                .map(|read| String::from_utf8_lossy(&output[..read.unwrap()]).into_owned());
            panic!("{done} done, {refused} refused; the last: {answer}; the racer: {racer:?}");
        }
    }
}

fn replacement(path: &str) -> Value {
    json!({ "path": path, "edits": [{ "oldText": "one", "newText": "one one" }] })
}

#[tokio::test]
async fn writes_stay_inside_when_a_directory_becomes_a_link() {
    for machine in sandboxes() {
        let env = RaceEnv::new(&machine);
        fs::create_dir_all(env.work("d/deep")).unwrap();
        symlink("../../outside", env.work("link")).unwrap();
        for name in ["d/f", "d/deep/f"] {
            fs::write(env.work(name), "one inside\n").unwrap();
        }
        let before = env.outside();
        let mut racer = env.race(["flip", "d", "link"]).await;
        let (write, edit) = (write(env.workspace.clone()), edit(env.workspace.clone()));
        let names = ["d/f", "d/deep/f", "d/new"];
        let content = |number: usize| json!({ "path": names[number % 3], "content": "one x\n" });
        both(&mut racer, &write, content, |_| {}).await;
        both(&mut racer, &edit, |number| replacement(names[number % 2]), |_| {}).await;
        // With directories that must be created.
        let made = |number: usize| json!({ "path": format!("d/{number}/a/f"), "content": "x" });
        both(&mut racer, &write, made, |_| {}).await;
        drop(racer);
        assert_eq!(env.outside(), before, "{}", machine.level());
    }
}

#[tokio::test]
async fn writes_stay_inside_when_a_file_becomes_a_link() {
    for machine in sandboxes() {
        let env = RaceEnv::new(&machine);
        let before = env.outside();
        let mut racer = env.race(["swap", "f", "../../outside/f"]).await;
        let (write, edit) = (write(env.workspace.clone()), edit(env.workspace.clone()));
        both(&mut racer, &write, |_| json!({ "path": "f", "content": "one x\n" }), |_| {}).await;
        both(&mut racer, &edit, |_| replacement("f"), |_| {}).await;
        drop(racer);
        assert_eq!(env.outside(), before, "{}", machine.level());
    }
}

#[tokio::test]
async fn hidden_files_are_not_read_when_a_directory_becomes_a_link() {
    for machine in sandboxes() {
        let env = RaceEnv::new(&machine);
        fs::create_dir(env.work("d")).unwrap();
        fs::write(env.work("d/f"), "one inside\n").unwrap();
        symlink("../../hidden", env.work("link")).unwrap();
        let mut racer = env.race(["flip", "d", "link"]).await;
        let not_shown = |answer: &str| assert!(!answer.contains("planted"), "{answer}");
        let read = read(env.workspace.clone());
        both(&mut racer, &read, |_| json!({ "path": "d/f" }), not_shown).await;
        let grep = grep(env.workspace.clone());
        both(&mut racer, &grep, |_| json!({ "path": "d/f", "pattern": "plant|one" }), not_shown)
            .await;
        for _ in 0..TIMES {
            not_shown(&text(&call(&grep, &json!({ "pattern": "plant|one" })).await));
        }
        drop(racer);
    }
}

#[tokio::test]
async fn writes_follow_links_without_a_sandbox() {
    // The first write through the link changes a file outside.
    let Some(machine) = sandboxes().into_iter().next() else { return };
    let env = RaceEnv::new(&machine);
    symlink("../../outside", env.work("d")).unwrap();
    let free = Workspace::clone(&env.workspace).with_executor(Arc::new(Host::default()));
    let before = env.outside();
    call(&write(Arc::new(free)), &json!({ "path": "d/f", "content": "x" })).await.unwrap();
    assert_ne!(env.outside(), before);
    assert_eq!(fs::read(Path::new(&env.base).join("outside/f")).unwrap(), b"x");
}
