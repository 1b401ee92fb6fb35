//! Extensions: code that takes part in a session.
//!
//! An extension receives every session event ([`ExtensionEvent`]) and answers questions ([`Question`]) where it may
//! decide. Both are owned data, so that built-ins, Rust programs and hosts of other languages use
//! the same small interface, [`Extension`]. In Rust, [`Handlers`] makes an extension of typed
//! functions. The answers of several extensions are merged by the table in `questions`. Tools,
//! commands, providers and everything else that an extension adds are in the [`Registry`].
//!
//! Every call into an extension is asynchronous and contained: a panic, a failure or an endless
//! wait concerns that call and nothing else.

mod contain;
mod context;
mod event;
mod handlers;
mod question;
mod questions;
mod registry;
mod runner;
mod ui;
mod ui_records;

use std::any::Any;
use std::sync::Arc;

use pi_agent::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

pub use context::{ExtensionApi, ExtensionContext, Handles};
pub use event::ExtensionEvent;
pub use handlers::Handlers;
pub use question::{
    Answer, Ask, Flow, MismatchedAnswer, OnFailure, Question, QuestionKind, STANDARD_TIME_LIMIT,
    TimeLimit,
};
pub(crate) use questions::with_system;
pub use questions::{
    BashOperations, BashResult, BeforeAgentStart, BeforeCompact, BeforeFork, BeforePrompt,
    BeforeProviderHeaders, BeforeProviderRequest, BeforeSettle, BeforeSwitch, BeforeTree, Boundary,
    BoundaryState, BranchSummaryText, CacheWarming, CacheWarmingAction, Compaction, CompactionText,
    Context, ContextMessages, ContextWithSystem, DiscoverReason, DiscoveredResources, FirstMessage,
    HeaderMap, Headers, Input, InputAction, InputSource, MessageEnd, Payload, ProjectTrust,
    PromptBlock, PromptDecision, ReplacedMessage, ResourcesDiscover, RunOutcome, RunStart,
    StreamingBehavior, SwitchDecision, SwitchReason, ToolCall, ToolDecision, ToolResult,
    TreeDecision, TrustDecision, TurnEnd, UserBash, UserBashHandling, Warming,
};
pub use registry::{
    ArgumentCompleter, CallableTool, Command, CommandHandler, Completion, CompletionProvider,
    CompletionRequest, Exposure, Flag, FlagKind, FlagValue, Loadout, LoadoutChange,
    McpRegistration, NamedCommand, Namespace, PrepareLoadout, ProviderRegistration, Registry,
    RegistryError, RenderRequest, RenderTarget, Rendered, RenderedTool, Renderer, Route,
    RouteReason, RouteRequest, Router, Shortcut, Suggestion, Suggestions, ToolRegistration,
    ToolWait, VIRTUAL_API, VirtualModel, WaitForTools, command_handler,
};
pub use runner::{Asked, ExtensionFailure, Extensions};
pub use ui::{
    Component, ComponentFactory, ComponentHandle, ComponentMessage, ComponentSlot, CustomOptions,
    Dialog, DialogAnswer, DialogOptions, ExtensionUi, FooterData, InputDecision, InputListener,
    InputSubscription, NoUi, NotifyKind, Theme, ThemeError, Ui, UiUpdate, WidgetPlacement,
};
pub(crate) use ui::{EmitEvent, UiApprover};
pub use ui_records::{UiRequest, dialog_answer};

/// The reply of an extension.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, ExtensionError>>;

/// Code that takes part in a session.
///
/// Contract: `path` returns at once and always the same text. The other methods may fail, panic or
/// wait; the session contains each call. Extensions are called in load order, one after another.
pub trait Extension: Any + Send + Sync {
    /// Returns the name of the extension in reports: its path, or `builtin:name`.
    fn path(&self) -> &str;

    /// Returns the origin of the extension: `path`, `source`, `scope`, `origin` and more.
    fn source_info(&self) -> Value {
        json!({
            "path": self.path(), "source": "builtin", "scope": "temporary", "origin": "top-level",
        })
    }

    /// Registers what the extension adds and the questions it answers. Called when a session is
    /// built and when extensions are reloaded.
    fn load<'a>(&'a self, api: &'a ExtensionApi, reason: LoadReason) -> Reply<'a, ()>;

    /// Receives the surroundings of the session that the extension was loaded for, before the
    /// first event. Called again after a reload.
    fn bind(&self, _context: &ExtensionContext) {}

    /// Ends what [`Extension::load`] began: loading failed, the session is replaced or ends, or its
    /// extensions are reloaded. No other method is called after it, until it is loaded again.
    fn unload(&self) {}

    /// Returns the numbers of the handlers for an event or a question, by its name. Each is called
    /// on its own, so that a failure concerns one handler, and one sees what those before it
    /// decided. All are called that existed when the event was emitted.
    fn handlers(&self, _name: &str) -> Vec<usize> {
        vec![0]
    }

    /// Receives an event in one of its handlers. Events of progress come only after
    /// [`ExtensionApi::receive_progress`].
    fn on_event<'a>(
        &'a self,
        _event: &'a ExtensionEvent<'a>,
        _handler: usize,
        _context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Answers a question that the extension declared with [`ExtensionApi::answer`], in one of its
    /// handlers.
    fn ask<'a>(
        &'a self,
        _question: Question,
        _handler: usize,
        _context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        Box::pin(std::future::ready(Ok(Answer::NoOpinion)))
    }
}

/// The occasion on which an extension is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadReason {
    /// A session is built: the first one, or one that replaces another.
    Session,
    /// The user asked for the current files.
    Reload,
}

/// A failure of an extension.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ExtensionError {
    message: String,
    #[source]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl ExtensionError {
    /// Creates a failure with a message for the user.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Wraps an error; its text is the message.
    pub fn with_source(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { message: error.to_string(), source: Some(Arc::new(error)) }
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<RegistryError> for ExtensionError {
    fn from(error: RegistryError) -> Self {
        Self::with_source(error)
    }
}

/// The mode in which the program runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names say it.
pub enum RunMode {
    Tui,
    Rpc,
    Json,
    #[default]
    Print,
}
