//! The commands: what can be the first word of a command line.
//!
//! A word is a command only in the first place: `pi -p list` and `pi -- list` are messages.

use pi_coding_agent::config::settings::RequiredLevel;

use super::options::LEVELS;
use super::safety::{ADD_DIR, APPROVAL, NETWORK, PROFILE, RULES, SANDBOX};
use super::{Command, Flag, Group};

const PACKAGES: &str = "This version has no packages yet.";
const SERVERS: &str = "This version has no MCP yet.";

const JSON: Flag = Flag::new("json", Group::General, "Print JSON");
const SESSION_DIR: Flag =
    Flag::new("session-dir", Group::General, "Where sessions are kept").takes("DIR").directories();
const ALL: Flag =
    Flag::new("all", Group::General, "Those of all directories, not only of this one").short("a");
const LIMIT: Flag =
    Flag::new("limit", Group::General, "At most so many").short("n").takes("NUMBER");

const MANY: usize = usize::MAX;

/// All of them, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("sessions", "List, search, show, export, fork and remove sessions")
        .details(
            "A SESSION is a file, an id, or the beginning of an id. Sessions of this directory are \
             looked at first, then all others.",
        )
        .commands(SESSIONS),
    Command::new("undo", "Undo what the last prompt did to the files of a session")
        .details(
            "Goes back to the checkpoint before the current one. What somebody else has changed \
             since is left alone and named. Git is neither used nor touched.",
        )
        .flags(&[
            Flag::new("list", Group::General, "List the checkpoints").short("l"),
            Flag::new("diff", Group::General, "Show what would change, and change nothing")
                .short("d"),
            Flag::new("redo", Group::General, "Go forward again").short("r"),
            Flag::new(
                "session",
                Group::General,
                "The session; the latest of this directory if not given",
            )
            .takes("SESSION"),
            SESSION_DIR,
        ]),
    Command::new("doctor", "Check that everything pi needs is in order")
        .details(
            "Every problem comes with what to do about it. The exit code is 1 if one is an error.",
        )
        .flags(&[JSON]),
    Command::new("auth", "Check, list, print and store credentials")
        .details(
            "The key of a provider is the one that is stored in auth.json, else that of \
             models.json, else a variable such as ANTHROPIC_API_KEY. This version cannot log in \
             and cannot renew logins; those that other programs have stored are used until they \
             expire.",
        )
        .commands(AUTH),
    Command::new("policy", "Ask what rules say: of a command, of past sessions, of a rule file")
        .commands(POLICY),
    Command::new("sandbox", "Run a command confined, as those of an agent can be")
        .words("-- COMMAND...", 1, MANY)
        .details(
            "COMMAND is a program and its arguments; for a script, bash -c SCRIPT. It can read \
             everything but your keys, write the working directory and temporary files of its \
             own, and reach nobody. What holds on this machine, and what does not, is said first.\n\
             The exit code is that of the command, or 128 and the number of the signal that ended \
             it; 8 if it cannot be confined, and then it is not run; 127 if there is no such \
             program and 126 if it cannot be run; 125 if it could not be started confined.",
        )
        .flags(&[
            Flag::new("sandbox", Group::Safety, "What it can write: read-only or workspace-write")
                .takes_word("MODE")
                .choices(&["read-only", "workspace-write"])
                .details("workspace-write if not given."),
            Flag::new(
                "network",
                Group::Safety,
                "Who it can reach: off, on, or hosts separated by commas",
            )
            .takes_word("WHO")
            .details("off if not given. A host is a name, perhaps with *. before it."),
            ADD_DIR,
            Flag::new("require", Group::Safety, "What must hold it: none, landlock or bubblewrap")
                .takes_word("WHAT")
                .choices(RequiredLevel::VALUES)
                .details("landlock if not given. With none it runs whatever holds."),
            RULES,
            Flag::new("quiet", Group::General, "Do not say what holds").short("q"),
            Flag::new(
                "json",
                Group::General,
                "Print JSON when it has ended, with its output in it",
            )
            .details("Standard input is empty then."),
        ]),
    Command::new(
        "demo",
        "See the agent at work: a scripted model repairs a file; needs no key and no network",
    )
    .words("[PROMPT]...", 0, MANY)
    .flags(&[
        Flag::new("model", Group::General, "A real model instead, as for --model of a run")
            .takes("PROVIDER/ID"),
        Flag::new("thinking", Group::General, "How much it thinks").takes("LEVEL").choices(LEVELS),
    ]),
    Command::new("completions", "Print completions for a shell")
        .words("SHELL", 1, 1)
        .choices(&["bash", "zsh", "fish"])
        .details(
            "For bash: pi completions bash > ~/.local/share/bash-completion/completions/pi\n\
             For zsh, in a directory of $fpath: pi completions zsh > _pi\n\
             For fish: pi completions fish > ~/.config/fish/completions/pi.fish",
        ),
    Command::new("man", "Print the manual page")
        .details("To read it: pi man | man -l -")
        .flags(&[Flag::new("markdown", Group::General, "As Markdown")]),
    Command::new("help", "Show the help of pi or of a command").words("[COMMAND]...", 0, 2),
    Command::new("install", "Install a package").words("SOURCE", 1, 1).later(PACKAGES),
    Command::new("remove", "Remove a package").words("SOURCE", 1, 1).later(PACKAGES),
    Command::new("uninstall", "The same as remove").words("SOURCE", 1, 1).later(PACKAGES),
    Command::new("update", "Update pi, packages or model catalogs")
        .words("[TARGET]", 0, 1)
        .later("Update pi the way you installed it."),
    Command::new("list", "List packages").later("For sessions, there is `pi sessions list`."),
    Command::new("config", "Switch packages and their resources on and off")
        .later("Edit settings.json in the agent directory instead."),
    Command::new("mcp", "Add, remove and list MCP servers")
        .words("COMMAND", 0, MANY)
        .later(SERVERS),
];

const SESSIONS: &[Command] = &[
    Command::new("list", "List sessions, the latest first").flags(&[ALL, LIMIT, JSON, SESSION_DIR]),
    Command::new("search", "Find sessions in which all these words occur")
        .words("WORD...", 1, MANY)
        .flags(&[ALL, LIMIT, JSON, SESSION_DIR]),
    Command::new("show", "Show what a session is, and its conversation")
        .words("SESSION", 1, 1)
        .files()
        .flags(&[
            Flag::new(
                "json",
                Group::General,
                "Print JSON: facts, counts and the entries of the current branch",
            ),
            Flag::new("tools", Group::General, "How much of tool calls is shown")
                .takes("DETAIL")
                .choices(&["none", "brief", "full"]),
            Flag::new("thinking", Group::General, "Show the model's thinking"),
            SESSION_DIR,
        ]),
    Command::new("export", "Write a session as a page, Markdown or JSON lines")
        .words("SESSION [FILE]", 1, 2)
        .files()
        .details(
            "Without FILE it is pi-session-NAME.EXTENSION in the working directory; - is stdout. \
             Without --format, the extension of FILE decides, or it is a page. Your keys, and what \
             looks like anybody's keys and passwords, are masked.",
        )
        .flags(&[
            Flag::new("format", Group::General, "What to write")
                .short("f")
                .takes("FORMAT")
                .choices(&["html", "markdown", "jsonl"]),
            Flag::new("force", Group::General, "Replace FILE if it exists"),
            Flag::new("unmasked", Group::General, "Leave keys and passwords in it"),
            SESSION_DIR,
        ]),
    Command::new("fork", "Copy a session into a new one for this directory")
        .words("SESSION", 1, 1)
        .files()
        .flags(&[
            Flag::new(
                "at",
                Group::General,
                "Only what leads to this entry; stays beside the original",
            )
            .takes("ENTRY"),
            JSON,
            SESSION_DIR,
        ]),
    Command::new("rm", "Remove sessions and their checkpoints, for good")
        .words("SESSION...", 1, MANY)
        .files()
        .flags(&[Flag::new("yes", Group::General, "Do not ask").short("y"), SESSION_DIR]),
];

const PROVIDER: Flag = Flag::new("provider", Group::General, "The provider").takes_word("PROVIDER");
const MODEL: Flag =
    Flag::new("model", Group::General, "The provider of this model").takes_word("MODEL");

const AUTH: &[Command] = &[
    Command::new("check", "Say whether a provider can be used")
        .details(
            "Prints ready (exit code 0), not_ready (1) or invalid (2), and on stderr why. Keys \
             that are commands are run. JSON has status, provider, and authType or reason.",
        )
        .flags(&[
            PROVIDER,
            MODEL,
            JSON,
            Flag::new("credentials", Group::General, "Print the credential if it is ready"),
            Flag::new(
                "no-refresh",
                Group::General,
                "Do not renew an expired login, which this version never does",
            ),
        ]),
    Command::new("print-api-key", "Print the key of a provider").flags(&[PROVIDER, MODEL]),
    Command::new("print-bearer-token", "Print the token of a login").flags(&[
        PROVIDER,
        MODEL,
        Flag::new("min-expiry", Group::General, "Only if it is good for so long, such as 30m")
            .takes_word("DURATION")
            .details("A number with ms, s, m or h."),
    ]),
    Command::new("list", "List where credentials were found, and not what they are").flags(&[JSON]),
    Command::new("set", "Store a key, read from stdin").words("PROVIDER", 1, 1).details(
        "For example: read -rs KEY && printf %s \"$KEY\" | pi auth set openai\n\
             The key is kept in auth.json of the agent directory, which only you can read. To \
             have it looked up instead, write \"$NAME\" or \"!command\" there.",
    ),
    Command::new("remove", "Remove what is stored for a provider").words("PROVIDER", 1, 1),
];

const APPROVE: Flag =
    Flag::new("approve", Group::Safety, "With the project's own settings and rules").short("a");
const NO_APPROVE: Flag =
    Flag::new("no-approve", Group::Safety, "Without the project's own settings and rules")
        .short("na");

const POLICY: &[Command] = &[
    Command::new("check", "Say what would happen to a command, a file, a host or a tool call")
        .words("[-- COMMAND...]", 0, MANY)
        .details(
            "As a session in this directory would decide. One word after -- is a script; several \
             are the words of one command. Prints allow, ask or forbid, why, and the rule that \
             decided. Nothing is run.\n\
             The exit code is 0 for allow, 1 for ask and forbid, 6 if the settings or a rule file \
             cannot be used, 8 if such a session could not begin because commands cannot be \
             confined.",
        )
        .flags(&[
            Flag::new("path", Group::General, "A file instead of a command").takes("FILE").files(),
            Flag::new("access", Group::General, "What is done with it; write if not given")
                .takes_word("HOW")
                .choices(&["read", "write"]),
            Flag::new("host", Group::General, "A host instead of a command").takes("NAME"),
            Flag::new("tool", Group::General, "A call of a tool instead of a command")
                .takes("NAME"),
            Flag::new("arguments", Group::General, "The arguments of that call").takes("JSON"),
            Flag::new("explain", Group::General, "Say what was decided about every part")
                .short("e"),
            JSON,
            PROFILE,
            APPROVAL,
            SANDBOX,
            NETWORK,
            ADD_DIR,
            RULES,
            APPROVE,
            NO_APPROVE,
        ]),
    Command::new("test", "Load rule files and check their examples")
        .words("FILE...", 1, MANY)
        .files()
        .details(
            "The exit code is 1 if a file cannot be used; each error names the file and the line.",
        )
        .flags(&[JSON]),
    Command::new("replay", "Find what rules would decide otherwise in past sessions")
        .words("[SESSION]...", 0, MANY)
        .files()
        .details(
            "Looks at commands, and at files that were written or edited. With --rules, what \
             those files change; without, what was done and would be asked about or refused now, \
             and the other way round. Without SESSION, all sessions of this directory. Each is \
             judged as in its own directory.",
        )
        .flags(&[ALL, RULES, PROFILE, JSON, SESSION_DIR]),
];
