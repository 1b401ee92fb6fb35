//! The merge table: one row per question, grouped by what is decided.

mod input;
mod project;
mod prompt;
mod request;
mod run;
mod session;
mod tool;

pub use input::{
    BashOperations, BashResult, Input, InputAction, InputSource, StreamingBehavior, UserBash,
    UserBashHandling,
};
pub use project::{
    DiscoverReason, DiscoveredResources, ProjectTrust, ResourcesDiscover, TrustDecision,
};
pub use prompt::{BeforePrompt, PromptBlock, PromptDecision};
pub(crate) use request::with_system;
pub use request::{
    BeforeProviderHeaders, BeforeProviderRequest, CacheWarming, CacheWarmingAction, Context,
    ContextMessages, ContextWithSystem, HeaderMap, Headers, Payload, Warming,
};
pub use run::{
    BeforeAgentStart, BeforeSettle, Boundary, BoundaryState, FirstMessage, MessageEnd,
    ReplacedMessage, RunOutcome, RunStart, TurnEnd,
};
pub use session::{
    BeforeCompact, BeforeFork, BeforeSwitch, BeforeTree, BranchSummaryText, Compaction,
    CompactionText, SwitchDecision, SwitchReason, TreeDecision,
};
pub use tool::{ToolCall, ToolDecision, ToolResult};
