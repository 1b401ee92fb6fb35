//! Tools: the functions that a model can call.

mod function;
mod schema;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use pi_protocol::{CancelToken, Effects, Tool, Usage, UserBlock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use function::FnTool;
pub use schema::schema_of;

use crate::budget::Budget;
use crate::error::ToolError;
use crate::limits::Limits;

/// The future of a tool, hook or listener.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Defines methods of [`AgentTool`] that a decorator inherits from the tool it decorates.
macro_rules! inherited {
    ($(
        $(#[$meta:meta])*
        fn $name:ident $(<$life:lifetime>)? (
            & $($self_life:lifetime)? $self:ident $(, $argument:ident : $type:ty)*
        ) -> $result:ty $default:block
    )*) => {
        $(
            $(#[$meta])*
            fn $name $(<$life>)? (
                & $($self_life)? $self $(, $argument: $type)*
            ) -> $result {
                match $self.inner() {
                    Some(inner) => inner.$name($($argument),*),
                    None => $default,
                }
            }
        )*
    };
}

/// A tool that a model can call.
///
/// Contract: `execute` receives arguments that match the declared schema, unless the tool validates
/// them itself. It should end soon after
/// its token is cancelled; if it does not, its future is dropped. A panic becomes an error result.
///
/// A decorator returns the tool that it decorates from [`inner`](AgentTool::inner) and overrides
/// the methods that it changes; every other method is that of the inner tool.
pub trait AgentTool: Send + Sync {
    /// Returns the declaration for the model: name, description, and the schema of the arguments.
    fn declaration(&self) -> &Tool;

    /// Executes the tool with validated arguments.
    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Returns the tool that this one decorates.
    fn inner(&self) -> Option<&dyn AgentTool> {
        None
    }

    // A method with a default belongs in here: outside, decorators would not forward it.
    inherited! {
        /// Returns the name that users see.
        fn label(&self) -> Cow<'_, str> {
            Cow::Borrowed(&self.declaration().name)
        }

        /// Returns a line for the list of tools in a system prompt. A tool without one is not
        /// listed.
        fn prompt_snippet(&self) -> Option<&str> {
            None
        }

        /// Returns guidelines on using the tool for a system prompt, one sentence each.
        fn prompt_guidelines(&self) -> &[String] {
            &[]
        }

        /// Returns whether the tool can be executed in parallel with other calls of the same turn.
        fn execution_mode(&self) -> ExecutionMode {
            ExecutionMode::Parallel
        }

        /// Changes arguments before they are validated, for example from an older schema. Returns
        /// `None` if they need no change.
        fn prepare_arguments<'a>(
            &'a self,
            raw: &'a Map<String, Value>
        ) -> BoxFuture<'a, Result<Option<Map<String, Value>>, ToolError>> {
            Box::pin(std::future::ready(Ok(None)))
        }

        /// Returns true if the tool validates its arguments itself. The loop then passes them on as
        /// the model wrote them, and the declared schema only informs the model.
        fn validates_arguments(&self) -> bool {
            false
        }

        /// Declares what a call with these arguments reads, writes, runs and connects to. The
        /// arguments may not match the schema. A tool that does not override this has unknown
        /// effects. The loop calls this once per call, and again only if the arguments change.
        fn effects(&self, arguments: &Map<String, Value>) -> Effects {
            Effects::unknown()
        }

        /// Returns true if the tool requests the approvals in
        /// [`Invocation::required_approvals`] before it does anything. A call of any other tool
        /// that requires approval is refused.
        fn requests_approval(&self) -> bool {
            false
        }

        /// Returns one name for all spellings of a path in the declared effects, such as its real
        /// path. Calls of one turn that touch the same file are executed in the order of the
        /// message. The default is the path as the model wrote it.
        fn identify_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, PathBuf> {
            Box::pin(std::future::ready(PathBuf::from(path)))
        }
    }
}

/// A decision before a call that the call may run only after approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredApproval {
    /// Reason for the approver.
    pub reason: String,
    /// Name of what requires the approval.
    pub by: String,
}

/// The order in which the tool calls of one turn are executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExecutionMode {
    /// All calls at the same time.
    #[default]
    Parallel,
    /// Each call after the previous one, in the order of the message.
    Sequential,
}

/// A call of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// Id of the call.
    pub id: String,
    /// The validated arguments.
    pub arguments: Map<String, Value>,
    /// The effects that the tool declared for these arguments; `None` if it was not asked.
    pub effects: Option<Effects>,
    /// The approvals without which the call may not run.
    pub required_approvals: Vec<RequiredApproval>,
    /// Cancelled when the run is aborted.
    pub cancel: CancelToken,
    /// Receives progress reports.
    pub updates: Updates,
    /// The budget of this call, within that of the run. A tool that sends requests or starts agents
    /// makes children of it, and one with much output counts the bytes as they come. The result is
    /// only charged as far as it exceeds what the tool has charged.
    pub budget: Budget,
}

impl Invocation {
    /// Creates the invocation of a call, with a budget without limits.
    pub fn new(
        id: impl Into<String>,
        arguments: Map<String, Value>,
        cancel: CancelToken,
        updates: Updates,
    ) -> Self {
        let budget = Budget::new(Limits::default());
        let (effects, required_approvals) = (None, Vec::new());
        Self { id: id.into(), arguments, effects, required_approvals, cancel, updates, budget }
    }

    /// Sets the budget of the call.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }
}

/// Receives the progress reports of a tool. Reports after the tool has returned are ignored. A
/// report after an abort is not emitted; it becomes the result if the tool does not end in time.
#[derive(Clone)]
pub struct Updates(Arc<dyn Fn(ToolOutput) + Send + Sync>);

impl Updates {
    /// Creates a receiver that passes reports to a function.
    pub fn new(report: impl Fn(ToolOutput) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports the output so far.
    pub fn send(&self, partial: ToolOutput) {
        (self.0)(partial);
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Updates")
    }
}

/// The output of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content for the model.
    pub content: Vec<UserBlock>,
    /// Details for the user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The result as data, for programs. It is never sent to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Tokens that the tool itself spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True if the call failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Asks for the end of the run. The run ends if every call of the turn asks for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
    /// The tool was not executed and waits for a decision from outside. The call gets no result,
    /// and the run ends after the other calls of the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

impl ToolOutput {
    /// Creates an output with a text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![UserBlock::text(text)], ..Self::default() }
    }

    /// Creates an output from content blocks for the model.
    pub fn blocks(content: Vec<UserBlock>) -> Self {
        Self { content, ..Self::default() }
    }

    /// Creates the output of a failed call, as the model sees it.
    pub fn error(message: impl Into<String>) -> Self {
        Self { details: Some(Value::Object(Map::new())), is_error: true, ..Self::text(message) }
    }

    /// Creates the output of a call that waits for a decision. Only events show the text.
    pub fn suspended(text: impl Into<String>) -> Self {
        Self { suspended: true, ..Self::text(text) }
    }

    /// Sets the details for the user interface.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Option<Value>>) -> Self {
        self.details = details.into();
        self
    }

    /// Sets the result as data.
    #[must_use]
    pub fn with_structured_content(mut self, content: impl Into<Option<Value>>) -> Self {
        self.structured_content = content.into();
        self
    }

    /// Sets whether the call failed.
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = is_error;
        self
    }

    /// Returns the size of the content for the model, in bytes.
    pub(crate) fn content_bytes(&self) -> u64 {
        let bytes = |block: &UserBlock| match block {
            UserBlock::Text(text) => text.text.len(),
            UserBlock::Image(image) => image.data.len(),
            UserBlock::Unknown(_) => 0,
        };
        self.content.iter().map(|block| bytes(block) as u64).sum()
    }

    /// Asks for the end of the run.
    #[must_use]
    pub fn terminating(mut self) -> Self {
        self.terminate = true;
        self
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
