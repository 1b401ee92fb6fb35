//! The command `pi mcp serve`. Its options for models, safety and limits are those of a run: they
//! are what a caller can get at most.

use super::options::LEVELS;
use super::safety::{ADD_DIR, APPROVAL, NETWORK, PROFILE, RULES, SANDBOX};
use super::{Command, Completes, Flag, Group, limits};
use Group::{General, Model, Tools};

const OWN: &[Flag] = &[
    Flag::new("http", General, "Serve HTTP instead of stdin and stdout, at 127.0.0.1:8808 or ADDRESS")
        .may_take("ADDRESS")
        .details("The path is /mcp. An address that other machines can reach requires a token."),
    Flag::new("token-file", General, "File with the token that HTTP clients must send")
        .takes("FILE")
        .files()
        .details("Clients send it as `Authorization: Bearer TOKEN`. Without a token, every program of this machine can use the server."),
    Flag::new("allow-host", General, "Host name that HTTP requests may use besides localhost")
        .takes("HOST")
        .repeats(),
    Flag::new("dir", General, "Directory that callers can work in, with everything below it")
        .takes("DIR")
        .directories()
        .repeats()
        .details("The default is the working directory. Sessions of other directories can be neither read nor continued."),
    Flag::new("max-runs", General, "Maximum number of runs at a time; 4 by default").takes_word("N"),
    Flag::new("max-total-cost", General, "Maximum cost of all runs together in US dollars")
        .takes_word("DOLLARS")
        .details("A run reserves the most that it can cost: --max-cost or the limit of its caller, else all that is left."),
    Flag::new("model", Model, "Model of all runs: an id, PROVIDER/ID, or part of a name")
        .takes("PATTERN")
        .completes(Completes::Models)
        .details("Without it, callers can choose a model."),
    Flag::new("provider", Model, "Provider of --model").takes("NAME").completes(Completes::Providers),
    Flag::new("thinking", Model, "Thinking level").takes("LEVEL").choices(LEVELS),
    Flag::new("tools", Tools, "Tools to enable, by name or pattern, separated by commas")
        .short("t")
        .takes("TOOLS")
        .completes(Completes::Tools),
    Flag::new("exclude-tools", Tools, "Tools to disable, separated by commas")
        .short("xt")
        .takes("TOOLS")
        .completes(Completes::Tools),
    PROFILE,
    SANDBOX,
    NETWORK,
    APPROVAL,
    ADD_DIR,
    RULES,
];

const FLAGS: &[Flag] = &joined();

const fn joined() -> [Flag; OWN.len() + limits::OPTIONS.len()] {
    let mut flags = [OWN[0]; OWN.len() + limits::OPTIONS.len()];
    let mut at = 0;
    while at < flags.len() {
        flags[at] = if at < OWN.len() { OWN[at] } else { limits::OPTIONS[at - OWN.len()].flag };
        at += 1;
    }
    flags
}

pub(super) const SERVE: Command =
    Command::new("serve", "Let other programs use pi as an MCP server")
        .details(
            "Serves the tools run, reply, status and abort, sessions and reports as resources, and \
             your prompt templates as prompts. A caller gets at most what these options give: it \
             can choose a stricter profile, lower limits and a directory below those of --dir. The \
             profile is careful unless --profile or your settings give another; explore must be \
             given here. Actions that need approval are asked of the caller's user, if the caller \
             can ask, and refused otherwise.",
        )
        .examples(&[
            "pi mcp serve",
            "pi mcp serve --profile unattended --max-cost 2 --dir ~/work",
            "pi mcp serve --http --token-file ~/.pi/mcp-token",
        ])
        .flags(FLAGS);
