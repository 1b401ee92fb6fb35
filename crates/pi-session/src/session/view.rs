//! The whole tree of a session, for display.

use std::io::{self, Write};

use pi_protocol::Entry;

use super::Session;
use crate::SessionError;
use crate::log::{Kind, Role};
use crate::tree::{Index, Shape};

/// The tree of a session, as a flat list.
#[derive(Debug)]
pub struct TreeView<'a> {
    session: &'a Session,
    shape: Shape,
}

/// An entry of a [`TreeView`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeNode<'a> {
    /// The id of the entry.
    pub id: &'a str,
    /// Number of ancestors.
    pub depth: usize,
    /// Number of children.
    pub children: usize,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The label that the user gave the entry.
    pub label: Option<&'a str>,
    /// Time at which the label was set, ISO 8601.
    pub label_timestamp: Option<&'a str>,
    /// The entry is on the current branch.
    pub on_branch: bool,
}

/// The kind of an entry, as far as a display distinguishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A message of the user.
    User,
    /// An answer of the model.
    Assistant,
    /// The result of a tool call.
    ToolResult,
    /// A system message.
    System,
    /// A message of the application, such as a command that the user ran.
    ApplicationMessage,
    /// A message of an extension.
    CustomMessage,
    /// A summary that replaces older history.
    Compaction,
    /// A summary of a branch that was left.
    BranchSummary,
    /// A change of the model.
    ModelChange,
    /// A change of the thinking level.
    ThinkingLevelChange,
    /// An entry that is not part of the conversation, such as a label or a name.
    Setting,
}

impl EntryKind {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Message(Role::User) => Self::User,
            Kind::Message(Role::Assistant) => Self::Assistant,
            Kind::Message(Role::ToolResult) => Self::ToolResult,
            Kind::Message(Role::System) => Self::System,
            Kind::Message(Role::Other) => Self::ApplicationMessage,
            Kind::CustomMessage => Self::CustomMessage,
            Kind::Compaction => Self::Compaction,
            Kind::BranchSummary => Self::BranchSummary,
            Kind::ModelChange => Self::ModelChange,
            Kind::ThinkingLevelChange => Self::ThinkingLevelChange,
            Kind::Usage
            | Kind::Custom
            | Kind::ContextEdit
            | Kind::Label
            | Kind::SessionInfo
            | Kind::Header
            | Kind::Unknown => Self::Setting,
        }
    }
}

impl Session {
    /// Returns the whole tree, without damaged entries. Checks every line.
    pub fn tree(&mut self) -> Result<TreeView<'_>, SessionError> {
        self.verify()?;
        Ok(TreeView { shape: self.tree.shape(), session: self })
    }
}

/// A step of a walk through the tree.
enum Step {
    Enter(Index, usize),
    Leave(Index),
}

impl<'a> TreeView<'a> {
    /// Returns all entries, parents before children, older branches first.
    pub fn nodes(&self) -> impl Iterator<Item = TreeNode<'a>> + '_ {
        self.indexed().map(|(_, node)| node)
    }

    /// Returns and reads all entries, in the order of [`TreeView::nodes`].
    pub fn entries(
        &self,
    ) -> impl Iterator<Item = (TreeNode<'a>, Result<Entry, SessionError>)> + '_ {
        let mut reader = self.session.log.reader();
        self.indexed().map(move |(index, node)| (node, self.session.read_entry(&mut reader, index)))
    }

    /// Calls `each` with all entries, in the order of [`TreeView::nodes`], and with the lines of those
    /// that `wants` selects. Lines are read, but not parsed.
    pub fn visit(
        &self,
        wants: impl Fn(&TreeNode<'a>) -> bool,
        mut each: impl FnMut(TreeNode<'a>, Option<&[u8]>),
    ) -> Result<(), SessionError> {
        let mut reader = self.session.log.reader();
        for (index, node) in self.indexed() {
            if wants(&node) {
                each(node, Some(reader.line(self.session.tree.node(index).span)?));
            } else {
                each(node, None);
            }
        }
        Ok(())
    }

    fn indexed(&self) -> impl Iterator<Item = (Index, TreeNode<'a>)> + '_ {
        let mut on_branch = vec![false; self.session.tree.len()];
        for index in self.session.tree.walk_up(self.session.leaf) {
            on_branch[index as usize] = true;
        }
        self.walk().filter_map(move |step| match step {
            Step::Enter(index, depth) => {
                let id = self.session.tree.id(index);
                let node = TreeNode {
                    id,
                    depth,
                    children: self.shape.children[index as usize].len(),
                    kind: EntryKind::new(self.session.tree.node(index).kind),
                    label: self.session.label(id),
                    label_timestamp: self
                        .session
                        .labels
                        .get(id)
                        .map(|label| label.timestamp.as_str()),
                    on_branch: on_branch[index as usize],
                };
                Some((index, node))
            }
            Step::Leave(_) => None,
        })
    }

    /// Writes the tree as nested JSON: `{"entry", "children", "label"?, "labelTimestamp"?}`, as
    /// deep as the conversation is long. For parsers with a limit on depth, use
    /// [`TreeView::nodes`].
    pub fn write_json(&self, out: &mut impl Write) -> Result<(), SessionError> {
        let mut reader = self.session.log.reader();
        let failed = |error: io::Error| SessionError::io("write", "the tree")(error);
        let mut first = true;
        out.write_all(b"[").map_err(failed)?;
        for step in self.walk() {
            match step {
                Step::Enter(index, _) => {
                    let comma: &[u8] = if first { b"" } else { b"," };
                    out.write_all(comma).map_err(failed)?;
                    out.write_all(b"{\"entry\":").map_err(failed)?;
                    let line = reader.line(self.session.tree.node(index).span)?;
                    out.write_all(line).map_err(failed)?;
                    out.write_all(b",\"children\":[").map_err(failed)?;
                    first = true;
                }
                Step::Leave(index) => {
                    out.write_all(b"]").map_err(failed)?;
                    let id = self.session.tree.id(index);
                    if let Some(label) = self.session.labels.get(id) {
                        let text = serde_json::to_string(&label.text)?;
                        let timestamp = serde_json::to_string(&label.timestamp)?;
                        write!(out, ",\"label\":{text},\"labelTimestamp\":{timestamp}")
                            .map_err(failed)?;
                    }
                    out.write_all(b"}").map_err(failed)?;
                    first = false;
                }
            }
        }
        out.write_all(b"]").map_err(failed)
    }

    fn walk(&self) -> impl Iterator<Item = Step> + '_ {
        let mut stack: Vec<Step> =
            self.shape.roots.iter().rev().map(|root| Step::Enter(*root, 0)).collect();
        std::iter::from_fn(move || {
            let step = stack.pop()?;
            if let Step::Enter(index, depth) = step {
                stack.push(Step::Leave(index));
                let children = self.shape.children[index as usize].iter().rev();
                stack.extend(children.map(|child| Step::Enter(*child, depth + 1)));
            }
            Some(step)
        })
    }
}
