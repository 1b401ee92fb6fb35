//! A machine of its own for every test: a home, a project, and sessions in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

/// Directories that go away with it.
pub(crate) struct World {
    directory: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(world.project()).unwrap();
        world
    }

    /// The working directory. Canonical, as the program sees it.
    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("home/.pi/agent")
    }

    /// `pi` with an environment of its own: no keys, no proxies.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments).env_clear().current_dir(self.project());
        command.env("HOME", self.directory.path().canonicalize().unwrap().join("home"));
        command.env("PATH", "/usr/bin:/bin");
        command.stdin(std::process::Stdio::null());
        command
    }

    pub(crate) fn pi(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What it prints if all goes well.
    pub(crate) fn out(&self, arguments: &[&str]) -> String {
        let output = self.pi(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Its code and its complaint.
    pub(crate) fn failure(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.pi(arguments);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// A session of a question and an answer, which ran in `cwd`.
    pub(crate) fn session(&self, id: &str, cwd: &Path, question: &str) -> PathBuf {
        let directory = pi_session::session_directory(&self.agent(), cwd);
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("2026-01-02T03-04-05-678Z_{id}.jsonl"));
        let time = "2026-01-02T03:04:05.678Z";
        let lines = [
            json!({ "type": "session", "version": 3, "id": id, "timestamp": time, "cwd": cwd }),
            json!({ "type": "message", "id": "aaaa0001", "parentId": null, "timestamp": time,
                "message": { "role": "user", "content": question, "timestamp": 1_767_323_045_678_u64 } }),
            json!({ "type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": time,
                "message": { "role": "assistant", "content": [{ "type": "text", "text": "An answer." }],
                    "api": "openai-completions", "provider": "mock", "model": "m1", "stopReason": "stop",
                    "usage": { "input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12,
                        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5 } },
                    "timestamp": 1_767_323_046_678_u64 } }),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Replaces what is different on every machine and in every run.
    pub(crate) fn stable(&self, text: &str) -> String {
        let root = self.directory.path().canonicalize().unwrap();
        let root = root.to_str().unwrap();
        // As it is part of the name of a directory for sessions.
        let slug = root.trim_start_matches('/').replace('/', "-");
        text.replace(root, "[ROOT]").replace(&slug, "[ROOT]")
    }
}
