//! The slash commands of the screen, as a table. One file per command.
//!
//! Commands of extensions, templates and skills belong to the session: they are submitted as prompts,
//! and the session expands them.

mod bug;
mod changelog;
mod clone;
mod compact;
mod context;
mod copy;
mod debug;
mod demo;
mod export;
mod fork;
mod help;
mod hotkeys;
mod import;
mod login;
mod logout;
mod mcp;
mod model;
mod name;
mod new;
mod packages;
mod processes;
mod quit;
mod reload;
mod resume;
mod scoped_models;
mod search;
mod session;
mod settings;
mod share;
mod thinking;
mod tree;
mod trust;
mod undo;

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::QuestionKind;
use pi_config::suggest;

use crate::app::App;

/// A slash command.
pub(crate) struct Command {
    /// Name without the slash.
    pub(crate) name: &'static str,
    /// Names of the arguments, for the menu.
    pub(crate) arguments: Option<&'static str>,
    /// Description for the menu.
    pub(crate) description: &'static str,
    /// Runs the command with the text after its name, trimmed.
    pub(crate) run: fn(&mut App, &str),
    /// A command of the session of this name takes precedence.
    is_fallback: bool,
}

impl Command {
    const fn new(name: &'static str, description: &'static str, run: fn(&mut App, &str)) -> Self {
        Self { name, arguments: None, description, run, is_fallback: false }
    }

    const fn fallback(self) -> Self {
        Self { is_fallback: true, ..self }
    }

    const fn arguments(self, arguments: &'static str) -> Self {
        Self { arguments: Some(arguments), ..self }
    }
}

/// All commands, in the order of the menu: that of pi 1.5.0, then ours.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("settings", "Show and change settings", settings::run),
    Command::new("model", "Select the model", model::run).arguments("<provider/model>"),
    Command::new("tree", "Show all branches of the session", tree::run),
    Command::new("thinking", "Select how much the model thinks", thinking::run)
        .arguments("<level>"),
    Command::new("scoped-models", "Select the models to switch between", scoped_models::run),
    Command::new("export", "Write the session to a file: .html, .md or .jsonl", export::run)
        .arguments("<path>"),
    Command::new("import", "Continue with a copy of a session file", import::run)
        .arguments("<path>"),
    Command::new("share", "Write the session as a page, and publish it", share::run),
    Command::new("bug", "Write a bug report to a file", bug::run).arguments("<description>"),
    Command::new("copy", "Copy the last answer or its code", copy::run),
    Command::new("name", "Name this session", name::run).arguments("<name>"),
    Command::new("session", "Show file, tokens and cost of the session", session::run),
    Command::new("changelog", "Show what changed in pi, by version", changelog::run),
    Command::new("hotkeys", "List all keys", hotkeys::run),
    Command::new("fork", "Copy the session up to a message into a new one", fork::run),
    Command::new("clone", "Copy this branch into a new session", clone::run),
    Command::new("trust", "Show and change the trust in this project", trust::run),
    Command::new("login", "Sign in to a provider, or store its API key", login::run)
        .arguments("<provider>"),
    Command::new("logout", "Remove a stored credential", logout::run).arguments("<provider>"),
    Command::new("new", "Start a new session", new::run),
    Command::new("compact", "Summarize the history to free context", compact::run)
        .arguments("<instructions>"),
    Command::new("resume", "Continue another session", resume::run),
    Command::new("reload", "Reload settings, keys, themes and resources", reload::run),
    Command::new("quit", "Leave pi", quit::run),
    Command::new("help", "Show commands, keys and topics", help::run).arguments("<topic>"),
    Command::new("context", "Show what fills the context window", context::run),
    Command::new("search", "Search in the transcript", search::run).arguments("<text>"),
    Command::new("undo", "Take back the last run: files, conversation or both", undo::undo),
    Command::new("redo", "Repeat file changes that were taken back", undo::redo),
    Command::new("processes", "Show, read and end background processes", processes::run),
    Command::new("packages", "Select, install and update packages", packages::run)
        .arguments("<install|remove|update source>"),
    // With servers, the session has this command.
    Command::new("mcp", "Show MCP servers", mcp::run).fallback(),
    Command::new("demo", "Show pi at work without a key", demo::run),
    Command::new("debug", "Write a file about the screen", debug::run),
];

/// Returns the commands of the screen that a session does not replace by its own.
pub(crate) fn of(session: &AgentSession) -> impl Iterator<Item = &'static Command> {
    let others = session.commands();
    COMMANDS.iter().filter(move |command| {
        !command.is_fallback || others.iter().all(|other| other.name != command.name)
    })
}

/// Runs a text that is a command of the screen. Returns false if it is none.
pub(crate) fn run(app: &mut App, text: &str) -> bool {
    let Some((name, argument)) = split(text) else { return false };
    let Some(command) = of(&app.session).find(|command| command.name == name) else {
        return false;
    };
    (command.run)(app, argument.trim());
    true
}

/// A text that looks like a command that does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// Name without the slash.
    pub(crate) name: String,
    /// The known name that is most similar to it.
    pub(crate) near: Option<String>,
}

/// Returns what is unknown about a text that begins with the name of a command, if neither the
/// screen nor the session has the command. A path is no name. An extension that receives all input
/// may know more names.
pub(crate) fn unknown(session: &AgentSession, text: &str) -> Option<Unknown> {
    let (name, _) = split(text)?;
    let is_name = !name.is_empty() && !name.contains('/');
    if !is_name || session.extensions().registry().is_answered(QuestionKind::Input) {
        return None;
    }
    let others = session.commands();
    let others = others.iter().map(|command| command.name.as_str());
    let mut known = COMMANDS.iter().map(|command| command.name).chain(others);
    if known.clone().any(|known| known == name) {
        return None;
    }
    let near = suggest::nearest(name, &mut known).map(str::to_owned);
    Some(Unknown { name: name.to_owned(), near })
}

/// Returns the name and the rest of a text that begins with a slash.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    Some(rest.split_once(char::is_whitespace).unwrap_or((rest, "")))
}
