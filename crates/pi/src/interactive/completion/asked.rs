//! Completions of extensions, which answer some time later.
//!
//! Only the answer to the last question is kept. An answer to an older one is dropped.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{
    Completion as Offered, CompletionProvider, CompletionRequest as Question,
};
use pi_coding_agent::session::AgentSession;
use pi_tui::completion::{
    Completion, CompletionKind, CompletionRequest, Completions as Found, context,
};

use super::super::tasks::Tasks;

/// Completions of extensions.
pub(super) struct Asked {
    tasks: Tasks,
    providers: Vec<CompletionProvider>,
    question: String,
    answer: Option<Vec<Completion>>,
}

impl Asked {
    pub(super) fn new(tasks: Tasks) -> Self {
        Self { tasks, providers: Vec::new(), question: String::new(), answer: None }
    }

    /// Uses the sources that the extensions of a session registered.
    pub(super) fn forget(&mut self, session: &AgentSession) {
        self.providers = session.extensions().registry().completions();
        self.question.clear();
        self.answer = None;
    }

    pub(super) fn add_provider(&mut self, provider: CompletionProvider) {
        self.providers.push(provider);
    }

    /// Returns the arguments that the extension of a command offers.
    pub(super) fn arguments(
        &mut self,
        session: &AgentSession,
        command: &str,
        text: &str,
        start: usize,
    ) -> Option<Found> {
        let commands = session.extensions().registry().commands();
        let named = commands.into_iter().find(|named| named.name == command)?;
        let completer = named.command.completer?;
        let (key, asked) = (format!("/{command} {text}"), text.to_owned());
        self.ask(key, move || completer(asked));
        Some(self.found(CompletionKind::Argument, start..start + text.len()))
    }

    /// Returns what the sources of extensions offer for a word.
    pub(super) fn provided(&mut self, request: &CompletionRequest<'_>) -> Option<Found> {
        let before = request.before();
        if self.providers.is_empty() || before.trim().is_empty() {
            return None;
        }
        let token = context::token(before);
        let above = request.lines.get(..request.line).unwrap_or_default();
        let cursor = above.iter().map(|line| line.len() + 1).sum::<usize>() + request.column;
        let question = Question { text: request.lines.join("\n"), cursor };
        let providers = self.providers.clone();
        let key = format!("{}\0{}", question.cursor, question.text);
        self.ask(key, move || {
            Box::pin(async move {
                let mut offered = Vec::new();
                for provider in providers {
                    offered.extend(provider(question.clone()).await);
                }
                offered
            })
        });
        Some(self.found(CompletionKind::Argument, token.start..request.column))
    }

    fn found(&self, kind: CompletionKind, replaced: std::ops::Range<usize>) -> Found {
        let items = self.answer.clone().unwrap_or_default();
        Found { kind, replaced, items, is_complete: self.answer.is_some() }
    }

    /// Asks, unless this is the question that was asked last.
    fn ask(&mut self, key: String, start: impl FnOnce() -> BoxFuture<'static, Vec<Offered>>) {
        if self.question == key {
            return;
        }
        self.question.clone_from(&key);
        self.answer = None;
        let key: Arc<str> = key.into();
        self.tasks.spawn(start(), move |app, offered| {
            let asked = &mut app.completions.asked;
            if *asked.question == *key {
                asked.answer = Some(offered.into_iter().map(item).collect());
                super::refresh(app);
            }
        });
    }
}

fn item(offered: Offered) -> Completion {
    Completion { description: offered.description, ..Completion::new(offered.label, offered.value) }
}
