//! A home directory and sessions of any length, as a coding agent writes them.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::super::sessions::Prose;

/// The last word of every session: when it is on the screen, the session is.
pub(super) const LAST_WORD: &str = "end-of-the-session";

/// The directories of the measured programs.
#[derive(Debug)]
pub(super) struct TestEnv {
    home: PathBuf,
    project: PathBuf,
}

impl TestEnv {
    pub(super) fn create(root: &Path) -> io::Result<Self> {
        let env = Self { home: root.join("home"), project: root.join("project") };
        fs::create_dir_all(env.home.join(".pi/agent"))?;
        fs::create_dir_all(&env.project)?;
        Ok(env)
    }

    /// Writes the settings for a screen mode and a server.
    pub(super) fn configure(&self, mode: &str, port: u16) -> io::Result<()> {
        let agent = self.home.join(".pi/agent");
        // No session reaches this window, so nothing is compacted.
        let model = json!({"id": "m1", "contextWindow": 1_000_000_000, "maxTokens": 10_000});
        let models = json!({"providers": {"mock": {
            "baseUrl": format!("http://127.0.0.1:{port}/v1"),
            "api": "openai-completions",
            "apiKey": "dummy",
            "models": [model],
        }}});
        let settings = json!({
            "tuiMode": mode, "defaultProvider": "mock", "defaultModel": "m1",
            "enableInstallTelemetry": false,
        });
        fs::write(agent.join("models.json"), models.to_string())?;
        fs::write(agent.join("settings.json"), settings.to_string())
    }

    /// Returns `setsid`, to be given the program, in the environment of a terminal.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("setsid");
        command.current_dir(&self.project).env_clear().envs([
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "C.UTF-8"),
            ("PI_OFFLINE", "1"),
        ]);
        command.env("HOME", &self.home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// Writes a session: in turn a question, a call of a tool, its result, and an answer in
    /// Markdown. The average message has 1.3 KB.
    pub(super) fn session(&self, messages: usize) -> io::Result<PathBuf> {
        let path = self.home.join(format!("{messages}.jsonl"));
        let mut file = BufWriter::new(fs::File::create(&path)?);
        let time = "2026-11-01T00:00:00.000Z";
        let header = json!({"type": "session", "version": 3, "id": format!("0198c3f0-0000-7000-8000-{messages:012}"), "timestamp": time, "cwd": self.project});
        writeln!(file, "{header}")?;
        let mut prose = Prose::new();
        let mut parent = Value::Null;
        for number in 0..messages {
            let id = format!("{:08x}", number + 1);
            let message = if number + 1 == messages {
                assistant(&json!([{"type": "text", "text": LAST_WORD}]), "stop")
            } else {
                message(number, &mut prose)
            };
            let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message});
            writeln!(file, "{entry}")?;
            parent = id.into();
        }
        file.flush()?;
        Ok(path)
    }
}

fn message(number: usize, prose: &mut Prose) -> Value {
    let turn = number / 4;
    let call = format!("call-{turn}");
    match number % 4 {
        0 => {
            json!({"role": "user", "content": [{"type": "text", "text": prose.text(200)}], "timestamp": 1})
        }
        1 => {
            let (name, arguments) = match turn % 3 {
                0 => ("bash", json!({"command": format!("cargo test part_{turn}")})),
                1 => ("read", json!({"path": format!("src/part_{turn}.rs")})),
                _ => (
                    "write",
                    json!({"path": format!("notes/{turn}.md"), "content": lines(prose, 30)}),
                ),
            };
            let content = json!([
                {"type": "text", "text": prose.text(100)},
                {"type": "toolCall", "id": call, "name": name, "arguments": arguments},
            ]);
            assistant(&content, "toolUse")
        }
        2 => {
            let name = ["bash", "read", "write"][turn % 3];
            let text = if name == "write" { "Wrote the file".to_owned() } else { lines(prose, 70) };
            json!({"role": "toolResult", "toolCallId": call, "toolName": name, "content": [{"type": "text", "text": text}], "isError": turn.is_multiple_of(17), "timestamp": 1})
        }
        _ => assistant(&json!([{"type": "text", "text": markdown(prose, turn)}]), "stop"),
    }
}

fn lines(prose: &mut Prose, count: usize) -> String {
    (0..count).map(|_| prose.text(30) + "\n").collect()
}

fn markdown(prose: &mut Prose, turn: usize) -> String {
    let mut text = format!("## {}\n\n{}\n\n", prose.text(20).trim(), prose.text(400));
    for _ in 0..4 {
        text += &format!("- **{}**: {}\n", prose.text(8).trim(), prose.text(60).trim());
    }
    text += &format!(
        "\n```rust\nfn part_{turn}(value: &str) -> Option<usize> {{\n    let found = value.find(\"{}\")?;\n    Some(found + {turn})\n}}\n```\n\n",
        prose.text(10).trim()
    );
    if turn.is_multiple_of(5) {
        text += "| name | value |\n|---|---|\n";
        for row in 0..4 {
            text += &format!("| {} | {row} |\n", prose.text(10).trim());
        }
        text.push('\n');
    }
    text + prose.text(300).trim()
}

fn assistant(content: &Value, stop_reason: &str) -> Value {
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    json!({
        "role": "assistant", "content": content, "api": "openai-completions", "provider": "mock",
        "model": "m1", "stopReason": stop_reason, "timestamp": 1,
        "usage": {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15, "cost": cost},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_the_messages_and_the_size() {
        let directory = tempfile::tempdir().unwrap();
        let env = TestEnv::create(directory.path()).unwrap();
        let path = env.session(400).unwrap();
        let session = pi_session::Session::open(&path, &pi_session::OpenOptions::read()).unwrap();
        assert_eq!(session.context_ids().unwrap().len(), 400);
        let size = fs::metadata(&path).unwrap().len();
        assert!((400 * 1_100..400 * 1_500).contains(&size), "{size}");
    }
}
