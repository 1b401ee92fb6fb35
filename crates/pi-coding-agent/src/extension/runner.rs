//! All extensions of a session as one: asked in load order, their answers merged by the table.
//!
//! Every call is contained. A failure is returned to the caller, which reports it; only questions
//! whose row says so stop at a failure.

use std::sync::Arc;
use std::time::Duration;

use super::contain::contain;
use super::question::STANDARD_TIME_LIMIT;
use super::ui::DialogCounter;
use super::{
    Ask, Extension, ExtensionApi, ExtensionContext, ExtensionError, ExtensionEvent, Flow,
    LoadReason, OnFailure, Registry, TimeLimit,
};
use crate::Diagnostic;
use crate::event::SessionEvent;

/// A failure of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionFailure {
    /// Path of the extension.
    pub extension: String,
    /// Event or question during which the extension failed.
    pub event: String,
    /// Error message.
    pub error: String,
}

impl ExtensionFailure {
    /// Returns the failure as a problem for the user.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let Self { extension, event, error } = self;
        if event == "load" {
            let message = format!("Failed to load extension \"{extension}\": {error}");
            return Diagnostic::error(None, message);
        }
        Diagnostic::warning(None, format!("Extension error ({extension}) in {event}: {error}"))
    }

    pub(crate) fn from_parts(extension: &str, event: &str, error: &str) -> Self {
        Self { extension: extension.to_owned(), event: event.to_owned(), error: error.to_owned() }
    }

    pub(crate) fn new(extension: &str, event: &str, error: &ExtensionError) -> Self {
        Self {
            extension: extension.to_owned(),
            event: event.to_owned(),
            error: error.message().to_owned(),
        }
    }
}

/// The outcome of a question.
#[derive(Debug)]
pub struct Asked<Q: Ask> {
    /// The question with the changes that extensions made to it.
    pub question: Q,
    /// The merged answer; the failure if it stopped the question.
    pub answer: Result<Q::Answer, ExtensionFailure>,
    /// Failures to report. One that stopped the question is not among them.
    pub failures: Vec<ExtensionFailure>,
}

/// The extensions of a session.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Extensions of the session itself, which a reload keeps.
    builtins: Vec<Arc<dyn Extension>>,
    registry: Registry,
}

impl Extensions {
    /// Loads extensions in order. One that fails is left out, with everything it registered.
    pub async fn load(all: Vec<Arc<dyn Extension>>) -> (Self, Vec<ExtensionFailure>) {
        let mut loaded = Self::default();
        let mut failures = Vec::new();
        for extension in all {
            failures.extend(loaded.add(extension).await);
        }
        (loaded, failures)
    }

    /// Loads one more extension. Returns the failure if it cannot be loaded.
    pub async fn add(&mut self, extension: Arc<dyn Extension>) -> Option<ExtensionFailure> {
        load_one(extension, &self.registry, LoadReason::Session).await
    }

    /// Loads an extension of the session itself, which a reload keeps.
    pub(crate) async fn add_builtin(
        &mut self,
        extension: Arc<dyn Extension>,
    ) -> Option<ExtensionFailure> {
        self.builtins.push(Arc::clone(&extension));
        self.add(extension).await
    }

    /// Replaces all extensions. Everything that they registered is dropped.
    pub(crate) async fn reload(&self, new: Vec<Arc<dyn Extension>>) -> Vec<ExtensionFailure> {
        let fresh = Registry::default();
        let mut failures = Vec::new();
        self.unload();
        for extension in new.into_iter().chain(self.builtins.iter().cloned()) {
            failures.extend(load_one(extension, &fresh, LoadReason::Reload).await);
        }
        self.registry.replace_with(&fresh);
        failures
    }

    /// Hands the surroundings of the session to the extensions that are loaded.
    pub(crate) fn bind(&self, context: &ExtensionContext) {
        for extension in self.registry.receiving(false) {
            extension.bind(&context.for_extension(extension.path()));
        }
    }

    /// Unloads all extensions: their session has ended or is reloaded.
    pub(crate) fn unload(&self) {
        for extension in self.registry.extensions() {
            extension.unload();
        }
    }

    /// Returns true if an extension receives an event of progress.
    pub(crate) fn receives(&self, progress: &str) -> bool {
        let receiving = self.registry.receiving(true);
        receiving.iter().any(|extension| !extension.handlers(progress).is_empty())
    }

    /// Returns true if this extension is loaded.
    pub(crate) fn contains(&self, extension: &Arc<dyn Extension>) -> bool {
        self.registry.extensions().iter().any(|other| Arc::ptr_eq(other, extension))
    }

    /// Returns the registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Asks a question and merges the answers.
    pub async fn ask<Q: Ask>(&self, mut question: Q, context: &ExtensionContext) -> Asked<Q> {
        let mut answer = Q::Answer::default();
        let mut failures = Vec::new();
        let answering = self.registry.answering(Q::KIND);
        for (extension, handler) in with_handlers(&answering, Q::KIND.name()) {
            let path = extension.path();
            let context = context.for_extension(path);
            let asked = extension.ask(question.clone().into_question(), handler, &context);
            let limit = match Q::TIME_LIMIT {
                TimeLimit::Standard => self.limit_of(path),
                TimeLimit::Unlimited => None,
            };
            let replied = contain(asked, limit, context.dialogs()).await;
            let replied = replied.and_then(|reply| {
                Q::from_answer(reply).map_err(|error| ExtensionError::new(error.to_string()))
            });
            let failure = match replied {
                Ok(None) => continue,
                Ok(Some(reply)) => match question.merge(&mut answer, reply) {
                    Flow::Next => continue,
                    Flow::Stop => break,
                    Flow::Invalid(problem) => {
                        let error = ExtensionError::new(problem);
                        failures.push(ExtensionFailure::new(path, Q::KIND.name(), &error));
                        continue;
                    }
                },
                Err(error) => ExtensionFailure::new(path, Q::KIND.name(), &error),
            };
            if Q::ON_FAILURE == OnFailure::Stop {
                return Asked { question, answer: Err(failure), failures };
            }
            failures.push(failure);
        }
        Asked { question, answer: Ok(answer), failures }
    }

    /// Sends an event to every extension that receives it.
    pub async fn notify(
        &self,
        event: &SessionEvent,
        context: &ExtensionContext,
    ) -> Vec<ExtensionFailure> {
        let mut failures = Vec::new();
        let name = event.extension_event_name();
        let receiving = self.registry.receiving(event.is_progress());
        let event = ExtensionEvent::new(event);
        for (extension, handler) in with_handlers(&receiving, name) {
            let context = context.for_extension(extension.path());
            let handled = extension.on_event(&event, handler, &context);
            let limit = self.limit_of(extension.path());
            if let Err(error) = contain(handled, limit, context.dialogs()).await {
                failures.push(ExtensionFailure::new(extension.path(), name, &error));
            }
        }
        failures
    }

    /// Runs a slash command. `None` if there is none of this name.
    pub async fn run_command(
        &self,
        name: &str,
        arguments: &str,
        context: &ExtensionContext,
    ) -> Option<Result<(), ExtensionFailure>> {
        let found = self.registry.find_command(name)?;
        let context = context.for_extension(&found.owner);
        let running = (found.command.handler)(arguments.to_owned(), context.clone());
        // The user waits for a command and can abort it.
        let ended = contain(running, None, context.dialogs()).await;
        Some(
            ended.map_err(|error| {
                ExtensionFailure::new(&format!("command:{name}"), "command", &error)
            }),
        )
    }

    /// Runs a keyboard shortcut. `None` if the key, as it was registered, has none.
    pub async fn run_shortcut(
        &self,
        key: &str,
        context: &ExtensionContext,
    ) -> Option<Result<(), ExtensionFailure>> {
        let (owner, shortcut) = self.registry.find_shortcut(key)?;
        let context = context.for_extension(&owner);
        let running = (shortcut.handler)(String::new(), context.clone());
        let ended = contain(running, None, context.dialogs()).await;
        Some(ended.map_err(|error| ExtensionFailure::new(&owner, "shortcut", &error)))
    }

    /// Returns the time limit of an extension; `None` if it has none.
    fn limit_of(&self, path: &str) -> Option<Duration> {
        if self.registry.is_unlimited(path) { None } else { Some(STANDARD_TIME_LIMIT) }
    }
}

/// Returns the handlers of extensions for a name, in order, as they are now.
fn with_handlers<'a>(
    extensions: &'a [Arc<dyn Extension>],
    name: &str,
) -> Vec<(&'a Arc<dyn Extension>, usize)> {
    let mut found = Vec::new();
    for extension in extensions {
        found.extend(extension.handlers(name).into_iter().map(|handler| (extension, handler)));
    }
    found
}

async fn load_one(
    extension: Arc<dyn Extension>,
    registry: &Registry,
    reason: LoadReason,
) -> Option<ExtensionFailure> {
    let path = extension.path();
    let api = ExtensionApi::new(path, registry);
    match contain(
        extension.load(&api, reason),
        Some(STANDARD_TIME_LIMIT),
        &DialogCounter::default(),
    )
    .await
    {
        Ok(()) => {
            registry.add_extension(Arc::clone(&extension));
            None
        }
        Err(error) => {
            registry.remove_owner(path);
            extension.unload();
            Some(ExtensionFailure::new(path, "load", &error))
        }
    }
}

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Extensions").field(&self.registry).finish()
    }
}
