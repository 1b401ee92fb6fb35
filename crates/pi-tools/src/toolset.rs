//! Tools that go together, and what they have in common.

use std::sync::Arc;

use pi_agent::{AgentTool, FnTool};
use pi_protocol::{ConstrainedSampling, StrictMode};

use crate::workspace::Workspace;
use crate::{bash, edit, find, grep, ls, process, read, write};

/// Makes a tool of a workspace.
type Make = fn(Arc<Workspace>) -> FnTool;

/// For tools that change things or are called all the time: arguments that fit, where the
/// provider can see to it.
pub(crate) const STRICT: ConstrainedSampling =
    ConstrainedSampling::JsonSchema { strict: StrictMode::Prefer };

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

/// What goes with `bash` in a workspace that has a place for background processes: `process`.
/// In other workspaces there is nothing.
pub fn background(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    let process = workspace.background().map(|background| process(Arc::clone(background)));
    process.into_iter().map(|tool| Arc::new(tool) as Arc<dyn AgentTool>).collect()
}

fn make(workspace: &Arc<Workspace>, tools: &[Make]) -> Vec<Arc<dyn AgentTool>> {
    let tools = tools.iter().map(|tool| tool(Arc::clone(workspace)));
    tools.map(|tool| Arc::new(tool) as Arc<dyn AgentTool>).collect()
}
