//! The sessions of the selector and the rows that are shown of them. Pure.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pi_session::SessionInfo;
use pi_tui::list::Selection;

use super::matching::{Quality, Query};

/// Rows that are visible at once.
pub(super) const ROWS: usize = 10;

/// Selection of the listed sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    CurrentFolder,
    All,
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Forks below the session that they come from.
    Threaded,
    Recent,
    /// The best match first.
    Fuzzy,
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Place of the session among all sessions.
    session: usize,
    /// Lines that connect a fork with its origin.
    pub(super) guides: String,
}

/// All sessions and what is shown of them.
pub(super) struct Sessions {
    all: Vec<SessionInfo>,
    is_complete: bool,
    cwd: PathBuf,
    pub(super) home: PathBuf,
    open: Option<PathBuf>,
    scope: Scope,
    sort: Sort,
    only_named: bool,
    shows_path: bool,
    query: Query,
    /// Sessions whose messages match the query; `None` while the index is searched.
    found: Option<HashSet<PathBuf>>,
    rows: Vec<Row>,
    pub(super) selection: Selection,
}

impl Sessions {
    pub(super) fn new(cwd: PathBuf, open: Option<PathBuf>, home: PathBuf) -> Self {
        Self {
            all: Vec::new(),
            is_complete: false,
            cwd,
            home,
            open,
            scope: Scope::CurrentFolder,
            sort: Sort::Threaded,
            only_named: false,
            shows_path: false,
            query: Query::Empty,
            found: None,
            rows: Vec::new(),
            selection: Selection::new(0, ROWS).stopping_at_ends(),
        }
    }

    /// Replaces the sessions; the selected one stays selected.
    pub(super) fn set(&mut self, sessions: Vec<SessionInfo>, is_complete: bool) {
        // The first row stays selected until the user selects another one.
        let is_moved = self.selection.index() > 0;
        let selected = self.selected().filter(|_| is_moved).map(|session| session.path.clone());
        self.all = sessions;
        self.is_complete = is_complete;
        self.update();
        self.select(selected.as_deref());
    }

    /// Uses the result of a search in all messages, if the query is still the same.
    pub(super) fn set_found(&mut self, query: &str, found: HashSet<PathBuf>) {
        if self.query.full_text() == Some(query) {
            let selected = self.selected().map(|session| session.path.clone());
            self.found = Some(found);
            self.update();
            self.select(selected.as_deref());
        }
    }

    pub(super) fn set_query(&mut self, query: Query) {
        self.query = query;
        self.found = None;
        self.update();
        self.selection.select(0);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.all.retain(|session| session.path != path);
        self.update();
    }

    pub(super) fn rename(&mut self, path: &Path, name: &str) {
        if let Some(session) = self.all.iter_mut().find(|session| session.path == path) {
            session.name = Some(name.to_owned());
        }
        let selected = self.selected().map(|session| session.path.clone());
        self.update();
        self.select(selected.as_deref());
    }

    pub(super) fn toggle_scope(&mut self) {
        self.scope = match self.scope {
            Scope::CurrentFolder => Scope::All,
            Scope::All => Scope::CurrentFolder,
        };
        self.changed();
    }

    pub(super) fn cycle_sort(&mut self) {
        self.sort = match self.sort {
            Sort::Threaded => Sort::Recent,
            Sort::Recent => Sort::Fuzzy,
            Sort::Fuzzy => Sort::Threaded,
        };
        self.changed();
    }

    pub(super) fn toggle_named(&mut self) {
        self.only_named = !self.only_named;
        self.changed();
    }

    pub(super) fn toggle_path(&mut self) {
        self.shows_path = !self.shows_path;
    }

    fn changed(&mut self) {
        let selected = self.selected().map(|session| session.path.clone());
        self.update();
        self.select(selected.as_deref());
    }

    pub(super) fn scope(&self) -> Scope {
        self.scope
    }

    pub(super) fn sort(&self) -> Sort {
        self.sort
    }

    pub(super) fn only_named(&self) -> bool {
        self.only_named
    }

    pub(super) fn shows_path(&self) -> bool {
        self.shows_path
    }

    pub(super) fn query(&self) -> &Query {
        &self.query
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of sessions that were read so far.
    pub(super) fn loaded(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_loading(&self) -> bool {
        !self.is_complete
    }

    /// Returns true while the messages of all sessions are searched.
    pub(super) fn is_searching(&self) -> bool {
        self.query.full_text().is_some() && self.found.is_none()
    }

    /// Returns the row and the session at a place of the list.
    pub(super) fn row(&self, at: usize) -> Option<(&Row, &SessionInfo)> {
        let row = self.rows.get(at)?;
        Some((row, self.all.get(row.session)?))
    }

    pub(super) fn selected(&self) -> Option<&SessionInfo> {
        self.row(self.selection.index()).map(|(_, session)| session)
    }

    pub(super) fn is_open(&self, session: &SessionInfo) -> bool {
        self.open.as_deref() == Some(&session.path)
    }

    fn select(&mut self, path: Option<&Path>) {
        let at = path.and_then(|path| {
            (0..self.rows.len()).find(|at| self.row(*at).is_some_and(|(_, s)| s.path == path))
        });
        self.selection.select(at.unwrap_or(0));
    }

    /// Computes the rows.
    fn update(&mut self) {
        let is_shown = |session: &SessionInfo| {
            (self.scope == Scope::All || Path::new(&session.cwd) == self.cwd)
                && (!self.only_named || session.name.is_some())
        };
        let shown: Vec<usize> = (0..self.all.len()).filter(|at| is_shown(&self.all[*at])).collect();
        self.rows = if !self.query.is_empty() {
            self.matching(&shown)
        } else if self.sort == Sort::Threaded {
            threads(&self.all, &shown)
        } else {
            shown.into_iter().map(Row::plain).collect()
        };
        self.selection.set_len(self.rows.len());
    }

    /// Returns the rows that match the query. All lists are by time, so that equally good matches
    /// stay in that order.
    fn matching(&self, shown: &[usize]) -> Vec<Row> {
        let mut matches: Vec<_> = shown
            .iter()
            .filter_map(|at| {
                let session = self.all.get(*at)?;
                let is_found =
                    self.found.as_ref().is_some_and(|found| found.contains(&session.path));
                let (quality, score) = self.query.quality(session, is_found)?;
                Some((quality, score, *at))
            })
            .collect();
        match self.sort {
            Sort::Recent => matches.sort_by_key(|(quality, _, _)| *quality == Quality::Fuzzy),
            Sort::Threaded => matches.sort_by_key(|(quality, _, _)| *quality),
            Sort::Fuzzy => matches.sort_by(|a, b| {
                let by_score = match (a.1, b.1) {
                    (Some(a), Some(b)) => a.cmp(&b),
                    _ => std::cmp::Ordering::Equal,
                };
                a.0.cmp(&b.0).then(by_score)
            }),
        }
        matches.into_iter().map(|(_, _, at)| Row::plain(at)).collect()
    }
}

impl Row {
    fn plain(session: usize) -> Self {
        Self { session, guides: String::new() }
    }
}

/// Returns the rows with forks below their origins. A thread is as recent as its latest session.
fn threads(all: &[SessionInfo], shown: &[usize]) -> Vec<Row> {
    let by_path: HashMap<&Path, usize> =
        shown.iter().map(|at| (all[*at].path.as_path(), *at)).collect();
    let parent = |at: usize| {
        let parent = all[at].parent_session.as_deref().map(Path::new)?;
        by_path.get(parent).copied().filter(|parent| *parent != at)
    };
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for at in shown {
        // Files can name each other as parents; a session in such a circle is a root.
        let mut ancestor = parent(*at);
        let mut steps = 0;
        while let Some(next) = ancestor
            && next != *at
            && steps <= shown.len()
        {
            ancestor = parent(next);
            steps += 1;
        }
        match parent(*at).filter(|_| ancestor.is_none()) {
            Some(parent) => children.entry(parent).or_default().push(*at),
            None => roots.push(*at),
        }
    }
    let mut latest: HashMap<usize, i64> = HashMap::new();
    // Sessions are by time, so the first that reaches an ancestor is its latest.
    for at in shown {
        let mut next = Some(*at);
        while let Some(one) = next
            && !latest.contains_key(&one)
        {
            latest.insert(one, all[*at].modified);
            next = parent(one);
        }
    }
    roots.sort_by_key(|root| std::cmp::Reverse(latest.get(root).copied()));
    let mut rows = Vec::new();
    let mut stack: Vec<(usize, String, String)> =
        roots.into_iter().rev().map(|root| (root, String::new(), "   ".to_owned())).collect();
    while let Some((session, guides, below)) = stack.pop() {
        rows.push(Row { session, guides });
        let Some(mut forks) = children.remove(&session) else { continue };
        forks.sort_by_key(|fork| std::cmp::Reverse(latest.get(fork).copied()));
        let last = forks.len() - 1;
        for (number, fork) in forks.into_iter().enumerate().rev() {
            let (branch, rest) =
                if number == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            stack.push((fork, format!("{below}{branch}"), format!("{below}{rest}")));
        }
    }
    rows
}
