//! Files after `@`: listed and compared in the background.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pi_tui::completion::{Completion, CompletionKind, Completions as Found, Token, path};

use super::listing::{Entry, Listed, Reach, list};
use super::{Places, rank};
use crate::app::App;
use crate::tasks::Tasks;

/// Age of a listing after which the directory is listed again.
const FRESH: Duration = Duration::from_secs(3);

/// The most files that are compared on the thread of the screen.
const FEW: usize = 2_000;

/// Files for completions.
pub(super) struct Files {
    tasks: Tasks<App>,
    listed: Listed,
    /// The listing that is being made.
    walk: Option<Arc<AtomicBool>>,
    /// The last text and the files for it.
    ranked: Option<Ranked>,
    /// The text that is being compared on another thread.
    ranking: Option<String>,
}

struct Ranked {
    text: String,
    items: Vec<Entry>,
}

/// What is typed: a directory and a text that files in it match.
struct Typed<'a> {
    directory: std::path::PathBuf,
    /// The directory as it is typed, with a slash at its end, or nothing.
    head: &'a str,
    text: &'a str,
}

impl Files {
    pub(super) fn new(tasks: Tasks<App>) -> Self {
        Self { tasks, listed: Listed::default(), walk: None, ranked: None, ranking: None }
    }

    pub(super) fn complete(
        &mut self,
        token: &Token<'_>,
        column: usize,
        places: &Places,
    ) -> Option<Found> {
        let typed = typed(token.text, places);
        self.watch(&typed.directory);
        let is_current = self.rank(typed.text);
        let entries = match &self.ranked {
            Some(ranked) if is_current => ranked.items.clone(),
            // What is known already, until the others arrive.
            Some(ranked) => rank::best(typed.text, &ranked.items),
            None => Vec::new(),
        };
        let items: Vec<Completion> =
            entries.iter().map(|entry| item(token, typed.head, entry)).collect();
        let is_complete = is_current && self.listed.complete_at.is_some();
        if items.is_empty() && is_complete {
            return None;
        }
        Some(Found {
            kind: CompletionKind::File,
            replaced: token.start..column,
            items,
            is_complete,
        })
    }

    /// Lists a directory if that was not done, or too long ago.
    fn watch(&mut self, directory: &Path) {
        if self.listed.directory != directory {
            if let Some(walk) = self.walk.take() {
                walk.store(true, Ordering::Relaxed);
            }
            self.listed = Listed { directory: directory.to_owned(), ..Listed::default() };
            self.ranked = None;
            self.start(Reach::Shallow);
        } else if self.walk.is_none()
            && self.listed.complete_at.is_none_or(|at| at.elapsed() > FRESH)
        {
            self.start(Reach::Deep);
        }
    }

    fn start(&mut self, reach: Reach) {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        self.walk = Some(Arc::clone(&is_cancelled));
        let (directory, cancelled) = (self.listed.directory.clone(), Arc::clone(&is_cancelled));
        let work = move || list(&directory, reach, &cancelled);
        self.tasks.spawn_blocking(work, move |app, entries| {
            if is_cancelled.load(Ordering::Relaxed) {
                return;
            }
            app.completions.files.listed(entries, reach);
            super::refresh(app);
        });
    }

    fn listed(&mut self, entries: Vec<Entry>, reach: Reach) {
        self.walk = None;
        // An old listing knows more than the first part of a new one.
        self.listed.entries = entries.into();
        self.ranked = None;
        match reach {
            Reach::Shallow => self.start(Reach::Deep),
            Reach::Deep => self.listed.complete_at = Some(Instant::now()),
        }
    }

    /// Compares the files with a text. Returns true if the result is there.
    fn rank(&mut self, text: &str) -> bool {
        if self.ranked.as_ref().is_some_and(|ranked| ranked.text == text) {
            return true;
        }
        if self.listed.entries.len() <= FEW {
            let items = rank::best(text, &self.listed.entries);
            self.ranked = Some(Ranked { text: text.to_owned(), items });
            return true;
        }
        if self.ranking.is_none() {
            self.ranking = Some(text.to_owned());
            let (entries, text) = (Arc::clone(&self.listed.entries), text.to_owned());
            let compare = move || {
                let items = rank::best(&text, &entries);
                (text, entries, items)
            };
            self.tasks.spawn_blocking(compare, |app, (text, entries, items)| {
                let files = &mut app.completions.files;
                files.ranking = None;
                if Arc::ptr_eq(&files.listed.entries, &entries) {
                    files.ranked = Some(Ranked { text, items });
                }
                // Asks for the text that is there now.
                super::refresh(app);
            });
        }
        false
    }
}

/// Splits what is typed. A directory that does not exist is part of the text.
fn typed<'a>(text: &'a str, places: &Places) -> Typed<'a> {
    let (directory, head, rest) = places.split(text);
    if head.is_empty() || directory.is_dir() {
        return Typed { directory, head, text: rest };
    }
    Typed { directory: places.cwd.clone(), head: "", text }
}

fn item(token: &Token<'_>, head: &str, entry: &Entry) -> Completion {
    let path = format!("{head}{}", entry.path);
    let item = path::completion(token, entry.name(), &path, entry.is_directory);
    item.described(path)
}
