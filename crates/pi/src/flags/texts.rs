//! What help, man page and `docs/cli.md` say besides the tables.

/// One line about the program.
pub(super) const ABOUT: &str = "an agent framework and coding agent";

/// How it is called.
pub(super) const USAGE: &[&str] =
    &["pi [OPTIONS] [--] [@FILE]... [MESSAGE]...", "pi COMMAND [OPTIONS] [ARGUMENT]..."];

/// What the words of a command line are.
pub(super) const WORDS: &str = "\
The first message is sent together with what is piped in and the content of every @FILE; further \
messages follow one by one. After -- nothing is an option. The value of an option is the next \
argument or follows an equals sign: --model NAME, --model=NAME.";

/// What to write, and what it does.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("pi -p \"What does this project do?\"", "One answer, on stdout"),
    ("git diff | pi -p \"Review this\"", "With piped input"),
    ("pi -p @notes.md @plan.png \"Compare these\"", "With files"),
    ("pi -p -c \"And now the tests\"", "Go on with the latest session"),
    ("pi --tools read,grep,find,ls -p \"Review src\"", "Reading only"),
    ("pi -p --model sonnet:high \"Prove it\"", "Another model, thinking hard"),
    ("pi sessions search parser error", "Find a conversation"),
];

/// Variables that the program reads, besides those with the keys of providers.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("PI_CODING_AGENT_DIR", "Settings, credentials and sessions; ~/.pi/agent if not set"),
    ("PI_CODING_AGENT_SESSION_DIR", "Where sessions are kept; --session-dir comes first"),
    ("PI_OFFLINE", "1, true or yes: the same as --offline"),
    (
        "ANTHROPIC_API_KEY, OPENAI_API_KEY, ...",
        "Keys of providers; `pi doctor` lists those it finds",
    ),
];
