//! The slash commands of the screen, as a table. One file per command.
//!
//! Commands of extensions, templates and skills belong to the session: what is not in the table is
//! submitted as a prompt, and the session expands it.

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
mod session;
mod settings;
mod share;
mod thinking;
mod tree;
mod trust;
mod undo;

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
    /// The command is not offered in the menu.
    pub(crate) is_hidden: bool,
    /// A command of the session of this name takes precedence.
    is_fallback: bool,
}

impl Command {
    const fn new(name: &'static str, description: &'static str, run: fn(&mut App, &str)) -> Self {
        Self { name, arguments: None, description, run, is_hidden: false, is_fallback: false }
    }

    const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    const fn fallback(self) -> Self {
        Self { is_hidden: true, is_fallback: true, ..self }
    }

    const fn arguments(self, arguments: &'static str) -> Self {
        Self { arguments: Some(arguments), ..self }
    }
}

/// All commands, in the order of the menu: that of pi 1.5.0, then ours.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("settings", "Shows and changes settings", settings::run),
    Command::new("model", "Selects the model", model::run).arguments("<provider/model>"),
    Command::new("tree", "Shows all branches of the session", tree::run),
    Command::new("thinking", "Selects how much the model thinks", thinking::run)
        .arguments("<level>"),
    Command::new(
        "scoped-models",
        "Selects the models for the keys that change it",
        scoped_models::run,
    ),
    Command::new("export", "Writes the session to a file: .html, .md or .jsonl", export::run)
        .arguments("<path>"),
    Command::new("import", "Continues with a copy of a session file", import::run)
        .arguments("<path>"),
    Command::new("share", "Writes the session as a page, and publishes it", share::run),
    Command::new("bug", "Writes a bug report to a file", bug::run).arguments("<description>"),
    Command::new("copy", "Copies the last answer or its code", copy::run),
    Command::new("name", "Names this session", name::run).arguments("<name>"),
    Command::new("session", "Shows the figures of the session", session::run),
    Command::new("changelog", "Shows what changed in pi, by version", changelog::run),
    Command::new("hotkeys", "Lists all keys", hotkeys::run),
    Command::new("fork", "Copies the session up to a message into a new one", fork::run),
    Command::new("clone", "Copies this branch into a new session", clone::run),
    Command::new("trust", "Shows and changes the trust in this project", trust::run),
    Command::new("login", "Stores the API key of a provider", login::run).arguments("<provider>"),
    Command::new("logout", "Removes a stored credential", logout::run).arguments("<provider>"),
    Command::new("new", "Starts a new session", new::run),
    Command::new("compact", "Summarizes the history to free context", compact::run)
        .arguments("<instructions>"),
    Command::new("resume", "Continues another session", resume::run),
    Command::new("reload", "Reads settings, keys, themes and resources again", reload::run),
    Command::new("quit", "Leaves pi", quit::run),
    Command::new("context", "Shows what fills the context window", context::run),
    // Not in the menu, which is that of pi 1.5.0 and documented in `pi help screen`.
    Command::new("packages", "Selects, installs and updates packages", packages::run)
        .arguments("<install|remove|update source>")
        .hidden(),
    // With servers, the session has this command, and the menu shows it.
    Command::new("mcp", "Shows MCP servers", mcp::run).fallback(),
    Command::new("undo", "Takes back the last run: files, conversation or both", undo::undo),
    Command::new("redo", "Repeats file changes that were taken back", undo::redo),
    Command::new("processes", "Background processes: output, ending one", processes::run),
    Command::new("demo", "Shows pi at work without a key", demo::run),
    Command::new("debug", "Writes a file about the screen", debug::run).hidden(),
];

/// Runs a text that is a command of the screen. Returns false if it is none.
pub(crate) fn run(app: &mut App, text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else { return false };
    if command.is_fallback && app.session.commands().iter().any(|other| other.name == name) {
        return false;
    }
    (command.run)(app, argument.trim());
    true
}
