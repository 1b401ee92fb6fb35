//! The tree of a session, read from its log. Entries are read when they are visible or searched.

use std::collections::HashMap;

use pi_coding_agent::AgentSession;
use pi_session::{EntryKind, SessionError, TreeNode};

use super::nodes::Node;
use super::text::{self, Shown};

/// The most ancestors of a tool result among which its call is looked for.
const NEAR: usize = 64;

/// Reads the nodes of a session, without their entries.
pub(super) fn nodes(session: &AgentSession) -> Result<Vec<Node>, SessionError> {
    session.with_log(|log| {
        let leaf = log.leaf_id().map(str::to_owned);
        let tree = log.tree()?;
        let mut nodes: Vec<Node> = Vec::new();
        // The last node of each depth: the parents of what follows.
        let mut path: Vec<usize> = Vec::new();
        tree.visit(
            |node| node.kind == EntryKind::Assistant,
            |node: TreeNode<'_>, line| {
                path.truncate(node.depth);
                let at = nodes.len();
                nodes.push(Node {
                    id: node.id.to_owned(),
                    parent: path.last().copied(),
                    kind: node.kind,
                    is_silent: line.is_some_and(is_silent),
                    label: node.label.map(str::to_owned),
                    labeled_at: node.label_timestamp.map(str::to_owned),
                    is_active: node.on_branch,
                    is_leaf: leaf.as_deref() == Some(node.id),
                });
                path.push(at);
            },
        )?;
        Ok(nodes)
    })
}

/// Returns true if the line of an answer has no text block, and the answer did not fail. Quotation
/// marks are escaped within texts, so these bytes are never part of one.
fn is_silent(line: &[u8]) -> bool {
    const SAID: [&[u8]; 3] =
        [br#""type":"text""#, br#""stopReason":"error""#, br#""stopReason":"aborted""#];
    !SAID.iter().any(|mark| memchr::memmem::find(line, mark).is_some())
}

/// The texts of entries, read once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    shown: HashMap<usize, Shown>,
    /// The searched texts of all nodes, in their order, once there was a search.
    searched: Option<Vec<String>>,
}

impl Texts {
    /// Returns the text of a node.
    pub(super) fn shown(
        &mut self,
        session: &AgentSession,
        nodes: &super::nodes::Nodes,
        at: usize,
    ) -> Shown {
        if let Some(shown) = self.shown.get(&at) {
            return shown.clone();
        }
        let shown = session.with_log(|log| {
            let Some(node) = nodes.get(at) else { return unreadable("(gone)") };
            let entry = match log.entry(&node.id) {
                Ok(entry) => entry,
                Err(error) => return unreadable(&error.to_string()),
            };
            let call = text::answered_call(&entry).and_then(|id| {
                let parent = |at: &usize| nodes.get(*at).and_then(|node| node.parent);
                std::iter::successors(node.parent, parent)
                    .take(NEAR)
                    .filter_map(|at| nodes.get(at))
                    .filter(|node| node.kind == EntryKind::Assistant)
                    .find_map(|node| text::call(&log.entry(&node.id).ok()?, id).cloned())
            });
            text::shown(&entry, call.as_ref())
        });
        self.shown.insert(at, shown.clone());
        shown
    }

    /// Returns true for the nodes that contain all words of a query. The first search reads all
    /// entries.
    pub(super) fn matching(
        &mut self,
        session: &AgentSession,
        nodes: &super::nodes::Nodes,
        query: &str,
    ) -> Vec<bool> {
        let searched = self.searched.get_or_insert_with(|| {
            session.with_log(|log| {
                let Ok(tree) = log.tree() else { return Vec::new() };
                tree.entries()
                    .map(|(node, entry)| match entry {
                        Ok(entry) => text::searched(&entry, node.label),
                        Err(_) => String::new(),
                    })
                    .collect()
            })
        });
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let matches = |text: &String| words.iter().all(|word| text.contains(word.as_str()));
        let mut found: Vec<bool> = searched.iter().map(matches).collect();
        found.resize(nodes.len(), false);
        found
    }

    /// Forgets what is searched, because a label changed.
    pub(super) fn label_changed(&mut self) {
        self.searched = None;
    }
}

fn unreadable(reason: &str) -> Shown {
    Shown { role: "", token: pi_tui::Token::Error, text: reason.to_owned(), is_dim: true }
}
