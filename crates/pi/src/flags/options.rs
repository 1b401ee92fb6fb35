//! The options of `pi` itself, and their effects on the [`Arguments`].
//!
//! Names, short names and values are those of the TypeScript pi, so that scripts keep working.
//! Within a group, the order is that of the help.

use pi_coding_agent::ToolChoice;
use pi_models::InvalidAccount;

use super::{Completes, Flag, Group};
use crate::arguments::{Arguments, Mode};

/// An option and its effect.
pub(crate) struct Setting {
    pub(crate) flag: Flag,
    pub(crate) set: Set,
}

/// The effect of an option, by the value it takes.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    Switch(fn(&mut Arguments)),
    Value(fn(&mut Arguments, String)),
    /// The value may be invalid; the error is the message for the user.
    Checked(fn(&mut Arguments, String) -> Result<(), String>),
    Maybe(fn(&mut Arguments, Option<String>)),
}

use Group::{General, Model, Output, Prompt, Resources, Screen, Session, Tools};
use Set::{Checked, Maybe, Switch, Value};

/// Names of the thinking levels.
pub(super) const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const MODES: &[&str] = &["text", "json", "rpc"];
const SCREENS: &[&str] = &["regular", "fullscreen"];

pub(super) const fn option(flag: Flag, set: Set) -> Setting {
    Setting { flag, set }
}

/// Returns all options, in the order of the help.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting> {
    OPTIONS
        .iter()
        .chain(super::safety::OPTIONS)
        .chain(super::limits::OPTIONS)
        .chain(super::output::OPTIONS)
}

pub(super) const SYSTEM_PROMPT: Flag =
    Flag::new("system-prompt", Prompt, "Replace the beginning of the system prompt")
        .takes("TEXT")
        .files()
        .details("TEXT is the text itself or a file that contains it.");

pub(super) const APPEND_SYSTEM_PROMPT: Flag =
    Flag::new("append-system-prompt", Prompt, "Append text to the system prompt")
        .takes("TEXT")
        .files()
        .repeats()
        .details("TEXT is the text itself or a file that contains it.");

pub(super) const SKILL: Flag =
    Flag::new("skill", Resources, "Load a skill file or a directory of skills")
        .takes("PATH")
        .files()
        .repeats();

pub(super) const NO_SKILLS: Flag =
    Flag::new("no-skills", Resources, "Disable the discovery of skills").short("ns");

pub(super) const NO_CONTEXT_FILES: Flag =
    Flag::new("no-context-files", Resources, "Do not read AGENTS.md and CLAUDE.md").short("nc");

pub(super) const EXTENSION: Flag =
    Flag::new("extension", Resources, "Load an extension: a file or a directory")
        .short("e")
        .takes("PATH")
        .files()
        .repeats();

pub(super) const NO_EXTENSIONS: Flag =
    Flag::new("no-extensions", Resources, "Disable the discovery of extensions").short("ne");

pub(super) const NO_MCP: Flag = Flag::new("no-mcp", Resources, "Disable MCP servers");

pub(super) const NO_STDIN: Flag = Flag::new("no-stdin", Output, "Do not read piped input")
    .details("For loops and programs whose standard input is not meant for pi.");

const OPTIONS: &[Setting] = &[
    option(
        Flag::new("print", Output, "Print the answer to the message and exit")
            .short("p")
            .may_take("MESSAGE")
            .details("The answer goes to stdout, everything else to stderr. The exit code reports the result."),
        Maybe(|a, message| {
            a.print = true;
            a.messages.extend(message.map(super::parse::message));
        }),
    ),
    option(
        Flag::new("mode", Output, "Output format: text, json (one event per line) or rpc")
            .takes_word("MODE")
            .choices(MODES)
            .details("In rpc mode, pi reads commands from stdin, one JSON object per line, and answers on stdout."),
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
        Flag::new("fail", Output, "In json mode, exit with the codes of print mode")
            .details("Otherwise json mode exits with 0 after an error of the provider, which the events describe. With the profiles careful and unattended this is the default."),
        Switch(|a| a.fail = true),
    ),
    option(
        NO_STDIN,
        Switch(|a| a.no_stdin = true),
    ),
    option(
        Flag::new("export", Output, "Export a session file as an HTML page and exit")
            .takes("FILE")
            .files()
            .details("An argument after FILE names the output file; the default is pi-session-NAME.html in the working directory. `pi sessions export` has more options."),
        Value(|a, file| a.export = Some(file)),
    ),
    option(
        Flag::new("list-models", Output, "List the available models, or those that match SEARCH, and exit")
            .may_take("SEARCH"),
        Maybe(|a, search| a.list_models = Some(search.unwrap_or_default())),
    ),
    option(
        Flag::new("agent", Model, "Agent spec to use: a file, or the name of an installed agent")
            .takes("NAME|FILE")
            .files()
            .details("A spec has a system prompt, a model, tools, sub-agents and more; see `pi help topic:agents`. `pi agents list` lists the installed ones. Other options take precedence over the spec."),
        Value(|a, agent| a.agent = Some(agent)),
    ),
    option(
        Flag::new("model", Model, "Model to use: an id, PROVIDER/ID, or part of a name")
            .takes("PATTERN")
            .completes(Completes::Models)
            .details("A thinking level may follow a colon, as in sonnet:high."),
        Value(|a, model| a.model.requested = Some(model)),
    ),
    option(
        Flag::new("provider", Model, "Provider of --model").takes("NAME").completes(Completes::Providers),
        Value(|a, provider| a.model.provider = Some(provider)),
    ),
    option(
        Flag::new("models", Model, "Models to choose from and to cycle through, separated by commas")
            .takes("PATTERNS")
            .completes(Completes::Models)
            .details("Ids, parts of names, or patterns with *. A thinking level may follow each after a colon."),
        Value(|a, models| a.model.scope = Some(list(&models))),
    ),
    option(
        Flag::new("fallback", Model, "Model that continues if the model is overloaded, out of quota or down")
            .takes("MODEL")
            .completes(Completes::Models)
            .details("Repeat it for several successors, which are tried in order. A thinking level may follow a colon."),
        Value(|a, model| a.model.fallbacks.push(model)),
    ),
    option(
        Flag::new("thinking", Model, "Thinking level: off, minimal, low, medium, high, xhigh or max")
            .takes("LEVEL")
            .choices(LEVELS)
            .details("If the model does not support the level, the nearest supported level is used."),
        Checked(|a, level| {
            let parsed = level.parse().map_err(|_| {
                let levels = LEVELS.join(", ");
                format!("Invalid thinking level \"{level}\". Valid values: {levels}")
            });
            a.model.thinking_level = Some(parsed?);
            Ok(())
        }),
    ),
    option(
        Flag::new("api-key", Model, "API key for this run; it is not stored")
            .takes("KEY")
            .details("Other users of the machine can see it in the process list; prefer the provider's environment variable."),
        Value(|a, key| a.model.api_key = Some(key.into())),
    ),
    option(
        Flag::new("account", Model, "Account of a provider to use: PROVIDER@NAME, such as openai@work")
            .takes("ACCOUNT")
            .repeats()
            .details("Accounts are entries of auth.json, added with `pi auth login PROVIDER --account NAME`. The name default is the entry without an account. The setting `accounts` chooses for a project; --model PROVIDER@NAME/MODEL chooses too."),
        Checked(|a, text| {
            a.model.accounts.push(text.parse().map_err(|error: InvalidAccount| error.to_string())?);
            Ok(())
        }),
    ),
    option(
        SYSTEM_PROMPT,
        Value(|a, text| a.resources.system_prompt = Some(text)),
    ),
    option(
        APPEND_SYSTEM_PROMPT,
        Value(|a, text| a.resources.append_system_prompt.get_or_insert_default().push(text)),
    ),
    option(
        Flag::new("continue", Session, "Continue the latest session of this directory").short("c"),
        Switch(|a| a.continue_latest = true),
    ),
    option(
        Flag::new("resume", Session, "Select a session to resume").short("r"),
        Switch(|a| a.resume = true),
    ),
    option(
        Flag::new("session", Session, "Resume a session: a file, an id or a part of it, or a name")
            .takes("SESSION")
            .completes(Completes::Sessions),
        Value(|a, session| a.session = Some(session)),
    ),
    option(
        Flag::new("session-id", Session, "Resume the session with exactly this id, or create it")
            .takes("ID"),
        Value(|a, id| a.session_id = Some(id)),
    ),
    option(
        Flag::new("fork", Session, "Start with a copy of a session: a file, an id or a name, as for --session")
            .takes("SESSION")
            .completes(Completes::Sessions),
        Value(|a, session| a.fork = Some(session)),
    ),
    option(
        Flag::new("session-dir", Session, "Directory of the sessions").takes("DIR").directories(),
        Value(|a, directory| a.session_dir = Some(directory)),
    ),
    option(
        Flag::new("no-session", Session, "Keep the session in memory only"),
        Switch(|a| a.no_session = true),
    ),
    option(
        Flag::new("name", Session, "Name of the session").short("n").takes("NAME"),
        Value(|a, name| a.name = Some(name)),
    ),
    option(
        Flag::new("executor", Tools, "Where tools run: local, ssh:HOST[:DIR], docker:NAME or podman:NAME")
            .takes("WHERE")
            .details("Files and commands of the tools are those of that machine or running container. Sessions and settings stay on this machine. Profiles that require a sandbox refuse other executors."),
        Checked(|a, value| {
            let spec: pi_tools::ExecutorSpec = value.parse().map_err(|error| format!("{error}"))?;
            a.settings.insert("executor".to_owned(), spec.to_string().into());
            Ok(())
        }),
    ),
    option(
        Flag::new("tools", Tools, "Tools to enable, by name or pattern; +NAME and -NAME change the default ones")
            .short("t")
            .takes("TOOLS")
            .completes(Completes::Tools)
            .details("With + or - before every name, the default tools are changed instead. MCP tools stay enabled unless an entry begins with mcp__."),
        Checked(|a, tools| {
            let choice = ToolChoice::parse(&list(&tools));
            a.tools.choice = Some(choice.map_err(|error| format!("--tools: {error}"))?);
            Ok(())
        }),
    ),
    option(
        Flag::new("exclude-tools", Tools, "Tools to disable, by name or pattern, separated by commas")
            .short("xt")
            .takes("TOOLS")
            .completes(Completes::Tools)
            .details("Takes effect after all other options."),
        Value(|a, tools| a.tools.exclude = list(&tools)),
    ),
    option(
        Flag::new("no-builtin-tools", Tools, "Disable the built-in tools").short("nbt"),
        Switch(|a| a.tools.no_builtin = true),
    ),
    option(Flag::new("no-tools", Tools, "Disable all tools").short("nt"), Switch(|a| a.tools.none = true)),
    option(
        SKILL,
        Value(|a, path| a.resources.skills.push(path)),
    ),
    option(
        NO_SKILLS,
        Switch(|a| a.resources.no_skills = true),
    ),
    option(
        Flag::new("prompt-template", Resources, "Load a prompt template or a directory of templates")
            .takes("PATH")
            .files()
            .repeats(),
        Value(|a, path| a.resources.prompts.push(path)),
    ),
    option(
        Flag::new("no-prompt-templates", Resources, "Disable the discovery of prompt templates").short("np"),
        Switch(|a| a.resources.no_prompts = true),
    ),
    option(
        NO_CONTEXT_FILES,
        Switch(|a| a.resources.no_context_files = true),
    ),
    option(
        EXTENSION,
        Value(|a, source| a.resources.extensions.push(source)),
    ),
    option(
        NO_EXTENSIONS,
        Switch(|a| a.resources.no_extensions = true),
    ),
    option(NO_MCP, Switch(|a| a.resources.no_mcp = true)),
    option(
        Flag::new("approve", Resources, "Trust the project's settings and resources for this run").short("a"),
        Switch(|a| a.approve = Some(true)),
    ),
    option(
        Flag::new("no-approve", Resources, "Ignore the project's settings and resources for this run")
            .short("na"),
        Switch(|a| a.approve = Some(false)),
    ),
    option(
        Flag::new("tui-mode", Screen, "Screen mode: regular (below the shell prompt) or fullscreen")
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
        Flag::new("theme", Screen, "Load a theme file or a directory of themes").takes("PATH").files().repeats(),
        Value(|a, path| a.screen.themes.paths.push(path)),
    ),
    option(
        Flag::new("accessible", Screen, "Plain lines for screen readers: nothing is drawn again"),
        Switch(|a| a.screen.accessible = true),
    ),
    option(
        Flag::new("use-theme", Screen, "Initial theme, or one for light and one for dark terminals")
            .takes_word("NAME[/NAME]"),
        Value(|a, name| a.screen.theme = Some(name)),
    ),
    option(
        Flag::new("no-themes", Screen, "Disable the discovery of themes"),
        Switch(|a| a.screen.themes.no_discovery = true),
    ),
    option(
        Flag::new("offline", General, "Disable all network traffic except model requests")
            .details("The environment variable PI_OFFLINE has the same effect."),
        Switch(|a| a.offline = true),
    ),
    option(
        Flag::new("verbose", General, "Log requests, failed responses and tool calls to stderr")
            .details("Without it, print mode logs tool calls only if stderr is a terminal. The body of a failed response is logged as it came, except for secrets. The terminal UI shows it below the error, starts with expanded details, and shows the startup output regardless of the settings."),
        Switch(|a| a.verbose = true),
    ),
    option(Flag::new("help", General, "Show this help").short("h"), Switch(|a| a.help = true)),
    option(
        Flag::new("version", General, "Show the version").short("v"),
        Switch(|a| a.version = true),
    ),
];

/// Splits a list at its commas.
pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
