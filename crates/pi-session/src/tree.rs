//! The tree of a session: which entry follows which. Pure, and without the entries themselves.
//!
//! Entries name their parent, and everything else follows from that. Nothing here is recursive:
//! a conversation is a path, and a long one would be as deep as it is long.

use std::collections::HashMap;
use std::sync::Arc;

use crate::log::{Head, Kind, Span};

/// The place of an entry in the file's order.
pub(crate) type Index = u32;

/// One entry, as far as the tree knows it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: Arc<str>,
    /// The id it names as its parent.
    pub(crate) parent_id: Option<Arc<str>>,
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Milliseconds since the epoch; 0 if the time stamp cannot be read.
    pub(crate) time: i64,
    parent: Link,
    /// Its line turned out to be unreadable. It keeps its place, so that what follows it is
    /// still connected to what came before.
    pub(crate) damaged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    None,
    To(Index),
    /// The parent is not in the file (so far).
    Missing,
}

/// The entries of a session, by file order, id and parent.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<Arc<str>, Index>,
    /// Some links are not resolved, or an id was used twice: look links up again.
    unresolved: bool,
    /// Some id was used twice.
    reused: bool,
}

impl Tree {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, index: Index) -> &Node {
        &self.nodes[index as usize]
    }

    /// Some id was used twice.
    pub(crate) fn has_reused_ids(&self) -> bool {
        self.reused
    }

    /// All entries, in file order.
    pub(crate) fn indices(&self) -> impl DoubleEndedIterator<Item = Index> + use<> {
        0..Index::try_from(self.nodes.len()).unwrap_or(Index::MAX)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Index> {
        self.by_id.get(id).copied().filter(|index| !self.node(*index).damaged)
    }

    /// Whether the id is taken, be it by a damaged entry.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Takes in an entry. Call [`Tree::resolve`] after the last of many.
    pub(crate) fn push(&mut self, head: &Head<'_>, span: Span) -> Index {
        let index = Index::try_from(self.nodes.len()).unwrap_or(Index::MAX);
        let id: Arc<str> = Arc::from(head.id.as_ref());
        // Nearly every entry follows the one before it in the file.
        let follows = |node: &&Node| !node.damaged && Some(&*node.id) == head.parent.as_deref();
        let previous = self.nodes.last().filter(follows);
        let (parent_id, parent) = match (&head.parent, previous) {
            (None, _) => (None, Link::None),
            (Some(_), Some(previous)) => (Some(Arc::clone(&previous.id)), Link::To(index - 1)),
            (Some(parent), None) => {
                let link = self.by_id.get(parent.as_ref()).copied().map_or(Link::Missing, Link::To);
                self.unresolved |= link == Link::Missing;
                (Some(Arc::from(parent.as_ref())), link)
            }
        };
        let time = crate::time::parse_ms(&head.timestamp).unwrap_or_default();
        let (kind, damaged) = (head.kind, false);
        let node = Node { id: Arc::clone(&id), parent_id, kind, span, time, parent, damaged };
        self.nodes.push(node);
        if self.by_id.insert(id, index).is_some() {
            self.reused = true;
            self.unresolved = true;
        }
        index
    }

    /// Resolves links to entries that come later in the file, or whose id was used again.
    pub(crate) fn resolve(&mut self) {
        if !std::mem::take(&mut self.unresolved) {
            return;
        }
        if self.reused {
            self.name_again();
        }
        for index in 0..self.nodes.len() {
            let parent = self.nodes[index].parent_id.as_ref().map(|id| self.by_id.get(id));
            self.nodes[index].parent = match parent {
                None => Link::None,
                Some(Some(parent)) => Link::To(*parent),
                Some(None) => Link::Missing,
            };
        }
    }

    /// Of entries with the same id the last one has it, unless it is damaged.
    fn name_again(&mut self) {
        for damaged in [true, false] {
            for index in self.indices() {
                let node = &self.nodes[index as usize];
                if node.damaged == damaged {
                    self.by_id.insert(Arc::clone(&node.id), index);
                }
            }
        }
    }

    /// Takes an entry out of the tree, its links excepted. Call [`Tree::resolve`] after the last
    /// of many.
    pub(crate) fn mark_damaged(&mut self, index: Index) {
        self.nodes[index as usize].damaged = true;
        self.unresolved |= self.reused;
    }

    /// On the way to `leaf`, the first entry that is sound after the damaged one with this id.
    pub(crate) fn after_damaged(&self, id: &str, leaf: Index) -> Option<Index> {
        let damaged = self.by_id.get(id).copied().filter(|index| self.node(*index).damaged)?;
        let mut after = None;
        let mut at = leaf;
        for _ in 0..self.nodes.len() {
            match self.node(at).parent {
                Link::To(parent) if parent == damaged => return after,
                Link::To(parent) => at = parent,
                _ => return None,
            }
            if !self.node(at).damaged {
                after = Some(at);
            }
        }
        None
    }

    /// The parent, damaged entries skipped.
    pub(crate) fn parent(&self, index: Index) -> Option<Index> {
        let mut at = index;
        // Bounded: a file may link in circles.
        for _ in 0..self.nodes.len() {
            match self.node(at).parent {
                Link::To(parent) if parent != at && self.node(parent).damaged => at = parent,
                // It may also lead back to where it began, by way of damaged entries.
                Link::To(parent) if parent != at && parent != index => return Some(parent),
                _ => return None,
            }
        }
        None
    }

    /// From a root to `leaf`, both included.
    pub(crate) fn path(&self, leaf: Option<Index>) -> Vec<Index> {
        let mut path: Vec<Index> = self.walk_up(leaf).collect();
        path.reverse();
        path
    }

    /// From `leaf` up to its root. Where a file links in circles it ends before it comes by an
    /// entry again.
    pub(crate) fn walk_up(&self, leaf: Option<Index>) -> impl Iterator<Item = Index> {
        let mut seen = vec![false; self.nodes.len()];
        std::iter::successors(leaf, |index| self.parent(*index))
            .take_while(move |index| !std::mem::replace(&mut seen[*index as usize], true))
    }

    /// Whether `index` is on the path to `leaf`.
    pub(crate) fn is_on_path(&self, index: Index, leaf: Option<Index>) -> bool {
        self.walk_up(leaf).any(|at| at == index)
    }

    /// The roots, and the children of every entry, each by time and then by file order.
    pub(crate) fn shape(&self) -> Shape {
        let mut shape = Shape { roots: Vec::new(), children: vec![Vec::new(); self.nodes.len()] };
        let parents = self.parents();
        let in_circle = circular(&parents);
        for index in self.indices().filter(|index| !self.node(*index).damaged) {
            match parents[index as usize].filter(|_| !in_circle[index as usize]) {
                Some(parent) => shape.children[parent as usize].push(index),
                None => shape.roots.push(index),
            }
        }
        for children in &mut shape.children {
            children.sort_by_key(|index| self.node(*index).time);
        }
        shape
    }

    /// What [`Tree::parent`] says of every entry, in one pass.
    fn parents(&self) -> Vec<Option<Index>> {
        let mut parents = vec![None; self.nodes.len()];
        let mut known = vec![false; self.nodes.len()];
        let mut way = Vec::new();
        for start in self.indices() {
            let mut at = start;
            // Up to a sound entry, or to one of which it is known.
            let end = loop {
                if std::mem::replace(&mut known[at as usize], true) {
                    break parents[at as usize];
                }
                way.push(at);
                match self.node(at).parent {
                    Link::To(parent) if parent == at => break None,
                    Link::To(parent) if self.node(parent).damaged => at = parent,
                    Link::To(parent) => break Some(parent),
                    _ => break None,
                }
            };
            for index in way.drain(..) {
                parents[index as usize] = end.filter(|end| *end != index);
            }
        }
        parents
    }

    /// The deepest entry that is on both paths.
    pub(crate) fn common_ancestor(&self, a: Option<Index>, b: Option<Index>) -> Option<Index> {
        let mut on_a = vec![false; self.nodes.len()];
        for index in self.walk_up(a) {
            on_a[index as usize] = true;
        }
        self.walk_up(b).find(|index| on_a[*index as usize])
    }
}

/// For every entry, whether it is one whose link has to be cut because following it leads back to
/// itself. One per circle is enough.
fn circular(parents: &[Option<Index>]) -> Vec<bool> {
    const NEW: usize = 0;
    let mut cut = vec![false; parents.len()];
    // The walk during which an entry was first seen.
    let mut seen = vec![NEW; parents.len()];
    for start in 0..parents.len() {
        let walk = start + 1;
        let mut at = start;
        while seen[at] == NEW {
            seen[at] = walk;
            match parents[at].map(|parent| parent as usize) {
                Some(parent) if seen[parent] == walk => cut[at] = true,
                Some(parent) => at = parent,
                None => break,
            }
        }
    }
    cut
}

/// A tree from above.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) roots: Vec<Index>,
    /// By entry.
    pub(crate) children: Vec<Vec<Index>>,
}
