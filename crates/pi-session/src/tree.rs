//! The tree of a session: the links between entries, without the entries. Pure.
//!
//! Every entry names its parent; everything else follows from that. Nothing here is recursive: the
//! tree is as deep as the conversation is long.

mod ids;

use crate::log::{Head, Kind, Span};
use ids::{IdText, Ids};

/// The position of an entry in the order of the file.
pub(crate) type Index = u32;

/// An entry without its content.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Milliseconds since the epoch; 0 if the time stamp cannot be read.
    pub(crate) time: i64,
    parent: Link,
    /// The line turned out to be unreadable. The entry keeps its place, so that what follows it is
    /// still connected to what came before.
    pub(crate) damaged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    None,
    To(Index),
    /// The parent with this id is not in the file, so far.
    Missing(IdText),
}

/// The entries of a session, by file order, id and parent.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    ids: Ids,
    /// Parents are missing, or an id was used twice: parents have to be looked up again.
    unresolved: bool,
    /// An id was used twice.
    reused: bool,
}

impl Tree {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, index: Index) -> &Node {
        &self.nodes[index as usize]
    }

    /// Returns the id of an entry.
    pub(crate) fn id(&self, index: Index) -> &str {
        self.ids.get(index)
    }

    /// Returns the id that an entry names as its parent.
    pub(crate) fn parent_id(&self, index: Index) -> Option<&str> {
        match self.node(index).parent {
            Link::None => None,
            Link::To(parent) => Some(self.ids.get(parent)),
            Link::Missing(id) => Some(self.ids.text(id)),
        }
    }

    /// Returns true if an id was used twice.
    pub(crate) fn has_reused_ids(&self) -> bool {
        self.reused
    }

    /// Returns all entries, in file order.
    pub(crate) fn indices(&self) -> impl DoubleEndedIterator<Item = Index> + use<> {
        0..Index::try_from(self.nodes.len()).unwrap_or(Index::MAX)
    }

    /// Returns the entry with this id, unless it is damaged.
    pub(crate) fn find(&self, id: &str) -> Option<Index> {
        self.ids.find(id).filter(|index| !self.node(*index).damaged)
    }

    /// Returns true if the id is taken, even by a damaged entry.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.ids.find(id).is_some()
    }

    /// Adds an entry. Call [`Tree::resolve`] after the last of many.
    pub(crate) fn push(&mut self, head: &Head<'_>, span: Span) -> Index {
        let index = Index::try_from(self.nodes.len()).unwrap_or(Index::MAX);
        let parent = match head.parent.as_deref() {
            None => Link::None,
            // Nearly every entry follows the one before it in the file.
            Some(parent) if self.is_last_sound(parent) => Link::To(index - 1),
            Some(parent) => match self.ids.find(parent) {
                Some(parent) => Link::To(parent),
                None => {
                    self.unresolved = true;
                    Link::Missing(self.ids.store(parent))
                }
            },
        };
        let time = crate::time::parse_ms(&head.timestamp).unwrap_or_default();
        self.nodes.push(Node { kind: head.kind, span, time, parent, damaged: false });
        if self.ids.push(&head.id).is_some() {
            self.reused = true;
            self.unresolved = true;
        }
        index
    }

    /// Returns true if the last entry is sound and has this id.
    fn is_last_sound(&self, id: &str) -> bool {
        let Some(last) = self.indices().next_back() else { return false };
        !self.node(last).damaged && self.ids.get(last) == id
    }

    /// Resolves links to entries that come later in the file, or whose id was used again.
    pub(crate) fn resolve(&mut self) {
        if !std::mem::take(&mut self.unresolved) {
            return;
        }
        if self.reused {
            self.name_again();
        }
        for index in self.indices() {
            let id = match self.node(index).parent {
                Link::Missing(id) => self.ids.text(id),
                Link::To(parent) if self.reused => self.ids.get(parent),
                Link::None | Link::To(_) => continue,
            };
            if let Some(parent) = self.ids.find(id) {
                self.nodes[index as usize].parent = Link::To(parent);
            }
        }
    }

    /// Of entries with the same id, the last one has it, unless it is damaged.
    fn name_again(&mut self) {
        for damaged in [true, false] {
            for index in self.indices() {
                if self.node(index).damaged == damaged {
                    self.ids.name(index);
                }
            }
        }
    }

    /// Removes an entry from the tree, except for its links. Call [`Tree::resolve`] after the last
    /// of many.
    pub(crate) fn mark_damaged(&mut self, index: Index) {
        self.nodes[index as usize].damaged = true;
        self.unresolved |= self.reused;
    }

    /// Returns the first sound entry on the path to `leaf` after the damaged entry with this id.
    pub(crate) fn after_damaged(&self, id: &str, leaf: Index) -> Option<Index> {
        let damaged = self.ids.find(id).filter(|index| self.node(*index).damaged)?;
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

    /// Returns the parent of an entry; damaged ancestors are skipped.
    pub(crate) fn parent(&self, index: Index) -> Option<Index> {
        let mut at = index;
        // Bounded, since the links of a file may form a cycle.
        for _ in 0..self.nodes.len() {
            match self.node(at).parent {
                Link::To(parent) if parent != at && self.node(parent).damaged => at = parent,
                // Damaged entries may link back to the entry itself.
                Link::To(parent) if parent != at && parent != index => return Some(parent),
                _ => return None,
            }
        }
        None
    }

    /// Returns the path from a root to `leaf`, both included.
    pub(crate) fn path(&self, leaf: Option<Index>) -> Vec<Index> {
        let mut path: Vec<Index> = self.walk_up(leaf).collect();
        path.reverse();
        path
    }

    /// Returns the path from `leaf` up to its root. In a cycle, the path ends before it repeats an
    /// entry.
    pub(crate) fn walk_up(&self, leaf: Option<Index>) -> impl Iterator<Item = Index> {
        let mut seen = vec![false; self.nodes.len()];
        std::iter::successors(leaf, |index| self.parent(*index))
            .take_while(move |index| !std::mem::replace(&mut seen[*index as usize], true))
    }

    /// Returns true if `index` is on the path to `leaf`.
    pub(crate) fn is_on_path(&self, index: Index, leaf: Option<Index>) -> bool {
        self.walk_up(leaf).any(|at| at == index)
    }

    /// Returns the roots and the children of every entry, each by time and then by file order.
    pub(crate) fn shape(&self) -> Shape {
        let mut shape = Shape { roots: Vec::new(), children: vec![Vec::new(); self.nodes.len()] };
        let parents = self.parents();
        let cut = cuts_of_cycles(&parents);
        for index in self.indices().filter(|index| !self.node(*index).damaged) {
            match parents[index as usize] {
                Some(parent) if !cut[index as usize] => {
                    shape.children[parent as usize].push(index);
                }
                _ => shape.roots.push(index),
            }
        }
        for children in &mut shape.children {
            children.sort_by_key(|index| self.node(*index).time);
        }
        shape
    }

    /// Returns [`Tree::parent`] of every entry, in one pass.
    fn parents(&self) -> Vec<Option<Index>> {
        let mut parents = vec![None; self.nodes.len()];
        let mut known = vec![false; self.nodes.len()];
        let mut way = Vec::new();
        for start in self.indices() {
            let mut at = start;
            // Up to a sound entry, or to an entry whose parent is known.
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

    /// Returns the deepest entry that is on both paths.
    pub(crate) fn common_ancestor(&self, a: Option<Index>, b: Option<Index>) -> Option<Index> {
        let mut on_a = vec![false; self.nodes.len()];
        for index in self.walk_up(a) {
            on_a[index as usize] = true;
        }
        self.walk_up(b).find(|index| on_a[*index as usize])
    }
}

/// Returns for every entry true if its link has to be cut to break a cycle. One link per cycle is
/// cut.
fn cuts_of_cycles(parents: &[Option<Index>]) -> Vec<bool> {
    const NEW: usize = 0;
    let mut cut = vec![false; parents.len()];
    // The walk that first reached an entry.
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

/// The tree seen from its roots.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) roots: Vec<Index>,
    /// The children of each entry, by its index.
    pub(crate) children: Vec<Vec<Index>>,
}
