//! Registered items that are plain records: tools, shortcuts, renderers, completions.

use std::fmt;
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture};
use pi_config::Exposure;
use serde_json::{Value, json};

use super::CommandHandler;
use super::loadout::PrepareLoadout;

/// A tool of an extension.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolRegistration {
    /// The tool.
    pub tool: Arc<dyn AgentTool>,
    /// The callers that can reach the tool.
    pub exposure: Exposure,
    /// Group of the tool, for tools of servers: an object with `name` and more.
    pub namespace: Option<Value>,
    /// Hints on what the tool does, as an object.
    pub annotations: Option<Value>,
    /// Schema of the structured content of results. Tools that call this one receive that content
    /// instead of the text.
    pub output_schema: Option<Value>,
    /// The model has the tool as soon as it is registered, if its exposure permits.
    pub default_active: bool,
    /// Name of the tool through which the model reaches this one. It becomes active as soon as this
    /// tool is registered.
    pub reached_through: Option<String>,
    /// The tool of `reached_through` becomes active. Otherwise the user decides about it.
    pub activates_route: bool,
    /// Changes how tools are declared while this tool is active.
    pub prepare_loadout: Option<PrepareLoadout>,
    /// The tool is a part of the program: the guard relies on the effects that it declares.
    pub(crate) is_internal: bool,
    /// The tool receives the final result of the session.
    pub(crate) receives_result: bool,
}

impl ToolRegistration {
    /// Registers a tool that the model can call.
    pub fn new(tool: Arc<dyn AgentTool>) -> Self {
        Self {
            tool,
            exposure: Exposure::Direct,
            namespace: None,
            annotations: None,
            output_schema: None,
            default_active: true,
            reached_through: None,
            activates_route: true,
            prepare_loadout: None,
            is_internal: false,
            receives_result: false,
        }
    }

    /// Returns true if the model has the tool as soon as it is registered.
    pub(crate) fn is_active_at_once(&self) -> bool {
        self.default_active && matches!(self.exposure, Exposure::Direct | Exposure::ModelOnly)
    }

    /// Marks a part of the program, such as the tool that starts a sub-agent: the guard relies on
    /// the effects that it declares, as for built-in tools. Not for tools of other authors.
    #[must_use]
    pub fn internal(mut self) -> Self {
        self.is_internal = true;
        self
    }

    /// Marks the internal tool that receives the final result of the session. No selection of tools
    /// leaves it out, and output guardrails check its arguments like an answer. Only the model can
    /// call it: the guardrails do not see the calls of scripts.
    #[must_use]
    pub fn receives_result(mut self) -> Self {
        self.receives_result = true;
        self.exposure = Exposure::ModelOnly;
        self.internal()
    }

    /// Sets the callers that can reach the tool.
    #[must_use]
    pub fn exposure(mut self, exposure: Exposure) -> Self {
        self.exposure = exposure;
        self
    }

    /// Sets the schema of the structured content of results.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Leaves the tool inactive until the user, the model or another tool activates it.
    #[must_use]
    pub fn inactive(mut self) -> Self {
        self.default_active = false;
        self
    }

    /// Names the tool through which the model reaches this one, such as `codemode` or
    /// `tool_search`. It becomes active as soon as this tool is registered.
    #[must_use]
    pub fn reached_through(mut self, tool: impl Into<String>) -> Self {
        self.reached_through = Some(tool.into());
        self
    }

    /// Sets the function that changes how tools are declared while this tool is active.
    #[must_use]
    pub fn prepare_loadout(mut self, prepare: PrepareLoadout) -> Self {
        self.prepare_loadout = Some(prepare);
        self
    }

    /// Sets the group of the tool.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(json!({ "name": namespace.into() }));
        self
    }
}

impl fmt::Debug for ToolRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRegistration")
            .field("name", &self.tool.declaration().name)
            .field("exposure", &self.exposure)
            .finish_non_exhaustive()
    }
}

/// A keyboard shortcut of an extension.
#[derive(Clone)]
pub struct Shortcut {
    /// Key in the notation of the key bindings, such as `ctrl+x`.
    pub key: String,
    /// Description for the user, in one line.
    pub description: Option<String>,
    /// Runs the shortcut; the text is empty.
    pub handler: CommandHandler,
}

pi_protocol::debug_fields!(Shortcut, key);

/// The subjects of a renderer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenderTarget {
    /// Messages of this custom type. The first renderer wins.
    Message(String),
    /// Entries of this custom type. The first renderer wins.
    Entry(String),
    /// Calls of this tool.
    Tool(String),
    /// Calls of all tools; asked before the renderers of one tool.
    AnyTool,
    /// Markdown text before it is drawn. All transformers are applied.
    Markdown,
}

/// A subject to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderRequest {
    /// The message, entry, call or text as JSON.
    pub subject: Value,
    /// Identifies the subject, so that a renderer can keep state for it.
    pub key: String,
    /// Width in columns.
    pub width: usize,
    /// The user expanded the subject.
    pub expanded: bool,
}

/// The drawing of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rendered {
    /// Styled lines of a message or an entry.
    Lines(Vec<String>),
    /// Styled lines of a tool call.
    Tool(RenderedTool),
    /// Text that replaces Markdown.
    Text(String),
}

/// The drawing of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedTool {
    /// The lines are drawn as they are, without the box of tool calls.
    pub is_unframed: bool,
    /// Lines of the call; `None` draws it as other calls.
    pub call: Option<Vec<String>>,
    /// Lines of the result; `None` draws it as other results.
    pub result: Option<Vec<String>>,
}

/// Draws a subject; `None` passes on to the next renderer, and at last to the screen.
///
/// Contract: returns within a few milliseconds. A renderer that is not ready returns `None` and
/// calls [`super::super::Ui::redraw_rendered`] when it is.
pub type Renderer = Arc<dyn Fn(&RenderRequest) -> Option<Rendered> + Send + Sync>;

/// A position in the editor to complete at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// Text of the editor.
    pub text: String,
    /// Byte offset of the cursor.
    pub cursor: usize,
    /// The user asked for completions.
    pub is_forced: bool,
}

/// A completion of the text in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Text that is inserted.
    pub value: String,
    /// Text that is shown.
    pub label: String,
    /// Text beside the label, in one line.
    pub description: Option<String>,
}

/// Completions for a position in the editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// Text before the cursor that a suggestion replaces.
    pub prefix: String,
    /// The suggestions, best first.
    pub items: Vec<Suggestion>,
}

/// A suggestion for a position in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The completion.
    pub completion: Completion,
    /// Bytes at the end of the inserted text that the cursor stays before.
    pub cursor_back: usize,
}

/// A source of completions for the editor; `None` leaves them to the next source, and at last to
/// the screen.
pub type CompletionProvider =
    Arc<dyn Fn(CompletionRequest) -> BoxFuture<'static, Option<Suggestions>> + Send + Sync>;
