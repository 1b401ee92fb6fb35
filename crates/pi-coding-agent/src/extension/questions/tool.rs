//! Questions before and after a tool call.

use std::sync::Arc;

use pi_agent::{OutputChange, RequiredApproval, ToolOutput};
use pi_protocol::Effects;
use serde_json::{Map, Value, json};

use crate::extension::question::wrapping;
use crate::extension::{Ask, Flow, OnFailure};

/// Asks whether a tool call may run. A failing extension blocks the call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// Validated arguments, as changed by the extensions asked before.
    pub input: Arc<Map<String, Value>>,
    /// Declared effects of the call.
    pub effects: Effects,
    /// The call during which this one was made.
    pub parent_tool_call_id: Option<String>,
}

impl ToolCall {
    pub(crate) fn new(
        tool_name: &str,
        tool_call_id: &str,
        input: Arc<Map<String, Value>>,
        effects: Effects,
    ) -> Self {
        Self {
            tool_name: tool_name.to_owned(),
            tool_call_id: tool_call_id.to_owned(),
            input,
            effects,
            parent_tool_call_id: None,
        }
    }
}

/// Decision whether a tool call may run.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolDecision {
    /// The call may run.
    Allow {
        /// Replacement for the arguments, which is not validated again.
        input: Option<Map<String, Value>>,
    },
    /// The call runs if each of these approvals is given, also if the rules allow it.
    Ask {
        /// Replacement for the arguments, which is not validated again.
        input: Option<Map<String, Value>>,
        /// The approvals, at least one.
        approvals: Vec<RequiredApproval>,
    },
    /// The call does not run.
    Block {
        /// Reason for the model.
        reason: Option<String>,
        /// The run may end with this call.
        terminate: bool,
    },
}

impl Default for ToolDecision {
    fn default() -> Self {
        Self::allow()
    }
}

impl ToolDecision {
    /// Lets the call run.
    pub fn allow() -> Self {
        Self::Allow { input: None }
    }

    /// Lets the call run after an approval, with a reason for the approver and the name of what
    /// requires it.
    pub fn ask(reason: impl Into<String>, by: impl Into<String>) -> Self {
        Self::requiring(None, vec![RequiredApproval { reason: reason.into(), by: by.into() }])
    }

    /// Lets the call run after these approvals, if there are any.
    pub fn requiring(input: Option<Map<String, Value>>, approvals: Vec<RequiredApproval>) -> Self {
        if approvals.is_empty() { Self::Allow { input } } else { Self::Ask { input, approvals } }
    }

    /// Blocks the call with a reason for the model.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: Some(reason.into()), terminate: false }
    }
}

impl Ask for ToolCall {
    type Answer = ToolDecision;
    const ON_FAILURE: OnFailure = OnFailure::Stop;
    wrapping!(ToolCall);

    /// A block decides. The approvals of all extensions are required, and the last replacement of
    /// the arguments counts.
    fn merge(&mut self, combined: &mut ToolDecision, answer: ToolDecision) -> Flow {
        let (input, approvals) = match answer {
            ToolDecision::Allow { input } => (input, Vec::new()),
            ToolDecision::Ask { input, approvals } => (input, approvals),
            block @ ToolDecision::Block { .. } => {
                *combined = block;
                return Flow::Stop;
            }
        };
        if let Some(input) = &input {
            self.input = Arc::new(input.clone());
        }
        let (earlier, mut all) = match std::mem::take(combined) {
            ToolDecision::Allow { input } => (input, Vec::new()),
            ToolDecision::Ask { input, approvals } => (input, approvals),
            // The question stopped there.
            ToolDecision::Block { .. } => (None, Vec::new()),
        };
        all.extend(approvals);
        *combined = ToolDecision::requiring(input.or(earlier), all);
        Flow::Next
    }

    fn payload(&self) -> Value {
        let mut payload = json!({
            "toolName": self.tool_name,
            "toolCallId": self.tool_call_id,
            "input": self.input,
        });
        if let Some(parent) = &self.parent_tool_call_id {
            payload["parentToolCallId"] = json!(parent);
        }
        payload
    }
}

/// Asks for changes to the result of a tool call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolResult {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// Arguments with which the tool ran.
    pub input: Arc<Map<String, Value>>,
    /// The result, as changed by the extensions asked before.
    pub result: Arc<ToolOutput>,
    /// The call failed.
    pub is_error: bool,
    /// The call during which this one was made.
    pub parent_tool_call_id: Option<String>,
}

impl ToolResult {
    pub(crate) fn new(
        tool_name: &str,
        tool_call_id: &str,
        input: Map<String, Value>,
        result: ToolOutput,
        is_error: bool,
    ) -> Self {
        Self {
            tool_name: tool_name.to_owned(),
            tool_call_id: tool_call_id.to_owned(),
            input: Arc::new(input),
            result: Arc::new(result),
            is_error,
            parent_tool_call_id: None,
        }
    }
}

impl Ask for ToolResult {
    type Answer = OutputChange;
    wrapping!(ToolResult);

    fn merge(&mut self, combined: &mut OutputChange, answer: OutputChange) -> Flow {
        self.is_error = answer.is_error.unwrap_or(self.is_error);
        let result = Arc::make_mut(&mut self.result);
        *result = answer.clone().apply(std::mem::take(result));
        let before = std::mem::take(combined);
        // New content without new structured content makes the old one wrong.
        let structured = if answer.content.is_some() { None } else { before.structured_content };
        combined.structured_content = answer.structured_content.or(structured);
        combined.content = answer.content.or(before.content);
        combined.details = answer.details.or(before.details);
        combined.is_error = answer.is_error.or(before.is_error);
        combined.usage = answer.usage.or(before.usage);
        combined.terminate = answer.terminate.or(before.terminate);
        Flow::Next
    }

    fn payload(&self) -> Value {
        let mut payload = json!({
            "toolName": self.tool_name,
            "toolCallId": self.tool_call_id,
            "input": self.input,
            "content": self.result.content,
            "details": self.result.details,
            "isError": self.is_error,
        });
        if let Some(parent) = &self.parent_tool_call_id {
            payload["parentToolCallId"] = json!(parent);
        }
        if let Some(structured) = &self.result.structured_content {
            payload["structuredContent"] = structured.clone();
        }
        if let Some(usage) = &self.result.usage {
            payload["usage"] = json!(usage);
        }
        payload
    }
}
