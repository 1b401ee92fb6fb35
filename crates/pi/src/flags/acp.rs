//! The command `pi acp`. Its options are those of a run, as far as they concern all sessions of a
//! client, and some of its own.

use super::options::{LEVELS, Set, all};
use super::parse::CommandArgs;
use super::safety::{ADD_DIR, APPROVAL, NETWORK, PROFILE, RULES, SANDBOX};
use super::{Command, Completes, Flag, Group};
use crate::arguments::Arguments;

/// The options that sessions of a server have, as a run has them.
pub(super) const SESSIONS: &[Flag] = &[
    Flag::new("model", Group::Model, "Model to use: an id, PROVIDER/ID, or part of a name")
        .takes("PATTERN")
        .completes(Completes::Models),
    Flag::new("provider", Group::Model, "Provider of --model")
        .takes("NAME")
        .completes(Completes::Providers),
    Flag::new("models", Group::Model, "Models to choose from, separated by commas")
        .takes("PATTERNS")
        .completes(Completes::Models),
    Flag::new("thinking", Group::Model, "Thinking level").takes("LEVEL").choices(LEVELS),
    Flag::new("account", Group::Model, "Account of a provider to use: PROVIDER@NAME")
        .takes("ACCOUNT")
        .repeats(),
    Flag::new("agent", Group::Model, "Agent spec: a file, or the name of an installed one")
        .takes("SPEC")
        .files(),
    Flag::new("append-system-prompt", Group::Prompt, "Append text to the system prompt")
        .takes("TEXT")
        .files()
        .repeats(),
    Flag::new("session-dir", Group::Session, "Directory of the sessions")
        .takes("DIR")
        .directories(),
    Flag::new("tools", Group::Tools, "Tools to enable, by name or pattern, separated by commas")
        .short("t")
        .takes("TOOLS")
        .completes(Completes::Tools),
    Flag::new("exclude-tools", Group::Tools, "Tools to disable, separated by commas")
        .short("xt")
        .takes("TOOLS")
        .completes(Completes::Tools),
    PROFILE,
    SANDBOX,
    NETWORK,
    APPROVAL,
    ADD_DIR,
    RULES,
    Flag::new("extension", Group::Resources, "Load an extension: a file or a directory")
        .short("e")
        .takes("PATH")
        .files()
        .repeats(),
    Flag::new("no-extensions", Group::Resources, "Disable the discovery of extensions").short("ne"),
    Flag::new("no-mcp", Group::Resources, "Disable MCP servers"),
    Flag::new("approve", Group::Resources, "Trust the settings and resources of projects")
        .short("a"),
    Flag::new("no-approve", Group::Resources, "Ignore the settings and resources of projects")
        .short("na"),
    Flag::new("offline", Group::General, "Disable all network traffic except model requests"),
];

const OWN: &[Flag] = &[
    Flag::new("client-terminal", Group::Tools, "Run commands in the terminals of the client")
        .details(
            "The client must offer terminals. Commands that a rule or a profile confines do \
                 not run there.",
        ),
    Flag::new("no-client-files", Group::Tools, "Do not read and write files through the client")
        .details(
            "By default, files are read and written through a client that offers it, so that \
                 unsaved changes count. In a sandbox they never are.",
        ),
    Flag::new("login", Group::General, "Sign in to a provider on this terminal, and exit")
        .details("Editors start this for users without credentials."),
];

const FLAGS: &[Flag] = &joined();

const fn joined() -> [Flag; SESSIONS.len() + OWN.len()] {
    let mut flags = [OWN[0]; SESSIONS.len() + OWN.len()];
    let mut at = 0;
    while at < flags.len() {
        flags[at] = if at < SESSIONS.len() { SESSIONS[at] } else { OWN[at - SESSIONS.len()] };
        at += 1;
    }
    flags
}

pub(super) const ACP: Command = Command::new("acp", "Serve editors over the Agent Client Protocol")
    .details(
        "An editor starts this command and talks to it over stdin and stdout, one JSON-RPC message \
         per line; version 1 of the protocol and the draft of version 2 are served. Messages for \
         people go to stderr. Sessions are stored like all others. With --profile, a client can \
         select this profile and stricter ones only. `pi help topic:acp` is the guide.",
    )
    .examples(&["pi acp", "pi acp --model sonnet --profile careful"])
    .flags(FLAGS);

/// Returns the arguments of a run that the options of the command stand for.
pub(crate) fn arguments(args: &CommandArgs) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    for (name, value) in args.given() {
        // The others are options of the command itself.
        let Some(option) = all().find(|option| option.flag.long == name) else { continue };
        let value = value.map(str::to_owned);
        match option.set {
            Set::Switch(set) => set(&mut arguments),
            Set::Value(set) => set(&mut arguments, value.unwrap_or_default()),
            Set::Checked(set) => set(&mut arguments, value.unwrap_or_default())?,
            Set::Maybe(set) => set(&mut arguments, value),
        }
    }
    match arguments.conflicts().into_iter().next() {
        Some(conflict) => Err(conflict),
        None => Ok(arguments),
    }
}
