//! Search in all sessions.
//!
//! Candidates come from the text in the cache, or from the session file if it has none there. Every
//! reported match was found in the session file.

use std::ffi::OsString;
use std::path::Path;

use super::query::{Query, Snippet, Terms};
use super::record::Record;
use super::text::{Pieces, TextReader};
use super::{ListOptions, Required, SessionIndex};
use crate::SessionError;
use crate::info::{self, Scan, SessionInfo};
use crate::log::Span;
use crate::searchable::{Glimpse, TextKind};

/// Maximum number of searches, repeated because a file has changed in the meantime.
const ATTEMPTS: usize = 3;

/// The result of a search.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SearchResults {
    /// The matching sessions, best first.
    pub hits: Vec<SearchHit>,
    /// Errors of files that could not be read and so were not searched.
    pub problems: Vec<SessionError>,
}

/// A session that matches a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The session that matches.
    pub session: SessionInfo,
    /// The id of the entry with the most terms, the latest of several. Entries of files of version
    /// 1 have no ids.
    pub entry_id: Option<String>,
    /// The kind of the text of that entry.
    pub kind: TextKind,
    /// Time of that entry, in milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// The part of the text around the first match.
    pub snippet: Snippet,
}

/// The best entry of a session that contains all terms.
struct Candidate {
    session: SessionInfo,
    /// The key of the record of the session.
    key: OsString,
    line: Span,
    terms: Terms,
}

/// The matches in a session: all terms found, and the line with the most of them.
#[derive(Default)]
struct SessionMatches {
    terms: Terms,
    best: Option<(Span, Terms)>,
}

impl SessionMatches {
    fn add(&mut self, line: Span, terms: Terms) {
        self.terms |= terms;
        if self.best.is_none_or(|(_, best)| best.count_ones() <= terms.count_ones()) {
            self.best = Some((line, terms));
        }
    }
}

impl SessionIndex {
    /// Searches all texts that users write or read; see [`TextKind`].
    ///
    /// Words are separated by spaces and match as parts of words, in any case; text in quotation
    /// marks matches literally. All terms must occur in a session, but not in one entry. The result
    /// has one hit per session, ordered by the number of terms in the best entry and then by the
    /// time of modification.
    pub fn search(&mut self, query: &str, options: &ListOptions) -> SearchResults {
        let Some(query) = Query::parse(query) else { return SearchResults::default() };
        let mut found = SearchResults::default();
        for _ in 0..ATTEMPTS {
            let problems = self.refresh(Required::RecordsAndText);
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

    /// Returns the sessions that contain all terms, best first.
    fn candidates(&mut self, query: &Query, cwd: Option<&Path>) -> Vec<Candidate> {
        let mut reader = self.text_reader();
        let mut candidates = Vec::new();
        let mut records: Vec<(&OsString, &mut Record)> = self.records.iter_mut().collect();
        // The text is read in the order of its file.
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
                    // Damaged or not in the cache: the next refresh writes it.
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

/// Searches the text of a session in the cache; `None` if the cache does not have it.
fn find_in_text(
    query: &Query,
    record: &Record,
    reader: Option<&mut TextReader>,
) -> Option<SessionMatches> {
    let (blocks, reader) = (record.text.as_ref()?, reader?);
    let mut found = SessionMatches::default();
    for block in blocks {
        let pieces = reader.read(block)?;
        pieces.search(query, |line, terms| found.add(line, terms));
    }
    Some(found)
}

/// Searches a session file.
fn find_in_file(query: &Query, path: &Path) -> SessionMatches {
    let mut found = SessionMatches::default();
    let mut pieces = Pieces::default();
    let Ok(log) = info::open(path) else { return found };
    // A file that cannot be read to its end is searched as far as possible.
    let _ = Scan::default().run(&log, |line, glimpse| {
        if let Some((_, text)) = &glimpse.text {
            pieces.push(line, text);
            pieces.search(query, |line, terms| found.add(line, terms));
            pieces.clear();
        }
    });
    found
}

/// Finds a candidate in its file; `None` if the file has changed.
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
