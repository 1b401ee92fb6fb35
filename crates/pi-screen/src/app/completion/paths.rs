//! Paths on Tab: the entries of one directory.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pi_tui::completion::{Completion, CompletionKind, Completions as Found, Token, path};

use super::Places;

/// Time for which the entries of a directory are not read again.
const FRESH: Duration = Duration::from_secs(2);

/// The most paths that are offered.
const MOST_SHOWN: usize = 200;

/// The directory that was read last.
#[derive(Debug, Default)]
pub(super) struct Paths {
    read: Option<(PathBuf, Instant, Vec<Name>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// Directories come first.
    is_file: bool,
    name: String,
}

impl Paths {
    pub(super) fn complete(
        &mut self,
        token: &Token<'_>,
        column: usize,
        places: &Places,
    ) -> Option<Found> {
        if token.text == "~" {
            let items = vec![path::completion(token, "~", "~", true)];
            return super::found(CompletionKind::Path, token.start..column, items);
        }
        let (directory, head, typed) = places.split(token.text);
        let typed = typed.to_lowercase();
        let names = self.read(&directory).iter();
        let matching = names.filter(|name| name.name.to_lowercase().starts_with(&typed));
        let items: Vec<Completion> = matching
            .take(MOST_SHOWN)
            .map(|name| {
                path::completion(token, &name.name, &format!("{head}{}", name.name), !name.is_file)
            })
            .collect();
        super::found(CompletionKind::Path, token.start..column, items)
    }

    fn read(&mut self, directory: &Path) -> &[Name] {
        let is_fresh = self
            .read
            .as_ref()
            .is_some_and(|(read, at, _)| read == directory && at.elapsed() < FRESH);
        if !is_fresh {
            self.read = Some((directory.to_owned(), Instant::now(), names(directory)));
        }
        self.read.as_ref().map_or(&[], |(_, _, names)| names)
    }
}

fn names(directory: &Path) -> Vec<Name> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<Name> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            // A link to a directory is one.
            let is_file = !entry.path().is_dir();
            (!name.contains(char::is_control)).then_some(Name { is_file, name })
        })
        .collect();
    names.sort();
    names
}
