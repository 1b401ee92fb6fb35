//! What was typed, as a value: plain data that the modes read.
//!
//! Nothing here is resolved: a model is a pattern, a session a reference, a path as it was written.
//! [`Arguments::conflicts`] says what cannot be true at the same time.

use std::collections::BTreeMap;

use pi_ai::ThinkingLevel;
use pi_coding_agent::ToolSelection;
use secrecy::SecretString;
use serde_json::{Map, Value};

/// The command line of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) help: bool,
    pub(crate) version: bool,

    pub(crate) print: bool,
    pub(crate) mode: Option<Mode>,
    /// The session file to write as a page; the first message is then where to.
    pub(crate) export: Option<String>,
    /// What to look for; empty for all.
    pub(crate) list_models: Option<String>,

    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) models: Option<Vec<String>>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) api_key: Option<SecretString>,

    /// Text, or a file with it; the same for the next.
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Vec<String>,

    pub(crate) continue_latest: bool,
    pub(crate) resume: bool,
    /// A file, an id or the beginning of one; the same for `fork`.
    pub(crate) session: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) fork: Option<String>,
    pub(crate) session_dir: Option<String>,
    pub(crate) no_session: bool,
    pub(crate) name: Option<String>,

    pub(crate) tools: ToolSelection,

    pub(crate) extensions: Resource,
    pub(crate) skills: Resource,
    pub(crate) prompt_templates: Resource,
    pub(crate) no_context_files: bool,
    pub(crate) no_mcp: bool,
    /// Whether the project's own files are trusted; `None` to ask the trust store.
    pub(crate) approve: Option<bool>,

    /// Settings that count for this run.
    pub(crate) settings: Map<String, Value>,

    pub(crate) screen: Screen,
    pub(crate) offline: bool,
    pub(crate) verbose: bool,

    /// What to say to the model, in order.
    pub(crate) messages: Vec<String>,
    /// The `@file` arguments, without the `@`.
    pub(crate) files: Vec<String>,
    /// Options that only an extension could know, by name; the value if there was one.
    pub(crate) unknown: BTreeMap<String, Option<String>>,
    /// What was left out, to be said before anything else.
    pub(crate) warnings: Vec<String>,
}

/// How answers come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Text,
    Json,
    Rpc,
}

/// Files that were named, and whether others are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) paths: Vec<String>,
    pub(crate) no_discovery: bool,
}

/// What only matters on a screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) mode: Option<String>,
    pub(crate) theme: Option<String>,
    pub(crate) themes: Resource,
}

impl Arguments {
    /// What cannot be true at the same time, or not at all; empty if all is well.
    pub(crate) fn conflicts(&self) -> Vec<String> {
        let others = [
            ("--session", self.session.is_some()),
            ("--continue", self.continue_latest),
            ("--resume", self.resume),
            ("--no-session", self.no_session),
        ];
        let mut conflicts = Vec::new();
        for (other, _) in others.iter().filter(|(_, given)| *given) {
            if self.fork.is_some() {
                conflicts.push(format!("--fork cannot be combined with {other}"));
            }
            if self.session_id.is_some() && *other != "--no-session" {
                conflicts.push(format!("--session-id cannot be combined with {other}"));
            }
        }
        if let Some(provider) = &self.provider
            && self.model.is_none()
        {
            conflicts.push(format!(
                "--provider requires --model (for example: --provider {provider} --model <pattern>)"
            ));
        }
        if self.api_key.is_some() && self.model.is_none() && self.models.is_none() {
            conflicts.push("--api-key requires a model to be specified via --model, --provider/--model, or --models".to_owned());
        }
        if self.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            conflicts.push("--name requires a non-empty value".to_owned());
        }
        if self.mode == Some(Mode::Rpc) && !self.files.is_empty() {
            conflicts.push("@file arguments are not supported in RPC mode".to_owned());
        }
        conflicts
    }
}
