//! Agents: specs in files, sub-agents and handoffs.
//!
//! `file` is the format, `draft` one file, `load` the resolution of a spec with everything that it
//! can reach, `library` the installed specs, `prompt` the variables of system prompts. `apply` turns
//! a spec into the options of an agent. `extension` takes part in its session: it sets the prompt
//! and registers the tools `task` (`delegate`, `child`, `answer`) and `handoff`.

mod answer;
mod apply;
mod child;
mod delegate;
mod draft;
mod extension;
mod failure;
mod file;
mod handoff;
mod library;
mod load;
mod prompt;
mod spec;
mod tool_names;

pub use file::{
    AgentFile, AgentOutput, AgentPolicy, ApprovalRestriction, DescribedHandoff, DescribedSubagent,
    HandoffContext, HandoffEntry, NetworkRestriction, SandboxRestriction, SubagentEntry, ToolNames,
};
pub use library::{AgentLibrary, InstalledAgent};
pub use load::AgentError;
pub use prompt::built_in_variables;
pub use spec::{AgentSet, AgentSpec, HANDOFF_TOOL, Handoff, PromptTemplate, Subagent, TASK_TOOL};
