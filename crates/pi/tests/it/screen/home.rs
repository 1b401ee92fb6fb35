//! The home and the project of the recorded screens.
//!
//! The recording ran in `/home/user/proj`. The home of a test has a path of the same length, so
//! that rows wrap at the same places; `recorded_paths` puts the recorded path back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::emulator::{Profile, Size};
use super::model;
use super::program::Screen;
use crate::scenarios::server::Server;

/// The home directory of the recording.
pub(crate) const RECORDED_HOME: &str = "/home/user";

/// The files of the project, and those that some screens add.
const FILES: &[(&str, &str)] = &[
    ("proj/a.txt", "line one\nline two\nline three\n"),
    (
        "proj/main.py",
        "import os\n\ndef add(a, b):\n    # adds\n    return a + b\n\nprint(add(1, 2))\n",
    ),
    ("proj/src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n"),
    ("proj/src/deep/notes.md", "# Notes\n"),
    ("proj/docs/guide.md", "# Guide\n"),
    ("proj/with space.txt", "spaced\n"),
    // A repository on the branch main, without a program that makes one.
    ("proj/.git/HEAD", "ref: refs/heads/main\n"),
    ("proj/.git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    ("proj/.git/objects/info/.keep", ""),
    ("proj/.git/refs/heads/.keep", ""),
];

/// A home directory, a project and a model.
pub(crate) struct Home {
    directory: tempfile::TempDir,
    pub(crate) server: Server,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with_scripts(&Value::Null)
    }

    /// Creates a home whose model has more scripts than the recorded ones.
    pub(crate) fn with_scripts(scripts: &Value) -> Self {
        // As long as `/home/user`.
        let directory =
            tempfile::Builder::new().prefix("").rand_bytes(5).tempdir_in("/tmp").unwrap();
        let home = directory.path().to_str().unwrap().to_owned();
        assert_eq!(home.len(), RECORDED_HOME.len());
        let this = Self { server: model::start(&home, scripts), directory };
        for (path, content) in FILES {
            this.write(path, content);
        }
        this.write(".pi/agent/models.json", this.models().to_string());
        this.settings(&Map::new());
        this
    }

    /// Returns the recorded models: two of a provider `fake`.
    pub(crate) fn models(&self) -> Value {
        let model = |id: &str, name: &str, reasoning: bool| {
            json!({
                "id": id, "name": name, "reasoning": reasoning, "input": ["text", "image"],
                "contextWindow": 128_000, "maxTokens": 8192,
                "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
            })
        };
        json!({"providers": {"fake": {
            "baseUrl": format!("{}/v1", self.server.url()), "apiKey": "key",
            "api": "openai-completions",
            "models": [model("fake-1", "Fake One", true), model("fake-2", "Fake Two", false)],
        }}})
    }

    /// Writes settings.json: the recorded settings and these; `null` removes one.
    pub(crate) fn settings(&self, more: &Map<String, Value>) {
        let mut settings = json!({
            "defaultProvider": "fake", "defaultModel": "fake-1", "retry": {"baseDelayMs": 3000},
            // The tools of the recording: others would take room in the context.
            "defaultTools": ["-process"],
        });
        for (key, value) in more {
            settings[key] = value.clone();
        }
        let settings = settings.as_object_mut().unwrap();
        settings.retain(|_, value| !value.is_null());
        self.write(".pi/agent/settings.json", serde_json::to_string(settings).unwrap());
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Writes a file of the home.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Returns all session files.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let directories = fs::read_dir(self.path(".pi/agent/sessions")).into_iter().flatten();
        let mut files: Vec<PathBuf> = directories
            .flat_map(|directory| fs::read_dir(directory.unwrap().path()).unwrap())
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .collect();
        files.sort();
        files
    }

    /// Returns `pi` with a clean environment in the project.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_pi")), arguments)
    }

    /// Returns another program in the same environment.
    pub(crate) fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir(self.path("proj"));
        command.env("HOME", self.directory.path()).env("PATH", "/usr/bin:/bin").env("TZ", "UTC");
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    /// Starts `pi` in regular mode on a plain terminal.
    pub(crate) fn regular(&self, size: Size) -> Screen {
        Screen::start(&self.command(&["--tui-mode", "regular"]), size, Profile::PLAIN)
    }

    /// Replaces the paths of this home by those of the recording.
    pub(crate) fn recorded_paths(&self, text: &str) -> String {
        let home = self.directory.path().to_str().unwrap();
        let slug = |path: &str| path.trim_start_matches('/').replace('/', "-");
        text.replace(home, RECORDED_HOME).replace(&slug(home), &slug(RECORDED_HOME))
    }
}
