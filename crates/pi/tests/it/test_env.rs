//! The environment of a test: temporary home and project directories, and `pi` in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

/// A home and a project directory, removed on drop.
pub(crate) struct TestEnv {
    directory: tempfile::TempDir,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let env = Self { directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(env.project()).unwrap();
        env
    }

    /// Returns the canonical path of the working directory.
    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("project")
    }

    /// Returns the agent directory, which does not exist at first.
    pub(crate) fn agent(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("home/.pi/agent")
    }

    /// Returns a `pi` command with a clean environment: no keys, no proxies.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments).env_clear().current_dir(self.project());
        command.env("HOME", self.directory.path().canonicalize().unwrap().join("home"));
        command.env("PATH", "/usr/bin:/bin").env("TZ", "UTC");
        command.stdin(std::process::Stdio::null());
        command
    }

    /// Runs `pi` and returns its output.
    pub(crate) fn pi(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs `pi`, which must succeed, and returns its stdout.
    pub(crate) fn out(&self, arguments: &[&str]) -> String {
        let output = self.pi(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `pi` and returns its exit code and its stderr.
    pub(crate) fn failure(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.pi(arguments);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Writes a session of `cwd` with a question and an answer.
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

    /// Replaces the paths that differ from run to run.
    pub(crate) fn stable(&self, text: &str) -> String {
        let root = self.directory.path().canonicalize().unwrap();
        let root = root.to_str().unwrap();
        // The form in which it is part of the name of a session directory.
        let slug = root.trim_start_matches('/').replace('/', "-");
        text.replace(root, "[ROOT]").replace(&slug, "[ROOT]")
    }
}
