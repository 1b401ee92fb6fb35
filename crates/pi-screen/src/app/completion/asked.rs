//! Completions of extensions, which answer some time later.
//!
//! Only the answer to the last question is kept. An answer to an older one is dropped.

use pi_coding_agent::extension::{
    Completion as Offered, CompletionProvider, CompletionRequest as Question, Suggestion,
    Suggestions,
};
use pi_coding_agent::session::AgentSession;
use pi_tui::completion::{Completion, CompletionKind, CompletionRequest, Completions as Found};

use crate::app::App;
use crate::tasks::Tasks;

/// Completions of extensions.
pub(super) struct Asked {
    tasks: Tasks<App>,
    providers: Vec<CompletionProvider>,
    /// The last question about arguments of a command, and about other text.
    arguments: Slot<Vec<Completion>>,
    suggestions: Slot<Option<Suggestions>>,
}

/// The last question and its answer.
struct Slot<T> {
    question: String,
    answer: Option<T>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { question: String::new(), answer: None }
    }
}

/// The state of what extensions offer for a text.
pub(super) enum Provided {
    Found(Found),
    /// No answer has come yet.
    Waiting,
    /// Extensions offer nothing.
    Passed,
}

impl Asked {
    pub(super) fn new(tasks: Tasks<App>) -> Self {
        Self {
            tasks,
            providers: Vec::new(),
            arguments: Slot::default(),
            suggestions: Slot::default(),
        }
    }

    /// Uses the sources that the extensions of a session registered.
    pub(super) fn forget(&mut self, session: &AgentSession) {
        self.providers = session.extensions().registry().completions();
        self.arguments = Slot::default();
        self.suggestions = Slot::default();
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
        if self.arguments.question != key {
            self.arguments = Slot { question: key.clone(), answer: None };
            let answered = async move { completer(asked).await };
            self.tasks.spawn(answered, move |app, offered| {
                let slot = &mut app.completions.asked.arguments;
                if slot.question == key {
                    slot.answer = Some(offered.into_iter().map(item).collect());
                    super::refresh(app);
                }
            });
        }
        let items = self.arguments.answer.clone().unwrap_or_default();
        let is_complete = self.arguments.answer.is_some();
        let replaced = start..start + text.len();
        Some(Found { kind: CompletionKind::Argument, replaced, items, is_complete })
    }

    /// Returns what the sources of extensions offer for a text.
    pub(super) fn provided(&mut self, request: &CompletionRequest<'_>) -> Provided {
        let before = request.before();
        if self.providers.is_empty() || before.trim().is_empty() && !request.is_forced {
            return Provided::Passed;
        }
        let above = request.lines.get(..request.line).unwrap_or_default();
        let cursor = above.iter().map(|line| line.len() + 1).sum::<usize>() + request.column;
        let text = request.lines.join("\n");
        let question = Question { text, cursor, is_forced: request.is_forced };
        let key = format!("{}\0{}\0{}", question.cursor, question.is_forced, question.text);
        if self.suggestions.question != key {
            self.suggestions = Slot { question: key.clone(), answer: None };
            // The last one that was added wraps those before it.
            let providers: Vec<CompletionProvider> = self.providers.iter().rev().cloned().collect();
            let answered = async move {
                for provider in providers {
                    if let Some(suggestions) = provider(question.clone()).await {
                        return Some(suggestions);
                    }
                }
                None
            };
            self.tasks.spawn(answered, move |app, suggestions| {
                let slot = &mut app.completions.asked.suggestions;
                if slot.question == key {
                    slot.answer = Some(suggestions);
                    super::refresh(app);
                }
            });
        }
        match &self.suggestions.answer {
            None => Provided::Waiting,
            Some(None) => Provided::Passed,
            Some(Some(Suggestions { prefix, items })) => {
                let start = match before.ends_with(prefix.as_str()) {
                    true => request.column - prefix.len(),
                    false => request.column,
                };
                let items = items.iter().cloned().map(suggested).collect();
                Provided::Found(Found {
                    kind: CompletionKind::Argument,
                    replaced: start..request.column,
                    items,
                    is_complete: true,
                })
            }
        }
    }
}

fn item(offered: Offered) -> Completion {
    Completion { description: offered.description, ..Completion::new(offered.label, offered.value) }
}

fn suggested(suggestion: Suggestion) -> Completion {
    let caret_back = suggestion.cursor_back.min(suggestion.completion.value.len());
    Completion { caret_back, ..item(suggestion.completion) }
}
