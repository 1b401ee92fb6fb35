//! The options of `pi` itself, and what each does to the [`Arguments`].
//!
//! Names, short names and what follows them are those of the TypeScript pi, so that scripts keep
//! working. Within a group the order is that of the help.

use pi_coding_agent::ToolChoice;

use super::{Flag, Group};
use crate::arguments::{Arguments, Mode};

/// An option, and what it does.
pub(crate) struct Setting {
    pub(crate) flag: Flag,
    pub(crate) set: Set,
}

/// What an option does, with what follows it.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    Switch(fn(&mut Arguments)),
    Value(fn(&mut Arguments, String)),
    /// The value may be wrong; the text says how.
    Checked(fn(&mut Arguments, String) -> Result<(), String>),
    Maybe(fn(&mut Arguments, Option<String>)),
}

use Group::{General, Model, Output, Prompt, Resources, Screen, Session, Tools};
use Set::{Checked, Maybe, Switch, Value};

/// Thinking levels.
pub(super) const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const MODES: &[&str] = &["text", "json", "rpc"];
const SCREENS: &[&str] = &["regular", "fullscreen"];
const NO_EXTENSIONS: &str = "This version has no extensions yet; leave the option out.";
const NO_SCREEN: &str = "This version has no screen yet; find the session with `pi sessions list` and name it with --session.";

pub(super) const fn option(flag: Flag, set: Set) -> Setting {
    Setting { flag, set }
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting> {
    OPTIONS.iter().chain(super::safety::OPTIONS)
}

const OPTIONS: &[Setting] = &[
    option(
        Flag::new("print", Output, "Answer the message, print the answer and exit")
            .short("p")
            .may_take("MESSAGE")
            .details("The answer goes to stdout, everything else to stderr; the exit code says how it ended."),
        Maybe(|a, message| {
            a.print = true;
            a.messages.extend(message);
        }),
    ),
    option(
        Flag::new("mode", Output, "What comes out: text, json (events, one per line) or rpc")
            .takes_word("MODE")
            .choices(MODES)
            .details("With rpc, commands are read from stdin, one JSON object per line, and answered on stdout."),
        Checked(|a, mode| {
            a.mode = Some(match mode.as_str() {
                "text" => Mode::Text,
                "json" => Mode::Json,
                "rpc" => Mode::Rpc,
                _ => return Err(format!("Invalid mode \"{mode}\". Valid values: {}", MODES.join(", "))),
            });
            Ok(())
        }),
    ),
    option(
        Flag::new("export", Output, "Write a session file as an HTML page and exit")
            .takes("FILE")
            .files()
            .details("A word after it is the file to write; without one it is pi-session-NAME.html in the working directory. `pi sessions export` does more."),
        Value(|a, file| a.export = Some(file)),
    ),
    option(
        Flag::new("list-models", Output, "List the models that can be used, or those that match, and exit")
            .may_take("SEARCH"),
        Maybe(|a, search| a.list_models = Some(search.unwrap_or_default())),
    ),
    option(
        Flag::new("model", Model, "The model: an id, PROVIDER/ID, or part of a name")
            .takes("PATTERN")
            .details("A thinking level may follow after a colon, as in sonnet:high."),
        Value(|a, model| a.model = Some(model)),
    ),
    option(
        Flag::new("provider", Model, "Look for --model at this provider only").takes("NAME"),
        Value(|a, provider| a.provider = Some(provider)),
    ),
    option(
        Flag::new("models", Model, "The models to choose from and to cycle through, separated by commas")
            .takes("PATTERNS")
            .details("Ids, parts of names, or patterns with *; each may have a thinking level after a colon."),
        Value(|a, models| a.models = Some(list(&models))),
    ),
    option(
        Flag::new("thinking", Model, "How much the model thinks: off, minimal, low, medium, high, xhigh or max")
            .takes("LEVEL")
            .choices(LEVELS)
            .details("A level that the model does not have becomes the nearest one that it has."),
        Value(|a, level| match level.parse() {
            Ok(level) => a.thinking = Some(level),
            Err(_) => a.warnings.push(format!(
                "Invalid thinking level \"{level}\". Valid values: {}",
                LEVELS.join(", ")
            )),
        }),
    ),
    option(
        Flag::new("api-key", Model, "A key for this run; it is not stored")
            .takes("KEY")
            .details("Other users of the machine may see it in the list of processes; prefer the provider's environment variable."),
        Value(|a, key| a.api_key = Some(key.into())),
    ),
    option(
        Flag::new("system-prompt", Prompt, "Replaces the beginning of the system prompt")
            .takes("TEXT")
            .files()
            .details("The text itself, or a file that contains it."),
        Value(|a, text| a.system_prompt = Some(text)),
    ),
    option(
        Flag::new("append-system-prompt", Prompt, "Adds to the system prompt")
            .takes("TEXT")
            .files()
            .repeats()
            .details("The text itself, or a file that contains it."),
        Value(|a, text| a.append_system_prompt.push(text)),
    ),
    option(
        Flag::new("continue", Session, "Go on with the latest session of this directory").short("c"),
        Switch(|a| a.continue_latest = true),
    ),
    option(
        Flag::new("resume", Session, "Pick a session to go on with").short("r").later(NO_SCREEN),
        Switch(|a| a.resume = true),
    ),
    option(
        Flag::new("session", Session, "Go on with this session: a file, an id or the beginning of one")
            .takes("SESSION")
            .files(),
        Value(|a, session| a.session = Some(session)),
    ),
    option(
        Flag::new("session-id", Session, "Go on with the session that has exactly this id, or begin one")
            .takes("ID"),
        Value(|a, id| a.session_id = Some(id)),
    ),
    option(
        Flag::new("fork", Session, "Begin with a copy of this session: a file, an id or the beginning of one")
            .takes("SESSION")
            .files(),
        Value(|a, session| a.fork = Some(session)),
    ),
    option(
        Flag::new("session-dir", Session, "Where sessions are kept and looked for").takes("DIR").directories(),
        Value(|a, directory| a.session_dir = Some(directory)),
    ),
    option(
        Flag::new("no-session", Session, "Keep the session in memory only"),
        Switch(|a| a.no_session = true),
    ),
    option(
        Flag::new("name", Session, "A name for the session").short("n").takes("NAME"),
        Value(|a, name| a.name = Some(name)),
    ),
    option(
        Flag::new("tools", Tools, "The tools to use, by name or pattern, separated by commas")
            .short("t")
            .takes("TOOLS")
            .details("With + or - before every name, tools are added to or taken from the usual ones instead. MCP tools stay unless an entry begins with mcp__."),
        Checked(|a, tools| {
            let choice = ToolChoice::parse(&list(&tools));
            a.tools.choice = Some(choice.map_err(|error| format!("--tools: {error}"))?);
            Ok(())
        }),
    ),
    option(
        Flag::new("exclude-tools", Tools, "Tools not to use, by name or pattern, separated by commas")
            .short("xt")
            .takes("TOOLS")
            .details("Applied last."),
        Value(|a, tools| a.tools.exclude = list(&tools)),
    ),
    option(
        Flag::new("no-builtin-tools", Tools, "Only tools of extensions").short("nbt"),
        Switch(|a| a.tools.no_builtin = true),
    ),
    option(Flag::new("no-tools", Tools, "No tools at all").short("nt"), Switch(|a| a.tools.none = true)),
    option(
        Flag::new("skill", Resources, "Load a skill file or a directory of them").takes("PATH").files().repeats(),
        Value(|a, path| a.skills.paths.push(path)),
    ),
    option(
        Flag::new("no-skills", Resources, "Do not look for skills").short("ns"),
        Switch(|a| a.skills.no_discovery = true),
    ),
    option(
        Flag::new("prompt-template", Resources, "Load a prompt template or a directory of them")
            .takes("PATH")
            .files()
            .repeats(),
        Value(|a, path| a.prompt_templates.paths.push(path)),
    ),
    option(
        Flag::new("no-prompt-templates", Resources, "Do not look for prompt templates").short("np"),
        Switch(|a| a.prompt_templates.no_discovery = true),
    ),
    option(
        Flag::new("no-context-files", Resources, "Do not read AGENTS.md and CLAUDE.md").short("nc"),
        Switch(|a| a.no_context_files = true),
    ),
    option(
        Flag::new("extension", Resources, "Load an extension").short("e").takes("SOURCE").files().repeats().later(NO_EXTENSIONS),
        Value(|a, source| a.extensions.paths.push(source)),
    ),
    option(
        Flag::new("no-extensions", Resources, "Do not look for extensions").short("ne"),
        Switch(|a| a.extensions.no_discovery = true),
    ),
    option(Flag::new("no-mcp", Resources, "No MCP servers"), Switch(|a| a.no_mcp = true)),
    option(
        Flag::new("approve", Resources, "Trust the project's own settings and resources for this run").short("a"),
        Switch(|a| a.approve = Some(true)),
    ),
    option(
        Flag::new("no-approve", Resources, "Ignore the project's own settings and resources for this run")
            .short("na"),
        Switch(|a| a.approve = Some(false)),
    ),
    option(
        Flag::new("tui-mode", Screen, "Use the whole screen, or write below the prompt")
            .takes_word("MODE")
            .choices(SCREENS),
        Checked(|a, mode| {
            if !SCREENS.contains(&mode.as_str()) {
                return Err(format!("Invalid TUI mode \"{mode}\". Valid values: {}", SCREENS.join(", ")));
            }
            a.screen.mode = Some(mode);
            Ok(())
        }),
    ),
    option(
        Flag::new("theme", Screen, "Load a theme file or a directory of them").takes("PATH").files().repeats(),
        Value(|a, path| a.screen.themes.paths.push(path)),
    ),
    option(
        Flag::new("use-theme", Screen, "The theme to begin with, or one for light and one for dark screens")
            .takes_word("NAME[/NAME]"),
        Value(|a, name| a.screen.theme = Some(name)),
    ),
    option(
        Flag::new("no-themes", Screen, "Do not look for themes"),
        Switch(|a| a.screen.themes.no_discovery = true),
    ),
    option(
        Flag::new("offline", General, "No network traffic but the conversation itself")
            .details("Setting the environment variable PI_OFFLINE does the same."),
        Switch(|a| a.offline = true),
    ),
    option(
        Flag::new("verbose", General, "Say more at the start, whatever the settings say"),
        Switch(|a| a.verbose = true),
    ),
    option(Flag::new("help", General, "Show this help").short("h"), Switch(|a| a.help = true)),
    option(
        Flag::new("version", General, "Show the version").short("v"),
        Switch(|a| a.version = true),
    ),
];

/// The parts of a list with commas.
pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
