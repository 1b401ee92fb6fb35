//! A home and a project directory of a user, and the binaries that are measured in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::session_file;

/// The directories of the measured programs.
#[derive(Debug)]
pub(crate) struct Home {
    home: PathBuf,
    pub(crate) project: PathBuf,
}

impl Home {
    /// Creates the directories and a model on the given port.
    pub(crate) fn create(root: &Path, port: u16) -> io::Result<Self> {
        let home = Self { home: root.join("home"), project: root.join("project") };
        fs::create_dir_all(home.agent())?;
        fs::create_dir_all(&home.project)?;
        // No session reaches this window, so nothing is compacted.
        let model = json!({"id": "m1", "contextWindow": 1_000_000_000, "maxTokens": 10_000});
        let models = json!({"providers": {"mock": {
            "baseUrl": format!("http://127.0.0.1:{port}/v1"), "api": "openai-completions",
            "apiKey": "dummy", "models": [model],
        }}});
        fs::write(home.agent().join("models.json"), models.to_string())?;
        home.set("regular")?;
        Ok(home)
    }

    /// Writes the settings for a screen mode.
    pub(crate) fn set(&self, mode: &str) -> io::Result<()> {
        let settings = json!({
            "tuiMode": mode, "defaultProvider": "mock", "defaultModel": "m1",
            "enableInstallTelemetry": false,
        });
        fs::write(self.agent().join("settings.json"), settings.to_string())
    }

    /// Adds what users collect: skills, prompts and old sessions.
    pub(crate) fn fill(&self, skills: usize, prompts: usize, sessions: usize) -> io::Result<()> {
        for number in 0..skills {
            let skill = self.agent().join(format!("skills/skill-{number}"));
            fs::create_dir_all(&skill)?;
            let text = format!("---\ndescription: Does thing {number} well.\n---\n");
            fs::write(skill.join("SKILL.md"), text + &"Do it.\n".repeat(200))?;
        }
        fs::create_dir_all(self.agent().join("prompts"))?;
        for number in 0..prompts {
            let text = format!("---\ndescription: Prompt {number}\n---\nDo $1.\n");
            fs::write(self.agent().join(format!("prompts/prompt-{number}.md")), text)?;
        }
        let directory = pi_session::session_directory(&self.agent(), &self.project);
        fs::create_dir_all(&directory)?;
        for number in 0..sessions {
            let path = directory.join(format!("2026-01-01T00-00-00-000Z_old-{number}.jsonl"));
            session_file::SessionFile::create(&path, &self.project)?.finish()?;
        }
        Ok(())
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.home.join(".pi/agent")
    }

    /// Writes a session of this many messages.
    pub(crate) fn session(&self, messages: usize) -> io::Result<PathBuf> {
        let path = self.home.join(format!("{messages}.jsonl"));
        session_file::conversation(&path, &self.project, messages, false)?;
        Ok(path)
    }

    /// Returns a program in the environment of a terminal, without output.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project).env_clear().envs([
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "C.UTF-8"),
            ("PI_OFFLINE", "1"),
        ]);
        command.env("HOME", &self.home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

/// Runs a command to its end; an error if it fails.
pub(crate) fn complete(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// Returns the program in `PI_BENCH_BINARY`, or builds the one that ships.
pub(crate) fn binary() -> io::Result<String> {
    if let Some(path) = std::env::var_os("PI_BENCH_BINARY") {
        return Ok(path.to_string_lossy().into_owned());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--profile", "dist", "--package", "pi", "--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()?;
    let binary = built.stdout.split(|byte| *byte == b'\n').rev().find_map(|line| {
        let message: Value = serde_json::from_slice(line).ok()?;
        message["executable"].as_str().map(str::to_owned)
    });
    binary.ok_or_else(|| io::Error::other("the build failed"))
}

/// Returns the programs to measure, each as words: `pi`, and the TypeScript pi if it is named in
/// `PI_BENCH_PEER`.
pub(crate) fn programs() -> io::Result<Vec<(&'static str, Vec<String>)>> {
    let mut programs = vec![("pi", vec![binary()?])];
    if let Some(peer) = std::env::var_os("PI_BENCH_PEER") {
        let words = peer.to_string_lossy().split_whitespace().map(str::to_owned).collect();
        programs.push(("TypeScript pi", words));
    }
    Ok(programs)
}
