//! Extensions: code that takes part in a session.
//!
//! An extension hears what happens ([`Notice`]) and is asked where it may decide: one method per
//! question, each with an answer that changes nothing as its default. Built-ins, Rust programs and
//! hosts of other languages all implement the same trait. What several extensions answer is put
//! together in `runner`.

mod event;
mod runner;
mod ui;

use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture, Permission};
use pi_protocol::{AgentMessage, History};
use serde_json::Value;

pub use event::{
    BeforeAgentStart, BeforeCompact, BeforeFork, BeforeSwitch, BeforeTree, BoundaryAnswer,
    BoundaryEvent, CompactAnswer, DiscoveredPaths, Input, InputAnswer, Notice, StartAnswer,
    SwitchAnswer, ToolCallEvent, ToolResultEvent, TreeAnswer, TrustAnswer, UserBash,
};
pub use runner::{ExtensionFailure, Extensions};
pub use ui::{NoUi, Ui, WidgetPlacement};

use crate::session::WeakAgentSession;

/// What an extension answers.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ExtensionError>>;

/// An extension failed; the text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExtensionError(pub String);

/// A slash command of an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, for people.
    pub description: Option<String>,
}

/// Where an extension is.
#[derive(Clone)]
pub struct ExtensionContext {
    /// The session.
    pub session: WeakAgentSession,
    /// A way to ask the user.
    pub ui: Arc<dyn Ui>,
}

impl std::fmt::Debug for ExtensionContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExtensionContext").finish_non_exhaustive()
    }
}

/// Which of the frequent questions an extension wants to be asked; what nobody wants costs
/// nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interests {
    /// Notices about growing messages and running tools.
    pub progress: bool,
    /// [`Extension::context`] and [`Extension::context_with_system`], before every request.
    pub context: bool,
    /// [`Extension::message_end`], for every message.
    pub messages: bool,
    /// [`Extension::before_provider_request`], with every request body.
    pub requests: bool,
}

/// Code that takes part in a session.
///
/// Extensions are asked in the order in which they were added. A failure or panic is reported and
/// the next one is asked, except where it says otherwise.
pub trait Extension: Send + Sync {
    /// What it is called in reports: its path, or `builtin:name`.
    fn path(&self) -> &str;

    /// What it wants to be asked often.
    fn interests(&self) -> Interests {
        Interests::default()
    }

    /// Tools it brings. One with the name of a built-in takes its place.
    fn tools(&self) -> Vec<Arc<dyn AgentTool>> {
        Vec::new()
    }

    /// Slash commands it brings.
    fn commands(&self) -> Vec<ExtensionCommand> {
        Vec::new()
    }

    /// Runs one of its commands.
    fn run_command<'a>(
        &'a self,
        _name: &'a str,
        _arguments: &'a str,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, ()> {
        ready(())
    }

    /// Something happened.
    fn notice<'a>(
        &'a self,
        _notice: &'a Notice<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, ()> {
        ready(())
    }

    /// May files of this project be used? The first who knows decides.
    fn project_trust<'a>(&'a self, _cwd: &'a str, _ui: &'a dyn Ui) -> Answer<'a, TrustAnswer> {
        ready(TrustAnswer::Undecided)
    }

    /// More places with resources.
    fn resources_discover<'a>(
        &'a self,
        _cwd: &'a str,
        _reason: &'a str,
    ) -> Answer<'a, DiscoveredPaths> {
        ready(DiscoveredPaths::default())
    }

    /// Another session is about to take the place of this one.
    fn before_switch<'a>(
        &'a self,
        _event: &'a BeforeSwitch,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, SwitchAnswer> {
        ready(SwitchAnswer::default())
    }

    /// The session is about to be forked.
    fn before_fork<'a>(
        &'a self,
        _event: &'a BeforeFork,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, SwitchAnswer> {
        ready(SwitchAnswer::default())
    }

    /// The session is about to be compacted.
    fn before_compact<'a>(
        &'a self,
        _event: &'a BeforeCompact<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, CompactAnswer> {
        ready(CompactAnswer::Proceed)
    }

    /// The user is about to go elsewhere in the tree.
    fn before_tree<'a>(
        &'a self,
        _event: &'a BeforeTree<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, TreeAnswer> {
        ready(TreeAnswer::default())
    }

    /// The messages of a request, system messages left out; others in their place if not `None`.
    fn context<'a>(
        &'a self,
        _messages: &'a [AgentMessage],
        _context: &'a ExtensionContext,
    ) -> Answer<'a, Option<Vec<AgentMessage>>> {
        ready(None)
    }

    /// The messages of a request with the system messages, after all of [`Extension::context`].
    fn context_with_system<'a>(
        &'a self,
        _messages: &'a History<AgentMessage>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, Option<Vec<AgentMessage>>> {
        ready(None)
    }

    /// The body of a request; another in its place if not `None`. Not async: it is asked while
    /// the request is being encoded.
    fn before_provider_request(&self, _payload: &Value) -> Result<Option<Value>, ExtensionError> {
        Ok(None)
    }

    /// A run is about to begin.
    fn before_agent_start<'a>(
        &'a self,
        _event: &'a BeforeAgentStart<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, StartAnswer> {
        ready(StartAnswer::default())
    }

    /// A turn is over: entries to add, and whether to go on.
    fn turn_end<'a>(
        &'a self,
        _event: &'a BoundaryEvent<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, BoundaryAnswer> {
        ready(BoundaryAnswer::default())
    }

    /// Nothing is left to do: entries to add, and whether to go on all the same.
    fn agent_before_settle<'a>(
        &'a self,
        _event: &'a BoundaryEvent<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, BoundaryAnswer> {
        ready(BoundaryAnswer::default())
    }

    /// A message is complete; another of the same role in its place if not `None`.
    fn message_end<'a>(
        &'a self,
        _message: &'a AgentMessage,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, Option<AgentMessage>> {
        ready(None)
    }

    /// A tool is about to run. A failure blocks the call.
    fn tool_call<'a>(
        &'a self,
        _event: &'a ToolCallEvent<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, Permission> {
        ready(Permission::default())
    }

    /// A tool has run.
    fn tool_result<'a>(
        &'a self,
        _event: &'a ToolResultEvent<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, pi_agent::OutputChange> {
        ready(pi_agent::OutputChange::default())
    }

    /// The user runs a command; the result if the extension ran it itself. A failure stops it.
    fn user_bash<'a>(
        &'a self,
        _event: &'a UserBash<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, Option<crate::session::BashResult>> {
        ready(None)
    }

    /// The user said something.
    fn input<'a>(
        &'a self,
        _event: &'a Input<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, InputAnswer> {
        ready(InputAnswer::Continue)
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}
