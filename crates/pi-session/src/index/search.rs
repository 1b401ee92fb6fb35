//! Searching all sessions.
//!
//! Candidates come from the text that is kept, or from a session's file if none is. What is
//! reported has been found in the file itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::SessionIndex;
use super::query::{Query, Snippet, Terms};
use super::record::Record;
use super::text::{Pieces, TextReader};
use crate::SessionError;
use crate::info::{self, Scan, SessionInfo};
use crate::log::Span;
use crate::searchable::{Glimpse, TextKind};

/// How often a search begins anew because a file turned out to be another than it was.
const ATTEMPTS: usize = 3;

/// What to search, and for how much.
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// Only sessions that run in this directory.
    pub cwd: Option<PathBuf>,
    /// At most so many hits; `None` for all.
    pub limit: Option<usize>,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct SearchResults {
    /// The sessions, best first.
    pub hits: Vec<SearchHit>,
    /// What could not be read, and so was not searched.
    pub problems: Vec<SessionError>,
}

/// A session in which something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The session.
    pub session: SessionInfo,
    /// The entry in which most of it was found, the latest of several. Entries of files of
    /// version 1 have no ids.
    pub entry_id: Option<String>,
    /// What its text is.
    pub kind: TextKind,
    /// Milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// What its text says there.
    pub snippet: Snippet,
}

/// The best entry of a session that has all terms.
struct Candidate {
    session: SessionInfo,
    /// The key of its record.
    key: OsString,
    line: Span,
    terms: Terms,
}

/// What has been found in a session so far.
#[derive(Default)]
struct Found {
    terms: Terms,
    best: Option<(Span, Terms)>,
}

impl Found {
    fn add(&mut self, line: Span, terms: Terms) {
        self.terms |= terms;
        if self.best.is_none_or(|(_, best)| best.count_ones() <= terms.count_ones()) {
            self.best = Some((line, terms));
        }
    }
}

impl SessionIndex {
    /// Searches everything that people wrote or were told; see [`TextKind`].
    ///
    /// Words are separated by spaces and found as parts of words, whatever their case; text in
    /// quotation marks is found as it is. All of them must occur in a session, though not
    /// in one entry. There is one hit per session, those first in which one entry has the most of
    /// it, and then those first that were modified last.
    pub fn search(&mut self, query: &str, options: &SearchOptions) -> SearchResults {
        let Some(query) = Query::parse(query) else { return SearchResults::default() };
        let mut found = SearchResults::default();
        for _ in 0..ATTEMPTS {
            let problems = self.refresh(true);
            found = SearchResults { hits: Vec::new(), problems };
            let hits = &mut found.hits;
            let mut stale = Vec::new();
            for candidate in self.candidates(&query, options.cwd.as_deref()) {
                if options.limit.is_some_and(|limit| hits.len() >= limit) {
                    break;
                }
                match look_up(&query, &candidate) {
                    Some(hit) => hits.push(hit),
                    None => stale.push(candidate.key),
                }
            }
            if stale.is_empty() {
                break;
            }
            for key in &stale {
                self.records.remove(key);
            }
        }
        found
    }

    /// The sessions that have all terms, best first.
    fn candidates(&mut self, query: &Query, cwd: Option<&Path>) -> Vec<Candidate> {
        let mut reader = self.text_reader();
        let mut candidates = Vec::new();
        let mut records: Vec<(&OsString, &mut Record)> = self.records.iter_mut().collect();
        // In the order of the text file.
        records.sort_unstable_by_key(|(_, record)| record.text.as_ref()?.first().copied());
        for (key, record) in records {
            let Some(summary) = &record.summary else { continue };
            if cwd.is_some_and(|cwd| summary.cwd() != cwd) {
                continue;
            }
            let path = self.root.join(key);
            let found = match find_in_text(query, record, reader.as_mut()) {
                Some(found) => found,
                None => {
                    // Damaged, or never kept: to be written when there is an opportunity.
                    record.text = None;
                    find_in_file(query, &path)
                }
            };
            if found.terms == query.all()
                && let Some((line, terms)) = found.best
                && let Some(session) = record.info(path)
            {
                candidates.push(Candidate { session, key: key.clone(), line, terms });
            }
        }
        candidates.sort_by(|a, b| {
            let terms = b.terms.count_ones().cmp(&a.terms.count_ones());
            terms.then_with(|| a.session.latest_first(&b.session))
        });
        candidates
    }
}

/// Searches the text that is kept of a session; `None` if there is none.
fn find_in_text(query: &Query, record: &Record, reader: Option<&mut TextReader>) -> Option<Found> {
    let (blocks, reader) = (record.text.as_ref()?, reader?);
    let mut found = Found::default();
    for block in blocks {
        let pieces = reader.read(block)?;
        pieces.search(query, |line, terms| found.add(line, terms));
    }
    Some(found)
}

/// Searches a session file.
fn find_in_file(query: &Query, path: &Path) -> Found {
    let mut found = Found::default();
    let mut pieces = Pieces::default();
    let Ok(log) = info::open(path) else { return found };
    // A file that cannot be read to its end is searched as far as it can.
    let _ = Scan::default().run(&log, |line, glimpse| {
        if let Some((_, text)) = &glimpse.text {
            pieces.push(line, text);
            pieces.search(query, |line, terms| found.add(line, terms));
            pieces.clear();
        }
    });
    found
}

/// Finds a candidate in its file. `None` if it is not there any more.
fn look_up(query: &Query, candidate: &Candidate) -> Option<SearchHit> {
    let log = info::open(&candidate.session.path).ok()?;
    let Span { offset, len } = candidate.line;
    let mut line = Vec::new();
    let line = log.read(offset..offset.checked_add(u64::from(len))?, &mut line).ok()?;
    let glimpse = Glimpse::read(line)?;
    let (kind, text) = glimpse.text?;
    Some(SearchHit {
        session: candidate.session.clone(),
        entry_id: glimpse.id,
        kind,
        timestamp: glimpse.time,
        snippet: query.snippet(&text, candidate.terms)?,
    })
}
