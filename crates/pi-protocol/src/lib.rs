//! The vocabulary of pi.
//!
#![doc = include_str!("../README.md")]
//!
//! # Where to start reading
//!
//! - [`Message`] and [`AssistantMessage`]: the transcript;
//! - [`AssistantEvent`] and [`AssistantStream`]: one answer, as it arrives;
//! - [`MessageBuilder`]: builds both from the output of a provider;
//! - [`Provider`]: the one seam between an agent and any model.
//!
//! This crate must not know about HTTP, files, terminals, processes or an async runtime, so that
//! everything above it builds in seconds.

mod agent_message;
mod builder;
mod cancel;
mod content;
mod context;
mod debug;
mod declarations;
mod effects;
mod entry;
mod event;
mod extra;
mod history;
mod hooks;
pub mod json;
mod message;
mod model;
pub mod number;
mod options;
mod outcome;
mod output_schema;
mod partial_json;
mod provider;
mod rate_limits;
mod size;
mod stream;
mod thinking;
mod tool;
mod usage;

pub use agent_message::{AgentMessage, CustomMessage};
pub use builder::MessageBuilder;
pub use cancel::{CancelOnDrop, CancelRegistration, CancelToken, Cancelled};
pub use content::{
    AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock,
};
pub use context::Context;
pub use declarations::{Declarations, PlacedTools, ToolPlacement, render_system_update};
pub use effects::{Effects, EffectsOf, Extent, FileEffect, Summary};
pub use entry::{
    BranchSummary, Compaction, ContextEdit, CustomEntryMessage, Entry, EntryBody, Replacement,
    SessionHeader, UsageRecord,
};
pub use event::AssistantEvent;
pub use extra::Extra;
pub use history::History;
pub use hooks::{
    HeaderChanges, HeadersHook, HookFuture, HttpHeader, HttpResponseInfo, PayloadHook,
    ProviderEventHook, RequestHooks, ResponseHook,
};
pub use message::{
    AssistantMessage, Diagnostic, DiagnosticError, Message, MessageContent, RemovedTool,
    StopReason, SystemMessage, ToolResultMessage, UserContent, UserMessage, now_ms,
};
pub use model::{
    CostTier, ImageLimits, ImageResize, InputKind, InputLimits, Model, ModelCost, PromptCache,
};
pub use options::{
    Attribution, CacheRetention, EnvOverrides, Identity, RetryOptions, StreamOptions, Timeouts,
    ToolChoice, Transport,
};
pub use outcome::{Outcome, OutcomeRow, StopCause};
pub use output_schema::OutputSchema;
pub use partial_json::PartialJson;
pub use provider::{Provider, Request, complete};
pub use rate_limits::{RateLimit, RateLimits, UsageWindow};
pub use size::parse_size;
pub use stream::{AssistantStream, Source};
pub use thinking::{ThinkingBudgets, ThinkingLevel, TokenAllowance, UnknownThinkingLevel};
pub use tool::{ConstrainedSampling, GrammarVariants, StrictMode, Tool};
pub use usage::{Cost, Usage};
