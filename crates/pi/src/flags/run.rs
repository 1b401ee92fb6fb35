//! The command `pi run`. Most of its options set a field of the task: [`FIELDS`] maps them, so that
//! the command line and the task file cannot disagree.

use super::options::{
    APPEND_SYSTEM_PROMPT, EXTENSION, LEVELS, NO_CONTEXT_FILES, NO_EXTENSIONS, NO_MCP, NO_SKILLS,
    NO_STDIN, SKILL, SYSTEM_PROMPT,
};
use super::safety::{ADD_DIR, APPROVAL_OF_RUN, NETWORK, PROFILE, RULES, SANDBOX};
use super::{Command, Completes, Flag, Group};

/// An option that sets a field of the task.
pub(crate) struct Field {
    pub(crate) flag: Flag,
    /// JSON pointer of the field. A last part `-` adds to a list.
    pub(crate) pointer: &'static str,
    pub(crate) kind: Kind,
}

/// The way from the text of an option to the value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A number; any other text is kept, and reported as the task is checked.
    Number,
    Switch,
    /// Texts separated by commas. They replace the list of the file.
    List,
    /// JSON.
    Json,
    /// A name and a number, for a field that has names.
    Entry,
    /// `off`, `on`, or hosts separated by commas.
    Network,
}

const fn text(pointer: &'static str, flag: Flag) -> Field {
    Field { flag, pointer, kind: Kind::Text }
}

const fn number(pointer: &'static str, flag: Flag) -> Field {
    Field { flag: flag.takes_word("N"), pointer, kind: Kind::Number }
}

const fn list(pointer: &'static str, flag: Flag) -> Field {
    Field { flag, pointer, kind: Kind::List }
}

use Group::{Attempts, Checks, Earlier, Limits, Model, Reports, Task, Tools};

/// The options that set a field.
pub(crate) const FIELDS: &[Field] = &[
    text("/name", Flag::new("name", Task, "Name of the task, for reports").short("n").takes("NAME")),
    text("/inputs/files/-", Flag::new("input", Task, "File whose content is part of the prompt").takes("FILE").files().repeats()),
    text("/agent", Flag::new("agent", Task, "Agent spec: a file, or the name of an installed one").takes("SPEC").files()),
    text("/model", Flag::new("model", Model, "Model to use: an id, PROVIDER/ID, or part of a name").takes("PATTERN").completes(Completes::Models)),
    text("/fallbacks/-", Flag::new("fallback", Model, "Model that continues if the model cannot answer").takes("MODEL").completes(Completes::Models).repeats()),
    text("/thinking", Flag::new("thinking", Model, "Thinking level").takes("LEVEL").choices(LEVELS)),
    list("/tools", Flag::new("tools", Tools, "Tools to enable, by name or pattern, separated by commas").short("t").takes("TOOLS").completes(Completes::Tools)),
    list("/exclude_tools", Flag::new("exclude-tools", Tools, "Tools to disable, separated by commas").short("xt").takes("TOOLS").completes(Completes::Tools)),
    text("/policy/profile", PROFILE),
    text("/policy/sandbox", SANDBOX),
    Field { flag: NETWORK, pointer: "/policy/network", kind: Kind::Network },
    text("/policy/approval", APPROVAL_OF_RUN),
    text("/policy/writable/-", ADD_DIR),
    text("/policy/rules/-", RULES),
    number("/limits/turns", Flag::new("max-turns", Limits, "End the run after N requests to models")),
    number("/limits/tool_calls", Flag::new("max-tool-calls", Limits, "End the run after N tool calls")),
    number("/limits/tokens", Flag::new("max-tokens", Limits, "End the run after N tokens, input and output together")),
    number("/limits/cost_usd", Flag::new("max-cost", Limits, "End the run when it has cost this many US dollars")),
    number("/limits/cost_usd", Flag::new("max-budget-usd", Limits, "The same as --max-cost")),
    text("/limits/wall", Flag::new("timeout", Limits, "End the run after this time, such as 90s, 30m or 2h").takes_word("TIME")),
    text("/limits/idle", Flag::new("idle-timeout", Limits, "End the run after this time without progress of the model or of a tool").takes_word("TIME")),
    text("/limits/output_bytes", Flag::new("max-output", Limits, "End the run after this much output of the model and of tools, such as 10MB").takes_word("SIZE")),
    Field { flag: Flag::new("max-calls", Limits, "End the run after N calls of one tool, such as bash=50").takes_word("TOOL=N").repeats(), pointer: "/limits/per_tool", kind: Kind::Entry },
    text("/check_env/-", Flag::new("check-env", Checks, "Environment variable that checks get although it looks like a secret").takes_word("NAME").repeats().details("Variables with secrets are removed from the environment of commands. The agent does not get this one either, and its value is redacted in the output.")),
    text("/may_change/-", Flag::new("may-change", Checks, "Files of the checks that the run may change, such as a Makefile").takes("GLOB").repeats().details("Unlike --allow, it forbids nothing else.")),
    Field { flag: Flag::new("accept-review", Checks, "Exit with 0 also if a person should look at the result"), pointer: "/accept_review", kind: Kind::Switch },
    text("/workspace/mode", Flag::new("workspace", Attempts, "Where the agent works: in-place, worktree or copy").takes_word("MODE").choices(&["in-place", "worktree", "copy"]).details("worktree is a new git worktree and copy a copy of the directory, for each attempt.")),
    text("/workspace/base", Flag::new("base", Attempts, "Commit that worktrees start from; HEAD by default").takes("COMMIT")),
    number("/attempts/count", Flag::new("attempts", Attempts, "Number of attempts; 1 by default")),
    number("/attempts/rounds", Flag::new("rounds", Attempts, "How often failed checks are returned to the agent in one attempt; 4 by default")),
    text("/attempts/strategy", Flag::new("strategy", Attempts, "Start of later attempts: continue, restart or best").takes_word("NAME").choices(&["continue", "restart", "best"]).details("continue keeps the files of the attempt before. restart begins with the files as they were. best makes all attempts and keeps the best one.")),
    text("/on_failure", Flag::new("on-failure", Attempts, "Changes of a run that fails: keep, rollback or patch").takes_word("ACTION").choices(&["keep", "rollback", "patch"]).details("patch saves the changes in the run directory, then undoes them.")),
    text("/output/schema", Flag::new("output-schema", Reports, "JSON Schema of the result").takes("FILE").files()),
    Field { flag: Flag::new("json-schema", Reports, "JSON Schema of the result, as text").takes("JSON"), pointer: "/output/schema", kind: Kind::Json },
    text("/output/file", Flag::new("output", Reports, "File that receives the result").short("o").takes("FILE").files()),
    text("/reports/json", Flag::new("report", Reports, "File that receives the report as JSON").takes("FILE").files()),
    text("/reports/junit", Flag::new("junit", Reports, "File that receives the checks as JUnit XML").takes("FILE").files()),
    text("/reports/sarif", Flag::new("sarif", Reports, "File that receives the findings of reviews as SARIF").takes("FILE").files()),
    text("/reports/summary", Flag::new("summary", Reports, "File that receives the summary as Markdown").takes("FILE").files()),
    Field { flag: Flag::new("pull-request", Reports, "Create a pull request of the changes if the checks pass").details("The changes become one commit on a new branch of the remote, on GitHub or GitLab. The token comes from GITHUB_TOKEN or GITLAB_TOKEN; the agent does not see it. With --resume, the pull request of a finished run is created without the agent."), pointer: "/publish/pull_request", kind: Kind::Switch },
    text("/publish/base", Flag::new("pr-base", Reports, "Branch that the pull request is for; the current one by default").takes("BRANCH")),
    text("/publish/branch", Flag::new("pr-branch", Reports, "Name of the new branch; pi/NAME-RUN by default").takes("BRANCH")),
    text("/publish/title", Flag::new("pr-title", Reports, "Title of the pull request").takes("TEXT")),
    Field { flag: Flag::new("pr-draft", Reports, "Create the pull request as a draft"), pointer: "/publish/draft", kind: Kind::Switch },
    text("/publish/labels/-", Flag::new("pr-label", Reports, "Label of the pull request").takes("LABEL").repeats()),
    text("/publish/remote", Flag::new("pr-remote", Reports, "Git remote that receives the branch; origin by default").takes("NAME")),
    text("/publish/api", Flag::new("pr-api", Reports, "Address of the API, for a server of your own, such as https://git.example.com/api/v4").takes("URL")),
    Field { flag: Flag::new("record", Reports, "Record every response and tool result for `pi replay`"), pointer: "/record", kind: Kind::Switch },
];

/// The options that build checks, in `modes/run/checks.rs`.
const CHECKS: &[Flag] = &[
    Flag::new("check", Checks, "Command that has to succeed").takes("COMMAND").repeats(),
    Flag::new("expect-exit", Checks, "Exit code of the --check before").takes("CODE"),
    Flag::new(
        "expect-output",
        Checks,
        "Regular expression that occurs in the output of the --check before",
    )
    .takes("REGEX"),
    Flag::new(
        "reject-output",
        Checks,
        "Regular expression that does not occur in the output of the --check before",
    )
    .takes("REGEX"),
    Flag::new("check-timeout", Checks, "Time limit of the --check before").takes_word("TIME"),
    Flag::new("protect", Checks, "Files that the agent must not change, such as tests")
        .takes("GLOB")
        .repeats(),
    Flag::new("forbid", Checks, "Files that must not be among the changes").takes("GLOB").repeats(),
    Flag::new("require", Checks, "Files of which at least one must be changed")
        .takes("GLOB")
        .repeats(),
    Flag::new("allow", Checks, "Files that may be changed; no others may").takes("GLOB").repeats(),
    Flag::new("exist", Checks, "Files of which at least one must exist at the end")
        .takes("GLOB")
        .repeats(),
    Flag::new("max-diff-lines", Checks, "Maximum number of added and removed lines")
        .takes_word("N"),
    Flag::new("max-files", Checks, "Maximum number of changed files").takes_word("N"),
    Flag::new("assert", Checks, "Value of the result, such as /status=done")
        .takes("POINTER=VALUE")
        .repeats(),
    Flag::new("review", Checks, "Question that a reviewer model answers about the changes")
        .takes("RUBRIC")
        .repeats(),
    Flag::new("must", Checks, "Statement about the changes that a reviewer model must confirm")
        .takes("TEXT")
        .repeats(),
    Flag::new("reviewer", Checks, "Model of the reviewer")
        .takes("MODEL")
        .completes(Completes::Models),
];

/// The options that are no fields.
const OTHERS: &[Flag] = &[
    Flag::new("param", Task, "Value of a parameter of the task").takes("NAME=VALUE").repeats(),
    Flag::new("set", Task, "Value of any field, such as stuck.same_error=6")
        .takes("FIELD=VALUE")
        .repeats(),
    Flag::new("explain", Task, "Print the effective task with the origin of each value, and exit"),
    Flag::new(
        "dry-run",
        Task,
        "Check everything that can be checked without a model, run the checks, and exit",
    ),
    Flag::new("format", Task, "Format of --explain and --dry-run: text or json")
        .takes_word("FORMAT")
        .choices(&["text", "json"]),
    Flag { group: Task, ..NO_STDIN },
    Flag::new(
        "output-format",
        Reports,
        "Print the result as text, the report as json, or events as stream-json",
    )
    .takes_word("FORMAT")
    .choices(&["text", "json", "stream-json"])
    .details(
        "The report is one object on one line, also if the run fails or cannot start. With text, \
         the result is printed, or the last answer if the task has no schema. With stream-json, \
         every event of the agent and of the run is a line, and the last line is the report.",
    ),
    Flag::new("mode", Reports, "Output: text, or json (the same as --output-format stream-json)")
        .takes_word("MODE")
        .choices(&["text", "json"]),
    Flag::new("verbose", Reports, "Log requests, tool calls and checks to stderr"),
];

/// The options of `pi -p` that `pi run` has as they are, in `modes/run/agent.rs`.
pub(crate) const AGENT: &[Flag] = &[
    SYSTEM_PROMPT,
    APPEND_SYSTEM_PROMPT,
    SKILL,
    NO_SKILLS,
    NO_CONTEXT_FILES,
    EXTENSION,
    NO_EXTENSIONS,
    NO_MCP,
];

/// The options of runs that were started before, in `modes/run/resume.rs`.
const EARLIER: &[Flag] = &[
    Flag::new("resume", Earlier, "Continue a run: its id, or a part of it").takes("RUN"),
    Flag::new("approve", Earlier, "Pending actions to approve, such as 1,3, or all")
        .takes("NUMBERS"),
    Flag::new("reject", Earlier, "Pending actions to reject; a reason can follow").takes("NUMBERS"),
    Flag::new("directory", Earlier, "Working directory of a run that is resumed")
        .takes("DIR")
        .directories(),
    Flag::new("list", Earlier, "List all runs"),
];

/// All options, by group.
const FLAGS: &[Flag] = &joined();

const COUNT: usize = OTHERS.len() + CHECKS.len() + FIELDS.len() + AGENT.len() + EARLIER.len();

const fn joined() -> [Flag; COUNT] {
    let mut flags = [OTHERS[0]; COUNT];
    let mut at = 0;
    while at < flags.len() {
        let checks = OTHERS.len();
        let fields = checks + CHECKS.len();
        let agent = fields + FIELDS.len();
        let earlier = agent + AGENT.len();
        flags[at] = if at < checks {
            OTHERS[at]
        } else if at < fields {
            CHECKS[at - checks]
        } else if at < agent {
            FIELDS[at - fields].flag
        } else if at < earlier {
            AGENT[at - agent]
        } else {
            EARLIER[at - earlier]
        };
        at += 1;
    }
    flags
}

pub(super) const RUN: Command = Command::new("run", "Run a task unattended and check its result")
    .words("[TASK]", 0, 1)
    .details(
        "TASK is a task file (YAML or JSON), the goal itself, or - for one of the two on stdin. Other \
         piped input is a part of the prompt. The agent works until it says that it is done; then pi \
         makes the checks, and returns failures to the agent. The exit code is 0 only if all checks \
         pass. Options come before the fields of a task file; checks, files and rules are added to \
         them. `pi help topic:run` is the guide.",
    )
    .examples(&[
        "pi run task.yaml",
        "pi run \"Repair the tests\" --check \"cargo test\" --protect 'tests/**'",
        "pi run task.yaml --param issue=42 --max-cost 2 --report report.json",
        "git diff | pi run \"Review the changes\" --must \"No change lacks a test\"",
        "pi run task.yaml --explain",
        "pi run task.yaml --dry-run",
    ])
    .flags(FLAGS);
