//! A confined process that exchanges files and links while tools work beside it: whatever it does,
//! nothing outside changes and nothing hidden is shown.

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

use crate::call::{call, text};
use crate::place::{TESTBED, confined, rungs};

/// How often each tool is called, at least.
const TIMES: usize = 1500;

struct Arena {
    _folder: TempDir,
    base: PathBuf,
    host: Arc<Host>,
    workspace: Arc<Workspace>,
}

impl Arena {
    fn new(machine: &Machine) -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["ws/work", "outside/deep", "hidden"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for name in ["outside/f", "outside/deep/f"] {
            fs::write(base.join(name), "one outside\n").unwrap();
        }
        // A file with several names is otherwise written in place, which is when a link hurts.
        fs::hard_link(base.join("outside/f"), base.join("outside/too")).unwrap();
        fs::write(base.join("hidden/f"), "planted\n").unwrap();
        let hidden = base.join("hidden");
        let host = confined(&base.join("ws"), machine, |wanted| wanted.hidden.push(hidden));
        let host = Arc::new(host);
        let executor = Arc::clone(&host);
        let workspace = Arc::new(Workspace::new(executor, base.join("ws/work"), None));
        Self { _folder: folder, base, host, workspace }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.base.join("ws/work").join(name)
    }

    /// Has the testbed run in the workspace until the process is dropped.
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

/// Calls a tool again and again, until both happened often enough: it was done, and it was not.
async fn both(tool: &dyn AgentTool, arguments: impl Fn(usize) -> Value, seen: impl Fn(&str)) {
    let patience = Instant::now() + Duration::from_secs(120);
    let (mut done, mut refused) = (0, 0);
    while done + refused < TIMES || done == 0 || refused == 0 {
        let told = text(&call(tool, &arguments(done + refused)).await);
        seen(&told);
        match told.starts_with("error: ") {
            true => refused += 1,
            false => done += 1,
        }
        assert!(Instant::now() < patience, "{done} done, {refused} refused; the last: {told}");
    }
}

fn replacement(path: &str) -> Value {
    json!({ "path": path, "edits": [{ "oldText": "one", "newText": "one one" }] })
}

#[tokio::test]
async fn a_directory_becomes_a_link() {
    for machine in rungs() {
        let arena = Arena::new(&machine);
        fs::create_dir_all(arena.work("d/deep")).unwrap();
        symlink("../../outside", arena.work("link")).unwrap();
        for name in ["d/f", "d/deep/f"] {
            fs::write(arena.work(name), "one inside\n").unwrap();
        }
        let before = arena.outside();
        let racer = arena.race(["flip", "d", "link"]).await;
        let (write, edit) = (write(arena.workspace.clone()), edit(arena.workspace.clone()));
        let names = ["d/f", "d/deep/f", "d/new"];
        let content = |number: usize| json!({ "path": names[number % 3], "content": "one x\n" });
        both(&write, content, |_| {}).await;
        both(&edit, |number| replacement(names[number % 2]), |_| {}).await;
        // Directories that have to be made on the way.
        let made = |number: usize| json!({ "path": format!("d/{number}/a/f"), "content": "x" });
        both(&write, made, |_| {}).await;
        drop(racer);
        assert_eq!(arena.outside(), before, "{}", machine.level());
    }
}

#[tokio::test]
async fn a_file_becomes_a_link() {
    for machine in rungs() {
        let arena = Arena::new(&machine);
        let before = arena.outside();
        let racer = arena.race(["swap", "f", "../../outside/f"]).await;
        let (write, edit) = (write(arena.workspace.clone()), edit(arena.workspace.clone()));
        both(&write, |_| json!({ "path": "f", "content": "one x\n" }), |_| {}).await;
        both(&edit, |_| replacement("f"), |_| {}).await;
        drop(racer);
        assert_eq!(arena.outside(), before, "{}", machine.level());
    }
}

#[tokio::test]
async fn what_is_hidden_is_not_shown_by_a_quick_link() {
    for machine in rungs() {
        let arena = Arena::new(&machine);
        fs::create_dir(arena.work("d")).unwrap();
        fs::write(arena.work("d/f"), "one inside\n").unwrap();
        symlink("../../hidden", arena.work("link")).unwrap();
        let racer = arena.race(["flip", "d", "link"]).await;
        let not_shown = |told: &str| assert!(!told.contains("planted"), "{told}");
        let read = read(arena.workspace.clone());
        both(&read, |_| json!({ "path": "d/f" }), not_shown).await;
        let grep = grep(arena.workspace.clone());
        both(&grep, |_| json!({ "path": "d/f", "pattern": "plant|one" }), not_shown).await;
        for _ in 0..TIMES {
            not_shown(&text(&call(&grep, &json!({ "pattern": "plant|one" })).await));
        }
        drop(racer);
    }
}

#[tokio::test]
async fn these_races_can_be_lost() {
    // The same without confinement: the first write through the link changes what is outside.
    let Some(machine) = rungs().into_iter().next() else { return };
    let arena = Arena::new(&machine);
    symlink("../../outside", arena.work("d")).unwrap();
    let free = Workspace::clone(&arena.workspace).with_executor(Arc::new(Host::default()));
    let before = arena.outside();
    call(&write(Arc::new(free)), &json!({ "path": "d/f", "content": "x" })).await.unwrap();
    assert_ne!(arena.outside(), before);
    assert_eq!(fs::read(Path::new(&arena.base).join("outside/f")).unwrap(), b"x");
}
