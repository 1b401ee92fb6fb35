//! The nodes of the tree and the rows that are shown of them. Pure.

use std::collections::HashSet;

use pi_session::EntryKind;

use super::filter::Filter;

/// An entry of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: String,
    /// Place of the parent among the nodes; parents come first.
    pub(super) parent: Option<usize>,
    pub(super) kind: EntryKind,
    /// An answer without text.
    pub(super) is_silent: bool,
    pub(super) label: Option<String>,
    /// Time of the label, ISO 8601.
    pub(super) labeled_at: Option<String>,
    /// The entry is on the current branch.
    pub(super) is_active: bool,
    /// The session continues after this entry.
    pub(super) is_leaf: bool,
}

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) node: usize,
    /// Lines that connect branches.
    pub(super) guides: String,
    /// The row is the first of a branch; what follows it can be folded.
    pub(super) starts_branch: bool,
    pub(super) is_folded: bool,
}

impl Row {
    /// Returns true if a branch starts here.
    pub(super) fn is_branch(&self) -> bool {
        self.guides.trim_end().ends_with(['─', '⊟', '⊞'])
    }
}

/// The nodes and what is shown of them.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    all: Vec<Node>,
    folded: HashSet<usize>,
}

impl Nodes {
    pub(super) fn new(all: Vec<Node>) -> Self {
        Self { all, folded: HashSet::new() }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Node> {
        self.all.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Node> {
        self.all.get_mut(at)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the nearest of a node and its ancestors that `is_wanted`.
    pub(super) fn nearest(&self, at: usize, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let parent = |at: &usize| self.get(*at).and_then(|node| node.parent);
        std::iter::successors(Some(at), parent).find(|at| is_wanted(*at))
    }

    /// Returns the node with an id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.all.iter().position(|node| node.id == id)
    }

    /// Returns the node after which the session continues.
    pub(super) fn leaf(&self) -> Option<usize> {
        self.all.iter().position(|node| node.is_leaf)
    }

    pub(super) fn fold(&mut self, at: usize, folded: bool) {
        if folded {
            self.folded.insert(at);
        } else {
            self.folded.remove(&at);
        }
    }

    /// Returns the rows of the nodes that pass the filter and match the search. While there is a
    /// search, nothing is folded.
    pub(super) fn rows(&self, filter: Filter, matches: Option<&dyn Fn(usize) -> bool>) -> Vec<Row> {
        let is_shown = |at: usize, node: &Node| {
            filter.shows(node) && matches.is_none_or(|matches| matches(at))
        };
        // The nearest shown node at or above each node; parents come first.
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(self.all.len());
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        let mut roots = Vec::new();
        for (at, node) in self.all.iter().enumerate() {
            let above = node.parent.and_then(|parent| nearest.get(parent).copied().flatten());
            if !is_shown(at, node) {
                nearest.push(above);
                continue;
            }
            nearest.push(Some(at));
            match above.and_then(|above| children.get_mut(above)) {
                Some(siblings) => siblings.push(at),
                None => roots.push(at),
            }
        }
        self.walk(roots, &children, matches.is_some())
    }

    /// Returns the rows from the roots on. Only branch points indent: a chain of entries stays in
    /// one column, however long it is.
    fn walk(&self, roots: Vec<usize>, children: &[Vec<usize>], unfold: bool) -> Vec<Row> {
        struct Step {
            node: usize,
            guides: String,
            /// Guides of what follows.
            below: String,
            starts_branch: bool,
        }
        let push = |stack: &mut Vec<Step>, mut nodes: Vec<usize>, guides: &str| {
            // The active branch comes first; the others by time.
            nodes.sort_by_key(|at| !self.all.get(*at).is_some_and(|node| node.is_active));
            let is_branch = nodes.len() > 1;
            let last = nodes.len().saturating_sub(1);
            for (number, node) in nodes.into_iter().enumerate().rev() {
                let (branch, rest) = match (is_branch, number == last) {
                    (false, _) => ("", ""),
                    (true, false) => ("├─ ", "│     "),
                    (true, true) => ("└─ ", "      "),
                };
                stack.push(Step {
                    node,
                    guides: format!("{guides}{branch}"),
                    below: format!("{guides}{rest}"),
                    starts_branch: is_branch,
                });
            }
        };
        let mut rows = Vec::new();
        let mut stack = Vec::new();
        push(&mut stack, roots, "");
        while let Some(Step { node, mut guides, below, starts_branch }) = stack.pop() {
            let below_it = children.get(node).cloned().unwrap_or_default();
            let can_fold = starts_branch && !below_it.is_empty() && !unfold;
            let is_folded = can_fold && self.folded.contains(&node);
            if can_fold && guides.ends_with("─ ") {
                guides.truncate(guides.len() - "─ ".len());
                guides.push_str(if is_folded { "⊞ " } else { "⊟ " });
            }
            rows.push(Row { node, guides, starts_branch: can_fold, is_folded });
            if !is_folded {
                push(&mut stack, below_it, &below);
            }
        }
        rows
    }
}
