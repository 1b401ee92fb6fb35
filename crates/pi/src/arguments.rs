//! The arguments of a run, as plain data for the modes.
//!
//! Nothing is resolved yet: a model is a pattern, a session a reference, a path is relative.
//! [`Arguments::conflicts`] finds options that exclude each other.

use pi_coding_agent::extension::{Flag, FlagKind};
use pi_coding_agent::{ModelOptions, ResourceFlags, ToolSelection};
use serde_json::{Map, Value};

/// The parsed command line of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) help: bool,
    pub(crate) version: bool,

    pub(crate) print: bool,
    pub(crate) mode: Option<Mode>,
    /// Session file to export as a page. The first message is then the output file.
    /// JSON mode exits with the codes of print mode.
    pub(crate) fail: bool,
    pub(crate) no_stdin: bool,
    pub(crate) output: Output,
    pub(crate) export: Option<String>,
    /// Search text for the list of models; empty to list all.
    pub(crate) list_models: Option<String>,

    /// Agent spec: a file or a name.
    pub(crate) agent: Option<String>,
    pub(crate) model: ModelOptions,

    pub(crate) continue_latest: bool,
    pub(crate) resume: bool,
    /// A file, an id or the beginning of an id; also for `fork`.
    pub(crate) session: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) fork: Option<String>,
    pub(crate) session_dir: Option<String>,
    pub(crate) no_session: bool,
    pub(crate) name: Option<String>,

    pub(crate) tools: ToolSelection,

    pub(crate) resources: ResourceFlags,
    /// Trust in the project's files; `None` if the trust store decides.
    pub(crate) approve: Option<bool>,

    /// Settings for this run.
    pub(crate) settings: Map<String, Value>,

    pub(crate) screen: Screen,
    pub(crate) offline: bool,
    pub(crate) verbose: bool,

    /// Messages to the model, in order.
    pub(crate) messages: Vec<String>,
    /// The `@file` arguments, without the `@`.
    pub(crate) files: Vec<String>,
    /// Unknown long options, which only an extension could define.
    pub(crate) unknown: Vec<UnknownOption>,
    /// Warnings about ignored values, printed first.
    pub(crate) warnings: Vec<String>,
}

/// A long option that is not one of the program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownOption {
    /// Name without the dashes.
    pub(crate) name: String,
    pub(crate) value: Option<String>,
    /// Place in the messages at which the value follows as a word of its own. It is a message if
    /// the option takes no value.
    pub(crate) place: Option<usize>,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Text,
    Json,
    Rpc,
}

/// The result of print mode for other programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) schema: Option<SchemaSource>,
    /// One JSON object instead of the answer.
    pub(crate) object: bool,
    /// File that receives what stdout receives.
    pub(crate) file: Option<String>,
}

impl Output {
    /// Returns true if the answer alone on stdout is not enough.
    pub(crate) fn is_structured(&self) -> bool {
        *self != Self::default()
    }
}

/// The schema of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SchemaSource {
    /// A file with the schema.
    File(String),
    /// The schema itself.
    Text(String),
}

/// Resource files given on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) paths: Vec<String>,
    /// Disables the discovery of further files.
    pub(crate) no_discovery: bool,
}

/// Options of the terminal UI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) mode: Option<String>,
    /// Plain lines instead of a screen.
    pub(crate) accessible: bool,
    pub(crate) theme: Option<String>,
    pub(crate) themes: Resource,
}

impl Arguments {
    /// Returns the messages, with the words that follow switches of extensions.
    pub(crate) fn messages_with(&self, flags: &[(Flag, String)]) -> Vec<String> {
        let mut messages = self.messages.clone();
        // From the last, so that the places stay right.
        for option in self.unknown.iter().rev() {
            let takes_no_value = flags
                .iter()
                .any(|(flag, _)| flag.name == option.name && flag.kind == FlagKind::Boolean);
            if let (true, Some(place), Some(value)) = (takes_no_value, option.place, &option.value)
            {
                messages.insert(place.min(messages.len()), value.clone());
            }
        }
        messages
    }

    /// Returns an error for each invalid combination of options.
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
        let model = &self.model;
        if let Some(provider) = &model.provider
            && model.requested.is_none()
        {
            conflicts.push(format!(
                "--provider requires --model (for example: --provider {provider} --model <pattern>)"
            ));
        }
        if model.api_key.is_some() && model.requested.is_none() && model.scope.is_none() {
            conflicts.push("--api-key requires a model to be specified via --model, --provider/--model, or --models".to_owned());
        }
        if self.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            conflicts.push("--name requires a non-empty value".to_owned());
        }
        if let Some(mode) = self.mode.filter(|mode| *mode != Mode::Text) {
            let mode = if mode == Mode::Json { "json" } else { "rpc" };
            let given = [
                ("--output-schema", matches!(self.output.schema, Some(SchemaSource::File(_)))),
                ("--json-schema", matches!(self.output.schema, Some(SchemaSource::Text(_)))),
                ("--output-format json", self.output.object),
                ("--output", self.output.file.is_some()),
            ];
            for (option, _) in given.iter().filter(|(_, is_given)| *is_given) {
                conflicts.push(format!("{option} cannot be combined with events (--mode {mode})"));
            }
        }
        if self.mode == Some(Mode::Rpc) && !self.files.is_empty() {
            conflicts.push("@file arguments are not supported in RPC mode".to_owned());
        }
        conflicts
    }

    /// Returns a warning for each argument that has no effect.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.no_session && self.continue_latest {
            warnings.push(
                "--continue has no effect with --no-session; the run starts a new session"
                    .to_owned(),
            );
        }
        if self.mode == Some(Mode::Rpc) && !self.messages.is_empty() {
            warnings.push(
                "messages on the command line are not sent in RPC mode; send a prompt command"
                    .to_owned(),
            );
        }
        warnings
    }
}
