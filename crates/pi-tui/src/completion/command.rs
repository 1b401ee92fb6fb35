//! Commands as completions.

use crate::fuzzy::{Query, Score};

use super::{Completion, CompletionKind, Completions};

/// A command that can be completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The name without the slash: `model`, `skill:pdf`.
    pub name: String,
    /// The arguments: `<provider/model>`.
    pub hint: Option<String>,
    /// The explanation.
    pub description: String,
}

impl Command {
    /// Returns the hint and the explanation as one text.
    fn explanation(&self) -> Option<String> {
        match (&self.hint, self.description.as_str()) {
            (None, "") => None,
            (Some(hint), "") => Some(hint.clone()),
            (None, description) => Some(description.to_owned()),
            (Some(hint), description) => Some(format!("{hint} — {description}")),
        }
    }
}

/// Returns the commands that match the typed name, best first. A name with a prefix (`skill:pdf`)
/// is found by its last part, too.
pub fn completions(typed: &str, commands: &[Command]) -> Completions {
    let query = Query::new(typed);
    let score = |name: &str| -> Option<Score> {
        let bare = name.rsplit(':').next().unwrap_or(name);
        query.score(bare).or_else(|| query.score(name))
    };
    let mut matches: Vec<(Score, &Command)> =
        commands.iter().filter_map(|command| Some((score(&command.name)?, command))).collect();
    matches.sort_by_key(|(score, _)| *score);
    let items = matches.into_iter().map(|(_, command)| Completion {
        description: command.explanation(),
        ..Completion::new(command.name.as_str(), format!("/{} ", command.name))
    });
    Completions {
        kind: CompletionKind::Command,
        replaced: 0..typed.len() + 1,
        items: items.collect(),
        is_complete: true,
    }
}
