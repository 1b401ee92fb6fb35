//! Tools that go together.

use std::sync::Arc;

use pi_agent::{AgentTool, FnTool};

use crate::workspace::Workspace;
use crate::{bash, edit, find, grep, ls, read, write};

/// Makes a tool of a workspace.
type Make = fn(Arc<Workspace>) -> FnTool;

/// Tools that change things: `read`, `bash`, `edit`, `write`. What an agent has unless it is told
/// otherwise.
pub fn coding(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    make(workspace, &[read, bash, edit, write])
}

/// Tools that look and change nothing: `read`, `grep`, `find`, `ls`.
pub fn read_only(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    make(workspace, &[read, grep, find, ls])
}

/// All seven.
pub fn all(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    make(workspace, &[read, bash, edit, write, grep, find, ls])
}

fn make(workspace: &Arc<Workspace>, tools: &[Make]) -> Vec<Arc<dyn AgentTool>> {
    let tools = tools.iter().map(|tool| tool(Arc::clone(workspace)));
    tools.map(|tool| Arc::new(tool) as Arc<dyn AgentTool>).collect()
}
