//! Records of the protocol, as JSON. Client and server use the same ones.
//!
//! The records accept what real programs send: unknown fields are kept in `extra`, unknown kinds of
//! content are kept whole. Nothing here does I/O or knows a transport.

pub mod capabilities;
pub mod completion;
pub mod content;
pub mod elicitation;
pub mod errors;
pub mod input;
pub mod lists;
pub mod logging;
pub mod meta;
pub mod methods;
pub mod progress;
pub mod prompts;
pub mod resources;
pub mod roots;
pub mod sampling;
pub mod start;
pub mod subscriptions;
pub mod tasks;
pub mod tools;
pub mod versions;

pub use capabilities::{
    ClientCapabilities, Elicitation, ListChanged, Sampling, ServerCapabilities,
};
pub use completion::{CompleteParams, CompleteResult, Completion, CompletionReference};
pub use content::{ContentBlock, ResourceContents};
pub use elicitation::{ElicitAction, ElicitParams, ElicitResult};
pub use input::{InputRequest, InputRequired};
pub use lists::{CacheScope, Page};
pub use logging::{LogMessage, LoggingLevel};
pub use progress::Progress;
pub use prompts::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
pub use resources::{ReadResourceResult, Resource, ResourceTemplate};
pub use roots::{ListRootsResult, Root};
pub use sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
pub use start::{DiscoverResult, Implementation, InitializeResult};
pub use subscriptions::SubscriptionFilter;
pub use tasks::{Task, TaskStatus};
pub use tools::{CallToolResult, Tool, ToolAnnotations, ToolExecution};
pub use versions::Era;

/// Fields that a record has no name for.
pub type Extra = serde_json::Map<String, serde_json::Value>;
