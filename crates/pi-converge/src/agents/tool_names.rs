//! Tool names of other agents.

/// A tool name of a spec, as this program understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolName {
    /// The tool of this program, or one of an extension or MCP server.
    Known(String),
    /// A tool of another agent that has no counterpart here; leaving it out takes nothing away that
    /// the spec depends on.
    Missing,
    /// A name that is written as in another agent, but is not one of its tools.
    Unknown(&'static str),
}

/// Tools of kimi-cli, by the last part of the module and the class.
const KIMI: &[(&str, &str)] = &[
    ("shell:Shell", "bash"),
    ("bash:Bash", "bash"),
    ("file:ReadFile", "read"),
    ("file:WriteFile", "write"),
    ("file:StrReplaceFile", "edit"),
    ("file:Glob", "find"),
    ("file:Grep", "grep"),
    ("agent:Agent", "task"),
    ("multiagent:Task", "task"),
];

/// Tools that agents in Markdown name.
const CLAUDE: &[(&str, &str)] = &[
    ("Bash", "bash"),
    ("BashOutput", "process"),
    ("KillBash", "process"),
    ("KillShell", "process"),
    ("Read", "read"),
    ("Edit", "edit"),
    ("MultiEdit", "edit"),
    ("Write", "write"),
    ("Grep", "grep"),
    ("Glob", "find"),
    ("LS", "ls"),
    ("Task", "task"),
    ("Agent", "task"),
];

/// Tools that agents in Markdown name and that have no counterpart.
const CLAUDE_ONLY: &[&str] = &[
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "ListMcpResourcesTool",
    "LSP",
    "NotebookEdit",
    "NotebookRead",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "TaskOutput",
    "TodoRead",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
];

/// Returns the tool that a name of a spec stands for.
pub(super) fn translate(name: &str) -> ToolName {
    if name.contains('(') {
        return ToolName::Unknown(
            "patterns for arguments are not supported; name the tool, and restrict it with a rule file",
        );
    }
    if let Some((module, class)) = name.split_once(':') {
        let last = module.rsplit('.').next().unwrap_or(module);
        let found = KIMI.iter().find(|(kimi, _)| *kimi == format!("{last}:{class}"));
        return match found {
            Some((_, ours)) => ToolName::Known((*ours).to_owned()),
            None => ToolName::Unknown("this tool does not exist here; remove it or exclude it"),
        };
    }
    if let Some((_, ours)) = CLAUDE.iter().find(|(claude, _)| *claude == name) {
        return ToolName::Known((*ours).to_owned());
    }
    if CLAUDE_ONLY.contains(&name) {
        return ToolName::Missing;
    }
    ToolName::Known(name.to_owned())
}
