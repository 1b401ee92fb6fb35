//! The commands of `pi`.
//!
//! Only the first argument can be a command: in `pi -p list` and `pi -- list`, `list` is a message.

use pi_config::settings::RequiredLevel;

use super::options::LEVELS;
use super::safety::{ADD_DIR, APPROVAL, NETWORK, PROFILE, RULES, SANDBOX};
use super::{Command, Completes, Flag, Group, acp, auth, hooks, mcp, packages, replay, run, serve};

pub(super) const JSON: Flag = Flag::new("json", Group::General, "Print JSON");
const SESSION_DIR: Flag = Flag::new("session-dir", Group::General, "Directory of the sessions")
    .takes("DIR")
    .directories();
const ALL: Flag =
    Flag::new("all", Group::General, "Include the sessions of all directories").short("a");
const LIMIT: Flag =
    Flag::new("limit", Group::General, "Maximum number of results").short("n").takes("NUMBER");

const YES: Flag = Flag::new("yes", Group::General, "Do not ask for confirmation").short("y");

pub(super) const MANY: usize = usize::MAX;

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("sessions", "List, search, show, export, fork, rename and remove sessions")
        .details(
            "SESSION is a file, an id, the beginning or the end of an id, or a name. Sessions of this directory \
             take precedence over all others.",
        )
        .commands(SESSIONS),
    run::RUN,
    replay::REPLAY,
    serve::SERVE,
    acp::ACP,
    Command::new("undo", "Take back the file changes of the latest run")
        .details(
            "Takes back the latest run in this directory that changed files, in any session; \
             repeat the command to take back earlier runs. Prints what was done to each \
             file. Files that have changed since the run are left alone and listed, and the exit \
             code is 1. Files that .gitignore excludes are not covered, and neither is anything in \
             the home directory itself. Git is neither used nor changed.",
        )
        .examples(&["pi undo --diff", "pi undo", "pi undo --redo"])
        .flags(&[
            Flag::new("list", Group::General, "List the runs of the session that changed files")
                .short("l"),
            Flag::new("diff", Group::General, "Show what would change, without changing it")
                .short("d"),
            Flag::new("redo", Group::General, "Repeat the run that was taken back last").short("r"),
            Flag::new("session", Group::General, "Take back the latest run of this session")
                .takes("SESSION")
                .completes(Completes::Sessions),
            SESSION_DIR,
        ]),
    Command::new("trust", "List, add and remove trusted projects")
        .details(
            "The settings, rules, skills and prompt templates of a project are used only if you \
             trust it. A decision covers a directory and everything below it; it is stored in \
             trust.json of the agent directory. To trust a project for a single run, use \
             --approve. AGENTS.md and CLAUDE.md are read in any case.",
        )
        .commands(TRUST)
        .default("list"),
    packages::INSTALL,
    packages::REMOVE,
    packages::UNINSTALL,
    packages::UPDATE,
    packages::LIST,
    mcp::MCP,
    Command::new("config", "Select resources of packages; list, print and change settings")
        .details(
            "KEY is a key of settings.json, with dots between groups: retry.maxRetries. Settings \
             are those of the user (settings.json in the agent directory) and, if it is trusted, \
             of the project (.pi/settings.json), which take precedence.",
        )
        .commands(CONFIG)
        .default("resources"),
    Command::new("doctor", "Check the installation and the configuration")
        .details(
            "Every problem is shown with its fix. The exit code is 1 if there is an error.",
        )
        .flags(&[JSON]),
    Command::new("auth", "Sign in and out; check, explain, print and store credentials")
        .details(
            "The credential of a provider is taken from auth.json, else from models.json, else \
             from an environment variable such as ANTHROPIC_API_KEY or the credentials of this \
             machine (AWS, Google, Azure). Logins are renewed before they expire.",
        )
        .commands(auth::AUTH),
    Command::new("models", "List, show and update the models that pi knows")
        .details(
            "The records of models come with pi. Newer ones that `pi models update` stored take \
             precedence, then models.json, then extensions.",
        )
        .commands(MODELS)
        .default("list"),
    Command::new("agents", "List, show and check agent specs")
        .details(
            "Agent specs are files in agents/ of the agent directory, and in .pi/agents and \
             .agents/agents of a trusted project. Use one with --agent.",
        )
        .commands(AGENTS)
        .default("list"),
    Command::new("policy", "Test policy rules against a command, a rule file or past sessions")
        .commands(POLICY),
    hooks::HOOKS,
    Command::new("sandbox", "Run a command in the agent's sandbox")
        .words("-- COMMAND...", 1, MANY)
        .details(
            "COMMAND is a program and its arguments; to run a script, use bash -c SCRIPT. The \
             command can read everything except your keys, write the working directory and \
             private temporary files, and has no network access. The restrictions in effect on \
             this machine are printed first.\n\
             The exit code is that of the command, or 128 plus the number of the signal that ended \
             it; 8 if the sandbox is unavailable (the command is not run); 125 if the sandbox \
             failed to start; 126 if the program cannot be executed; 127 if it was not found.",
        )
        .flags(&[
            Flag::new("sandbox", Group::Safety, "Sandbox mode: read-only or workspace-write")
                .takes_word("MODE")
                .choices(&["read-only", "workspace-write"])
                .details("The default is workspace-write."),
            Flag::new(
                "network",
                Group::Safety,
                "Network access: off, on, or hosts separated by commas",
            )
            .takes_word("ACCESS")
            .details("The default is off. A host is a name, optionally with a leading *. (any subdomain)."),
            ADD_DIR,
            Flag::new("require", Group::Safety, "Minimum isolation: none, landlock or bubblewrap")
                .takes_word("LEVEL")
                .choices(RequiredLevel::VALUES)
                .details("The default is landlock. With none, the command runs even without isolation."),
            RULES,
            Flag::new("quiet", Group::General, "Do not print the restrictions").short("q"),
            Flag::new(
                "json",
                Group::General,
                "Print a JSON object with the output and the exit code",
            )
            .details("The command gets no standard input."),
        ]),
    Command::new(
        "demo",
        "Watch a scripted model repair a file; needs no key and no network",
    )
    .words("[PROMPT]...", 0, MANY)
    .flags(&[
        Flag::new("model", Group::General, "Use a real model, as with --model of a run")
            .takes("PROVIDER/ID")
            .completes(Completes::Models),
        Flag::new("thinking", Group::General, "Thinking level").takes("LEVEL").choices(LEVELS),
    ]),
    Command::new("extension", "Create, check and test extensions")
        .details(
            "PATH is a file, or a directory with package.json or index.ts; the default is the \
             current directory.",
        )
        .commands(EXTENSION),
    Command::new("completions", "Print shell completions")
        .words("SHELL", 1, 1)
        .choices(&["bash", "zsh", "fish"])
        .details(
            "For bash: pi completions bash > ~/.local/share/bash-completion/completions/pi\n\
             For zsh, in a directory of $fpath: pi completions zsh > _pi\n\
             For fish: pi completions fish > ~/.config/fish/completions/pi.fish",
        ),
    Command::new("man", "Print the manual page")
        .details("To read it: pi man | man -l -")
        .flags(&[Flag::new("markdown", Group::General, "Print Markdown")]),
    Command::new("help", "Show the help of pi, of a command or on a topic")
        .words("[COMMAND]... | [TOPIC]", 0, 2)
        .details(
            "A page that has the name of a command is shown by topic:NAME, such as topic:run. On \
             a terminal, long pages are shown by the program in PAGER (less by default).",
        )
        .examples(&["pi help run", "pi help topic:run", "pi help --all"])
        .flags(&[Flag::new("all", Group::General, "Show all commands, topics and options")
            .short("a")]),
];

const SESSIONS: &[Command] = &[
    Command::new("list", "List sessions, newest first").flags(&[ALL, LIMIT, JSON, SESSION_DIR]),
    Command::new("search", "Find sessions that contain all the given words")
        .words("WORD...", 1, MANY)
        .flags(&[ALL, LIMIT, JSON, SESSION_DIR]),
    Command::new("show", "Show the properties and the messages of a session")
        .words("SESSION", 1, 1)
        .completes(Completes::Sessions)
        .flags(&[
            Flag::new(
                "json",
                Group::General,
                "Print JSON: properties, statistics and the entries of the current branch",
            ),
            Flag::new("tools", Group::General, "Detail of tool calls")
                .takes("DETAIL")
                .choices(&["none", "brief", "full"]),
            Flag::new("thinking", Group::General, "Include the model's thinking"),
            SESSION_DIR,
        ]),
    Command::new("export", "Export a session as HTML, Markdown, JSON lines or ATIF")
        .words("SESSION [FILE]", 1, 2)
        .completes(Completes::Sessions)
        .details(
            "Without FILE, the output is pi-session-NAME.EXTENSION in the working directory; - is \
             stdout. Without --format, the extension of FILE decides: .html, .md or .jsonl; the \
             default is HTML. ATIF is the format of trajectories for benchmarks. Your keys, and \
             text that looks like a key or a password, are redacted.",
        )
        .examples(&[
            "pi sessions export 01a1dff5",
            "pi sessions export 01a1dff5 notes.md",
            "pi sessions export 01a1dff5 - --format jsonl",
            "pi sessions export 01a1dff5 trajectory.json --format atif",
        ])
        .flags(&[
            Flag::new("format", Group::General, "Output format")
                .short("f")
                .takes("FORMAT")
                .choices(&["html", "markdown", "jsonl", "atif"]),
            Flag::new("force", Group::General, "Overwrite FILE if it exists"),
            Flag::new("unmasked", Group::General, "Do not redact keys and passwords"),
            SESSION_DIR,
        ]),
    Command::new("fork", "Copy a session into a new session of this directory")
        .words("SESSION", 1, 1)
        .completes(Completes::Sessions)
        .flags(&[
            Flag::new(
                "at",
                Group::General,
                "Copy only up to this entry, into the directory of the original",
            )
            .takes("ENTRY"),
            JSON,
            SESSION_DIR,
        ]),
    Command::new("rename", "Name a session")
        .words("SESSION NAME", 2, 2)
        .completes(Completes::Sessions)
        .details("The name is shown in lists and can be used in place of the id.")
        .examples(&[
            "pi sessions rename 01a1dff5 \"Parser rewrite\"",
            "pi -p --session \"Parser rewrite\" \"And now the tests\"",
        ])
        .flags(&[SESSION_DIR]),
    Command::new("rm", "Remove sessions and their checkpoints permanently")
        .words("SESSION...", 1, MANY)
        .completes(Completes::Sessions)
        .flags(&[YES, SESSION_DIR]),
    Command::new("prune", "Remove old sessions and their checkpoints permanently")
        .details(
            "Removes the sessions of this directory that --older-than and --keep select; at least \
             one of them is required, and a session must fulfill both. Sessions that another pi \
             has open are skipped. Prints the removed sessions and the space that was freed.",
        )
        .examples(&[
            "pi sessions prune --older-than 90d --dry-run",
            "pi sessions prune --all --older-than 26w --keep 20 --yes",
        ])
        .flags(&[
            Flag::new(
                "older-than",
                Group::General,
                "Remove sessions without a message for this time",
            )
            .takes_word("AGE")
            .details("A number followed by h, d or w: hours, days or weeks."),
            Flag::new("keep", Group::General, "Keep the latest sessions of each directory")
                .takes_word("NUMBER"),
            Flag::new("dry-run", Group::General, "Show what would be removed, without removing it"),
            ALL,
            YES,
            SESSION_DIR,
        ]),
];

const EXTENSION: &[Command] = &[
    Command::new("new", "Create the files of an extension, with types and tests")
        .words("DIR", 1, 1),
    Command::new("check", "Name what would not work, without running the extension")
        .words("PATH", 0, 1)
        .details(
            "Reports modules that cannot be found, functions of pi and Node that are not \
             available, undefined names and unknown events. The exit code is 1 if there is one.",
        )
        .flags(&[JSON]),
    Command::new("test", "Run the tests of an extension with a scripted model")
        .words("PATH", 0, 1)
        .details(
            "Tests are files that end in .test.ts and use the module pi/test. The exit code is 1 \
             if one fails.",
        ),
];

const AGENTS: &[Command] = &[
    Command::new("list", "List the installed agents").flags(&[JSON]),
    Command::new("show", "Print a spec with everything that it inherits, as JSON")
        .words("NAME|FILE", 1, 1)
        .completes(Completes::Files)
        .examples(&["pi agents show reviewer"]),
    Command::new("check", "Check a spec and the specs that it refers to")
        .words("NAME|FILE", 1, 1)
        .completes(Completes::Files)
        .details("Every problem is printed with its file and line; the exit code is then 2.")
        .examples(&["pi agents check ./agents/lead.yaml"]),
];

const TRUST: &[Command] = &[
    Command::new("list", "List the decisions about projects, and what each project brings")
        .flags(&[JSON]),
    Command::new("add", "Trust a project")
        .words("[DIR]", 0, 1)
        .completes(Completes::Directories)
        .details(
            "The default is the working directory. Prints the files that runs use from now on.",
        )
        .examples(&["pi trust add", "pi trust add ~/src/project"])
        .flags(&[JSON]),
    Command::new("remove", "Remove the decision about a project")
        .words("[DIR]", 0, 1)
        .completes(Completes::Directories)
        .details("The default is the working directory.")
        .examples(&["pi trust remove"])
        .flags(&[JSON]),
];

const PROJECT: Flag =
    Flag::new("project", Group::General, "Change the settings of this project (.pi/settings.json)")
        .short("l");

const CONFIG: &[Command] = &[
    packages::RESOURCES,
    Command::new("list", "List settings with value, source and description")
        .words("[KEY]", 0, 1)
        .completes(Completes::Settings)
        .details(
            "The source is default, user or project. Settings without effect in this version are \
             listed if they are set. KEY may be a group.",
        )
        .examples(&["pi config list", "pi config list compaction", "pi config list --json"])
        .flags(&[JSON]),
    Command::new("get", "Print the effective value of a setting")
        .words("KEY", 1, 1)
        .completes(Completes::Settings)
        .details("The exit code is 1 if the setting is not set and has no default.")
        .examples(&["pi config get defaultModel"])
        .flags(&[JSON]),
    Command::new("set", "Set a setting")
        .words("KEY VALUE", 2, 2)
        .completes(Completes::Settings)
        .details(
            "VALUE is JSON, a plain string, or a list of strings separated by commas. It is \
             checked first, and everything else in the file stays as it is. Put -- before a VALUE \
             that begins with a dash.",
        )
        .examples(&[
            "pi config set defaultModel claude-sonnet-4-5",
            "pi config set compaction.enabled false",
            "pi config set enabledModels \"sonnet*,gpt-5*\"",
            "pi config set --project defaultThinkingLevel high",
        ])
        .flags(&[PROJECT]),
    Command::new("unset", "Remove a setting from a settings file")
        .words("KEY", 1, 1)
        .completes(Completes::Settings)
        .examples(&["pi config unset defaultModel"])
        .flags(&[PROJECT]),
    Command::new("schema", "Print the JSON Schema of a configuration file, for editors")
        .words("NAME", 1, 1)
        .choices(&["settings", "models", "auth", "trust", "task", "report"])
        .examples(&["pi config schema settings > ~/.pi/agent/settings.schema.json"]),
];

pub(super) const PROVIDER: Flag = Flag::new("provider", Group::General, "Name of the provider")
    .takes_word("PROVIDER")
    .completes(Completes::Providers);

const MODELS: &[Command] = &[
    Command::new("list", "List models with limits and prices")
        .words("[PATTERN]...", 0, MANY)
        .details(
            "Lists the models that can be used; with PATTERN or --provider, all models that match, \
             usable ones first: those whose provider and id contain the letters of every PATTERN \
             in order. Prices are US dollars per million tokens of input and output. The JSON \
             objects have all fields of the record, thinkingLevels, source (built-in, update, \
             models.json, extension or local-server), changed, usable, and the reason if the model \
             cannot be used.",
        )
        .examples(&["pi models list sonnet", "pi models list --provider openai --json"])
        .flags(&[
            PROVIDER,
            Flag::new("all", Group::General, "List all models, also those without a key")
                .short("a"),
            Flag::new("available", Group::General, "List only models that can be used"),
            JSON,
        ]),
    Command::new("show", "Show prices, limits and the origin of a model")
        .words("MODEL", 1, 1)
        .completes(Completes::Models)
        .examples(&["pi models show anthropic/claude-sonnet-4-5"])
        .flags(&[JSON]),
    Command::new("update", "Load newer model records from a server")
        .words("[PROVIDER]...", 0, MANY)
        .completes(Completes::Providers)
        .details(
            "The URL is that of --url, of PI_MODELS_URL, or of the setting modelsUrl; there is no \
             default. {provider} in it stands for the id of a provider; without it, one document \
             has the records of all providers. Without PROVIDER, updates the providers that have \
             credentials. Records are checked, and stored in models-store.json of the agent \
             directory. Nothing else loads records, and a run never does. The exit code is 1 if a \
             provider was not updated; its records stay as they were.",
        )
        .examples(&[
            "pi models update --url https://models.example/v1/{provider}.json",
            "pi models update anthropic openai",
        ])
        .flags(&[Flag::new("url", Group::General, "URL of the records").takes("URL"), JSON]),
];

pub(super) const APPROVE: Flag =
    Flag::new("approve", Group::Safety, "Apply the project's settings and rules").short("a");
pub(super) const NO_APPROVE: Flag =
    Flag::new("no-approve", Group::Safety, "Ignore the project's settings and rules").short("na");

const POLICY: &[Command] = &[
    Command::new("check", "Show the decision on a command, a file, a host or a tool call")
        .words("[-- COMMAND...]", 0, MANY)
        .details(
            "The decision is that of a session in this directory. One word after -- is a script; \
             several words are one command. Prints allow, ask or forbid, the reason, and the rule \
             that decided. Nothing is executed.\n\
             The exit code is 0 for allow, 1 for ask and forbid, 6 if the settings or a rule file \
             cannot be used, 8 if a session could not start because the sandbox is unavailable.",
        )
        .flags(&[
            Flag::new("path", Group::General, "Check a file instead of a command")
                .takes("FILE")
                .files(),
            Flag::new("access", Group::General, "Access to the file: read or write (the default)")
                .takes_word("ACCESS")
                .choices(&["read", "write"]),
            Flag::new("host", Group::General, "Check a host instead of a command").takes("NAME"),
            Flag::new("tool", Group::General, "Check a tool call instead of a command")
                .takes("NAME")
                .completes(Completes::Tools),
            Flag::new("arguments", Group::General, "Arguments of the tool call").takes("JSON"),
            Flag::new("explain", Group::General, "Show the decision on every part").short("e"),
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
            "Errors are reported with their line. The exit code is 1 if a file cannot be used.",
        )
        .flags(&[JSON]),
    Command::new("replay", "Find actions of past sessions that the rules would decide differently")
        .words("[SESSION]...", 0, MANY)
        .completes(Completes::Sessions)
        .details(
            "Examines commands, and files that were written or edited. With --rules, shows the \
             decisions that these files change. Otherwise shows actions that ran and would now be \
             asked about or refused, and the reverse. Without SESSION, examines all sessions of \
             this directory. Each session is judged in its own directory.",
        )
        .flags(&[ALL, RULES, PROFILE, JSON, SESSION_DIR]),
];
