//! The pages of the documentation inside the binary: `pi help TOPIC`. The program is installed
//! without the repository, so it brings what its messages refer to.

mod render;

pub(crate) use render::{render, wrap};

/// A page of the documentation.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Name of the page, which is that of the file without `.md`.
    pub(crate) name: &'static str,
    /// Other names under which people look for it.
    other_names: &'static [&'static str],
    /// Content, in one line.
    pub(crate) about: &'static str,
    pub(crate) page: &'static str,
}

macro_rules! topic {
    ($name:literal, $other_names:expr, $about:literal) => {
        Topic {
            name: $name,
            other_names: &$other_names,
            about: $about,
            page: include_str!(concat!("../../../docs/", $name, ".md")),
        }
    };
}

/// All pages, in the order in which they are read.
pub(crate) const TOPICS: &[Topic] = &[
    topic!("getting-started", ["start", "tutorial"], "From the installation to the first sessions"),
    topic!(
        "screen",
        ["interactive", "tui", "hotkeys", "keybindings"],
        "The interactive mode: keys, commands, terminals"
    ),
    topic!("models", ["keys"], "Models, keys and models.json"),
    topic!("providers", ["provider", "bedrock", "vertex", "azure"], "Every built-in provider"),
    topic!("logins", ["login", "oauth"], "Signing in with an account"),
    topic!("local-models", ["local", "ollama", "llama.cpp"], "Models on this machine"),
    topic!("settings", [], "Every key of settings.json"),
    topic!(
        "tools",
        ["tool", "background", "processes"],
        "The tools of the model, and how to turn them on and off"
    ),
    topic!("history", ["checkpoints"], "Sessions, compaction and undo"),
    topic!(
        "resources",
        ["skills", "prompts", "templates", "context", "agents.md"],
        "Skills, prompt templates and context files"
    ),
    topic!(
        "packages",
        ["package", "install", "npm"],
        "Packages of extensions, skills, templates and themes"
    ),
    topic!(
        "extensions",
        ["extension", "plugins"],
        "Extensions in TypeScript, and what they can use"
    ),
    topic!(
        "codemode",
        ["scripts", "tool-search", "tool_search"],
        "Scripts that call tools, and tool search"
    ),
    topic!("extension-process", [], "Extensions as programs in any language"),
    topic!("mcp", ["mcp.json"], "Servers of the Model Context Protocol"),
    topic!("themes", ["colors", "theme"], "Colors of the interactive mode, and theme files"),
    topic!("project-trust", [], "What a project may bring, and trust in it"),
    topic!("guard", ["safety", "rules"], "Profiles, rules, approvals, the sandbox and secrets"),
    topic!(
        "hooks",
        ["hook", "guardrails", "guardrail"],
        "Commands at events of a session, and guardrails"
    ),
    topic!("run", ["task", "tasks", "converge"], "Tasks with checked results: `pi run`"),
    topic!("unattended", ["ci"], "Runs without supervision"),
    topic!("agents", ["agent", "subagents", "handoff"], "Agent specs, sub-agents and handoffs"),
    topic!("replay", ["record", "reports"], "Reports, recordings and replays of pi run"),
    topic!(
        "acp",
        ["editor", "editors", "zed", "jetbrains", "neovim", "emacs"],
        "Editors and other clients: `pi acp`"
    ),
    topic!(
        "serve",
        ["browser", "web", "phone", "server"],
        "Sessions in the browser and for other programs: `pi serve`"
    ),
    topic!("rpc", ["json"], "JSON mode and RPC mode, for other programs"),
    topic!("mcp-server", ["mcp-serve"], "pi as an MCP server, for other programs"),
    topic!("verification", ["checks", "verify"], "The checks of pi run, workspaces and attempts"),
    topic!("resuming", ["resume", "approvals"], "Runs that wait for approval or were interrupted"),
    topic!("troubleshooting", ["problems", "errors"], "Problems and what to do about them"),
];

/// The pages by subject, as the help lists them.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["getting-started", "screen", "models", "tools", "history", "troubleshooting"]),
    ("Models and logins", &["providers", "logins", "local-models"]),
    ("Settings and safety", &["settings", "project-trust", "guard", "hooks", "themes"]),
    (
        "Extending pi",
        &["resources", "packages", "extensions", "extension-process", "mcp", "codemode", "agents"],
    ),
    ("Unattended runs", &["unattended", "run", "verification", "resuming", "replay"]),
    ("Other programs", &["serve", "acp", "rpc", "mcp-server"]),
];

/// The pages whose names commands have, too.
pub(crate) const NAMES_OF_COMMANDS: &[&str] =
    &["acp", "agents", "hooks", "mcp", "models", "replay", "run", "serve"];

/// Begins a word of `pi help` that names a page and not a command.
pub(crate) const PREFIX: &str = "topic:";

impl Topic {
    /// Returns the word of `pi help` that shows the page: its name, unless a command has it.
    pub(crate) fn word(&self) -> String {
        let prefix = if NAMES_OF_COMMANDS.contains(&self.name) { PREFIX } else { "" };
        format!("{prefix}{}", self.name)
    }
}

/// Returns the page with a name.
pub(crate) fn find(name: &str) -> Option<&'static Topic> {
    let name = name.to_lowercase();
    let name = name.as_str();
    TOPICS.iter().find(|topic| topic.name == name || topic.other_names.contains(&name))
}
