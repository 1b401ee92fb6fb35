//! The tool `task`: starts a sub-agent and returns its result.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture, Invocation, ToolError, ToolOutput};
use pi_protocol::{Effects, Tool};
use serde_json::{Map, Value, json};

use super::child::{self, ChildTask};
use super::extension::State;
use super::failure::{ChildFailure, FailureKind};
use super::spec::{AgentSpec, TASK_TOOL};

/// The tool `task`.
pub(super) struct TaskTool {
    declaration: Tool,
    guidelines: Vec<String>,
    state: Arc<State>,
}

impl TaskTool {
    pub(super) fn new(state: Arc<State>, spec: &AgentSpec) -> Self {
        let mut description = "Start a sub-agent with a task and return its result. The sub-agent \
             has its own context: it does not see this conversation, so put everything that it \
             needs into the prompt. It returns one final answer. Call this tool several times in \
             one turn to run sub-agents in parallel.\n\nAgents:"
            .to_owned();
        for (name, subagent) in &spec.subagents {
            // Writing to a string cannot fail.
            let _ = write!(description, "\n- {name}: {}", subagent.description.trim());
        }
        let names: Vec<&String> = spec.subagents.keys().collect();
        let parameters = json!({
            "type": "object",
            "properties": {
                "agent": { "type": "string", "enum": names, "description": "Name of the agent." },
                "prompt": {
                    "type": "string",
                    "description": "The complete task: the goal, the relevant files and facts, and \
                                    the form of the answer.",
                },
            },
            "required": ["agent", "prompt"],
        });
        let guidelines = vec![format!(
            "Use {TASK_TOOL} for work that does not need this conversation, such as a search in many \
             files. Do not repeat the work of a sub-agent."
        )];
        let declaration = Tool::new(TASK_TOOL, description, parameters);
        Self { declaration, guidelines, state }
    }

    async fn call(&self, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let text = |name: &str| {
            let value = invocation.arguments.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let (agent, prompt) = (text("agent"), text("prompt"));
        if prompt.trim().is_empty() {
            return Err(ToolError::new("The prompt is empty. Describe the task of the sub-agent."));
        }
        let active = self.state.active();
        let subagent = active.as_ref().and_then(|spec| spec.subagents.get(&agent));
        let spec = subagent.and_then(|subagent| self.state.set.spec(&subagent.file));
        let Some(spec) = spec.cloned() else {
            let names: Vec<String> =
                active.iter().flat_map(|spec| spec.subagents.keys().cloned()).collect();
            let message = format!("There is no agent {agent:?}. Agents: {}.", names.join(", "));
            return Ok(ChildFailure::new(FailureKind::UnknownAgent, message).output(&agent));
        };
        let Some(parent) = self.state.session() else {
            return Err(ToolError::new("The session has ended."));
        };
        let task = ChildTask { agent, prompt, spec, parent };
        // The future of a whole session is large.
        Ok(Box::pin(child::run(&self.state, task, invocation)).await)
    }
}

impl AgentTool for TaskTool {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn label(&self) -> Cow<'_, str> {
        Cow::Borrowed(TASK_TOOL)
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Start a sub-agent with a task of its own")
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    /// The call itself touches nothing: each call of the sub-agent declares its own effects, and
    /// the guard judges it.
    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let first_line = text("prompt").trim().lines().next().unwrap_or_default();
        Effects::none().summary(format!("{}: {first_line}", text("agent")), false)
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(invocation))
    }
}
