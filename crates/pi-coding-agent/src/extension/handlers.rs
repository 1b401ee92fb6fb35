//! The typed adapter: an extension in Rust, made of functions.
//!
//! The type of a handler's first parameter says which question it answers:
//!
//! ```
//! use pi_coding_agent::extension::{Handlers, ToolCall, ToolDecision};
//!
//! let gate = Handlers::new("example:gate").on(|call: ToolCall, context| async move {
//!     let deletes = call.effects.runs.iter().any(|script| script.contains("rm "));
//!     if deletes && !context.ui().confirm("Delete files?", &call.tool_name).await {
//!         return Ok(ToolDecision::block("The user does not allow deleting files."));
//!     }
//!     Ok(ToolDecision::allow())
//! });
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture};

use super::{
    Answer, Ask, Command, Extension, ExtensionApi, ExtensionContext, ExtensionError,
    ExtensionEvent, LoadReason, Question, QuestionKind, RegistryError, Reply, ToolRegistration,
};
use crate::event::SessionEvent;

type Handler = Arc<
    dyn Fn(Question, ExtensionContext) -> BoxFuture<'static, Result<Answer, ExtensionError>>
        + Send
        + Sync,
>;
type EventHandler = Arc<
    dyn Fn(SessionEvent, ExtensionContext) -> BoxFuture<'static, Result<(), ExtensionError>>
        + Send
        + Sync,
>;
type Setup = Arc<dyn Fn(&ExtensionApi) -> Result<(), RegistryError> + Send + Sync>;

/// An extension made of functions.
#[derive(Clone)]
pub struct Handlers {
    path: String,
    questions: BTreeMap<QuestionKind, Handler>,
    events: Vec<EventHandler>,
    progress: bool,
    setup: Vec<Setup>,
}

impl Handlers {
    /// Creates an extension without handlers; `path` names it in reports.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            questions: BTreeMap::new(),
            events: Vec::new(),
            progress: false,
            setup: Vec::new(),
        }
    }

    /// Answers the questions of one type. A second handler of the same type replaces the first.
    #[must_use]
    pub fn on<Q, F, Fut>(mut self, handler: F) -> Self
    where
        Q: Ask,
        F: Fn(Q, ExtensionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Q::Answer, ExtensionError>> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |question, context| {
            let answered = Q::from_question(question).map(|question| handler(question, context));
            Box::pin(async move {
                match answered {
                    Some(answer) => answer.await.map(Q::into_answer),
                    None => Ok(Answer::NoOpinion),
                }
            })
        });
        self.questions.insert(Q::KIND, handler);
        self
    }

    /// Receives events, all but those of progress.
    #[must_use]
    pub fn on_event<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(SessionEvent, ExtensionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ExtensionError>> + Send + 'static,
    {
        self.events.push(Arc::new(move |event, context| Box::pin(handler(event, context))));
        self
    }

    /// Receives events of progress, too: every delta and every report of a tool.
    #[must_use]
    pub fn with_progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Lifts the time limit; see [`ExtensionApi::lift_time_limit`].
    #[must_use]
    pub fn without_time_limit(self) -> Self {
        self.setup(|api| {
            api.lift_time_limit();
            Ok(())
        })
    }

    /// Registers a tool.
    #[must_use]
    pub fn tool(self, tool: impl AgentTool + 'static) -> Self {
        let tool = ToolRegistration::new(Arc::new(tool));
        self.setup(move |api| api.register_tool(tool.clone()))
    }

    /// Registers a slash command.
    #[must_use]
    pub fn command(self, command: Command) -> Self {
        self.setup(move |api| api.register_command(command.clone()))
    }

    /// Registers anything else each time the extension is loaded.
    #[must_use]
    pub fn setup(
        mut self,
        setup: impl Fn(&ExtensionApi) -> Result<(), RegistryError> + Send + Sync + 'static,
    ) -> Self {
        self.setup.push(Arc::new(setup));
        self
    }
}

impl Extension for Handlers {
    fn path(&self) -> &str {
        &self.path
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, _reason: LoadReason) -> Reply<'a, ()> {
        Box::pin(async move {
            for kind in self.questions.keys() {
                api.answer(*kind);
            }
            if self.progress {
                api.receive_progress();
            }
            for setup in &self.setup {
                setup(api)?;
            }
            Ok(())
        })
    }

    fn on_event<'a>(
        &'a self,
        event: &'a ExtensionEvent<'a>,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            for handler in &self.events {
                handler(SessionEvent::clone(event), context.clone()).await?;
            }
            Ok(())
        })
    }

    fn ask<'a>(
        &'a self,
        question: Question,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        match self.questions.get(&question.kind()) {
            Some(handler) => handler(question, context.clone()),
            None => Box::pin(std::future::ready(Ok(Answer::NoOpinion))),
        }
    }
}

pi_protocol::debug_fields!(Handlers, path);
