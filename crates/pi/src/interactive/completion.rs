//! Completions of the editor.

use pi_coding_agent::session::AgentSession;
use pi_tui::completion::{
    Completer, Completion, CompletionKind, CompletionRequest, Completions as Found,
};

use super::commands::COMMANDS;

/// The sources of completions.
#[derive(Debug, Default)]
pub(super) struct Completions {
    /// Names and descriptions of commands.
    commands: Vec<(String, String)>,
}

impl Completions {
    /// Reads the commands of the screen and of the session.
    pub(super) fn refresh(&mut self, session: &AgentSession) {
        let own = COMMANDS.iter().filter(|command| !command.is_hidden).map(|command| {
            let hint = command.arguments.map(|hint| format!("{hint} — ")).unwrap_or_default();
            (command.name.to_owned(), format!("{hint}{}", command.description))
        });
        let others = session.commands().into_iter();
        let others = others.map(|command| (command.name, command.description.unwrap_or_default()));
        self.commands = own.chain(others).collect();
    }
}

impl Completer for Completions {
    fn complete(&mut self, request: &CompletionRequest<'_>) -> Option<Found> {
        let before = request.before();
        let prefix = before.strip_prefix('/').filter(|_| request.line == 0)?;
        if prefix.contains(char::is_whitespace) {
            return None;
        }
        let matching = self.commands.iter().filter(|(name, _)| name.starts_with(prefix));
        let items: Vec<Completion> = matching
            .map(|(name, description)| {
                Completion::new(name.as_str(), format!("/{name} ")).described(description.as_str())
            })
            .collect();
        if items.is_empty() {
            return None;
        }
        let replaced = 0..before.len();
        Some(Found { kind: CompletionKind::Command, replaced, items, is_complete: true })
    }
}
