//! Texts of the help, the man page and `docs/cli.md` that are not in the tables.

/// Summary of the program.
pub(super) const ABOUT: &str = "an agent framework and coding agent";

/// Forms of the command line.
pub(super) const USAGE: &[&str] =
    &["pi [OPTIONS] [--] [@FILE]... [MESSAGE]...", "pi COMMAND [OPTIONS] [ARGUMENT]..."];

/// Explanation of the arguments.
pub(super) const WORDS: &str = "\
The first message is sent together with the piped input and the content of every @FILE; further \
messages follow one by one. After --, no argument is an option: pi -p -- \"- first item\". To begin a \
message with @, write \\@. The value of an option is the next argument or follows an equals sign: \
--model NAME, --model=NAME.";

/// Example commands and their effects.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("pi", "Open the screen, in a terminal"),
    ("pi -c", "Open the latest session of this directory"),
    ("pi -p \"What does this project do?\"", "Print one answer to stdout"),
    ("git diff | pi -p \"Review this\"", "Include piped input"),
    ("pi -p @notes.md @plan.png \"Compare these\"", "Include files"),
    ("pi -p -c \"And now the tests\"", "Continue the latest session"),
    ("pi --tools read,grep,find,ls -p \"Review src\"", "Enable only tools that read"),
    ("pi -p --model sonnet:high \"Prove it\"", "Use another model at a high thinking level"),
    ("pi sessions search parser error", "Find a session"),
];

/// The ways from the short help to the rest.
pub(super) const MORE: &[(&str, &str)] = &[
    ("pi help getting-started", "The first steps; also screen, models, tools"),
    ("pi help COMMAND", "The options of a command"),
    ("pi help --all", "All commands, topics, options and exit codes"),
];

/// Environment variables.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    (
        "PI_CODING_AGENT_DIR",
        "Directory of settings, credentials and sessions; the default is ~/.pi/agent",
    ),
    ("PI_CODING_AGENT_SESSION_DIR", "Directory of the sessions; --session-dir takes precedence"),
    ("PI_OFFLINE", "1, true or yes: same as --offline"),
    ("PI_TRUE_COLOR, PI_HYPERLINKS, ...", "Abilities of the terminal; `pi help screen` lists them"),
    (
        "ANTHROPIC_API_KEY, OPENAI_API_KEY, ...",
        "API keys of providers; `pi doctor` lists those it finds",
    ),
];
