//! A session: a conversation with all its branches, and the current entry.
//!
//! The [log](crate::log) holds the lines, the [tree](crate::tree) the links between entries.
//! Entries are parsed on demand. Every append is written first and added to memory second, so a
//! failed write leaves the session unchanged.

mod append;
mod compact;
mod context;
mod follow;
mod fork;
mod jsonl;
mod load;
mod map;
mod outline;
mod stats;
mod view;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pi_protocol::{AgentMessage, Entry, EntryBody, Extra, SessionHeader};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::SessionError;
use crate::directory_text::{directory_from_text, directory_to_text};
use crate::log::{Head, Kind, Log, Reader, split_message};
use crate::tree::{Index, Tree};

pub use context::SessionContext;
pub use follow::GrowthListener;
pub use fork::{Fork, ForkPosition};
pub use load::OpenOptions;
pub use outline::Outline;
pub use stats::{CacheTotals, SessionStats, TokenTotals};
pub use view::{EntryKind, TreeNode, TreeView};

/// Options for a new session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NewSession {
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The directory of the file; without one the session stays in memory.
    pub directory: Option<PathBuf>,
    /// The id of the session; a UUIDv7 if not given.
    pub id: Option<String>,
    /// The file of the session that this one was forked from.
    pub parent: Option<PathBuf>,
}

impl NewSession {
    /// Describes a session in memory that works in `cwd`.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into(), ..Self::default() }
    }

    /// Sets the directory of the file.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the id of the session.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the file of the session that this one was forked from.
    #[must_use]
    pub fn parent(mut self, parent: impl Into<PathBuf>) -> Self {
        self.parent = Some(parent.into());
        self
    }
}

/// A line of the file that is not a valid entry. The line stays in the file and is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedLine {
    /// Offset of the line in the file, in bytes.
    pub offset: u64,
    /// The defect of the line.
    pub reason: String,
}

#[derive(Debug, Clone)]
struct Label {
    text: String,
    timestamp: String,
    /// Position in the order in which labels were first set.
    order: u64,
}

/// A session, open for reading or for appending.
#[derive(Debug)]
pub struct Session {
    header: SessionHeader,
    /// The directory that the header names.
    cwd: PathBuf,
    log: Log,
    /// The file that was opened, even if the log is a migrated copy in memory.
    opened: Option<PathBuf>,
    /// The directory of forked sessions.
    directory: Option<PathBuf>,
    tree: Tree,
    leaf: Option<Index>,
    labels: HashMap<String, Label>,
    labels_set: u64,
    name: Option<String>,
    /// The session has a user or assistant message and is worth a file.
    has_conversation: bool,
    damaged: Vec<DamagedLine>,
    /// Number of entries that are known to be valid JSON.
    verified: usize,
    /// The context at the current entry, if it was built.
    context: Option<SessionContext>,
    /// The outline at the current entry, if it was built.
    outline: Option<Outline>,
    growth: Option<GrowthListener>,
}

impl Session {
    /// Creates a session. Its file is created with the first user or assistant message.
    pub fn create(new: NewSession) -> Result<Self, SessionError> {
        let timestamp = crate::time::now();
        let id = match new.id {
            Some(id) => crate::files::check_session_id(id)?,
            None => uuid::Uuid::now_v7().to_string(),
        };
        let parent = new.parent.map(|path| path.to_string_lossy().into_owned());
        let cwd = directory_to_text(&new.cwd);
        let header = SessionHeader::new(id, timestamp, cwd, parent);
        let directory = new.directory.as_ref();
        let target = directory.map(|directory| directory.join(crate::files::file_name(&header)));
        let mut session = Self::empty(header, Log::Memory { bytes: Vec::new(), target });
        session.directory = new.directory;
        session.write_header()?;
        Ok(session)
    }

    /// Creates a session that is never written to disk.
    pub fn in_memory(cwd: impl Into<PathBuf>) -> Self {
        let header = SessionHeader::new(
            uuid::Uuid::now_v7().to_string(),
            crate::time::now(),
            directory_to_text(&cwd.into()),
            None,
        );
        let mut session = Self::empty(header, Log::Memory { bytes: Vec::new(), target: None });
        // Appending to a log in memory cannot fail, and a header is always valid JSON.
        let _ = session.write_header();
        session
    }

    fn empty(header: SessionHeader, log: Log) -> Self {
        Self {
            cwd: directory_from_text(&header.cwd),
            header,
            log,
            opened: None,
            directory: None,
            tree: Tree::default(),
            leaf: None,
            labels: HashMap::new(),
            labels_set: 0,
            name: None,
            has_conversation: false,
            damaged: Vec::new(),
            verified: 0,
            context: None,
            outline: None,
            growth: None,
        }
    }

    fn write_header(&mut self) -> Result<(), SessionError> {
        let line = serde_json::to_string(&self.header)?;
        self.log.append(&line).map(drop)
    }

    /// Returns the header of the file.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Returns the id of the session.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the working directory in the header.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the path of the file, which may not exist yet; `None` for a session in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.log {
            Log::Memory { target: Some(path), .. } => Some(path),
            log => log.path().or(self.opened.as_deref()),
        }
    }

    /// Returns true if the session is on disk.
    pub fn is_saved(&self) -> bool {
        self.log.path().or(self.opened.as_deref()).is_some()
    }

    /// Returns the directory in which forks of this session are created.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the name that the user gave the session.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the damaged lines found so far; [`Session::verify`] finds all.
    pub fn damaged_lines(&self) -> &[DamagedLine] {
        &self.damaged
    }

    /// Returns the number of entries on all branches, including damaged ones.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns true if the session has no entries.
    pub fn is_empty(&self) -> bool {
        self.tree.len() == 0
    }

    /// Returns the id of the current entry; `None` before the first.
    pub fn leaf_id(&self) -> Option<&str> {
        self.leaf.map(|leaf| self.tree.id(leaf))
    }

    /// Returns true if an entry of the current branch sets the thinking level. Reads nothing.
    pub fn has_thinking_level(&self) -> bool {
        let mut path = self.tree.walk_up(self.leaf);
        path.any(|index| self.tree.node(index).kind == Kind::ThinkingLevelChange)
    }

    /// Returns true if an entry has this id.
    pub fn contains(&self, id: &str) -> bool {
        self.tree.find(id).is_some()
    }

    /// Returns the id of the parent of an entry.
    pub fn parent_id(&self, id: &str) -> Option<&str> {
        let parent = self.tree.parent(self.tree.find(id)?)?;
        Some(self.tree.id(parent))
    }

    /// Returns the label of an entry.
    pub fn label(&self, id: &str) -> Option<&str> {
        self.labels.get(id).map(|label| label.text.as_str())
    }

    /// Reads the entry with this id.
    pub fn entry(&self, id: &str) -> Result<Entry, SessionError> {
        self.read_entry(&mut self.log.line_reader(), self.find(id)?)
    }

    /// Reads the line of an entry, exactly as it is in the file.
    pub fn raw_entry(&self, id: &str) -> Result<String, SessionError> {
        self.raw_line(&mut self.log.line_reader(), self.find(id)?)
    }

    /// Reads all entries, in file order.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry, SessionError>> {
        let mut reader = self.log.reader();
        self.sound().map(move |index| self.read_entry(&mut reader, index))
    }

    /// Reads the entries from a root to `leaf`, or to the current entry.
    pub fn branch_entries(
        &self,
        leaf: Option<&str>,
    ) -> Result<impl Iterator<Item = Result<Entry, SessionError>>, SessionError> {
        let leaf = leaf.map(|id| self.find(id)).transpose()?.or(self.leaf);
        let mut reader = self.log.reader();
        let path = self.tree.path(leaf);
        Ok(path.into_iter().map(move |index| self.read_entry(&mut reader, index)))
    }

    /// Reads the data of the custom entries of a type from a root to the current entry. Reads no
    /// other entries.
    pub fn custom_entries<'a>(
        &'a self,
        custom_type: &'a str,
    ) -> impl Iterator<Item = Result<Value, SessionError>> + 'a {
        let mut reader = self.log.reader();
        let path = self.tree.path(self.leaf).into_iter();
        let custom = path.filter(|index| self.tree.node(*index).kind == Kind::Custom);
        custom.filter_map(move |index| match self.read_entry(&mut reader, index) {
            Ok(Entry {
                body: EntryBody::Custom { custom_type: found, data: Some(data) }, ..
            }) => (found == custom_type).then_some(Ok(data)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Returns the ids from a root to `leaf`, or to the current entry.
    pub fn branch_ids(&self, leaf: Option<&str>) -> Result<Vec<&str>, SessionError> {
        let leaf = leaf.map(|id| self.find(id)).transpose()?.or(self.leaf);
        Ok(self.tree.path(leaf).into_iter().map(|index| self.tree.id(index)).collect())
    }

    /// Reads the entries that moving to `target` would abandon: those after the deepest entry that
    /// both branches share, up to the current one.
    pub fn abandoned_entries(&self, target: Option<&str>) -> Result<Vec<Entry>, SessionError> {
        let target = target.map(|id| self.find(id)).transpose()?;
        let shared = self.tree.common_ancestor(self.leaf, target);
        let mut left: Vec<Index> =
            self.tree.walk_up(self.leaf).take_while(|index| Some(*index) != shared).collect();
        left.reverse();
        let mut reader = self.log.reader();
        left.into_iter().map(|index| self.read_entry(&mut reader, index)).collect()
    }

    /// Makes an earlier entry the current one: the next append follows it.
    pub fn branch(&mut self, id: &str) -> Result<(), SessionError> {
        self.move_to(Some(self.find(id)?));
        Ok(())
    }

    /// Moves before the first entry: the next append is a new root.
    pub fn reset(&mut self) {
        self.move_to(None);
    }

    fn move_to(&mut self, leaf: Option<Index>) {
        if self.leaf != leaf {
            self.leaf = leaf;
            self.context = None;
            self.outline = None;
        }
    }

    /// Checks that every line is valid JSON, and returns those that are not. Reading an entry
    /// performs the same check on its line.
    pub fn verify(&mut self) -> Result<&[DamagedLine], SessionError> {
        let mut broken = Vec::new();
        let mut reader = self.log.reader();
        for index in self.tree.indices().skip(self.verified) {
            let node = self.tree.node(index);
            if node.damaged {
                continue;
            }
            if let Err(reason) = check_json(reader.line(node.span)?) {
                broken.push((index, reason));
            }
        }
        for (index, reason) in broken {
            self.mark_damaged(index, reason);
        }
        self.tree.resolve();
        self.verified = self.tree.len();
        Ok(&self.damaged)
    }

    /// Returns the entries that are not known to be damaged, in file order.
    fn sound(&self) -> impl DoubleEndedIterator<Item = Index> {
        self.tree.indices().filter(|index| !self.tree.node(*index).damaged)
    }

    fn last_sound(&self) -> Option<Index> {
        self.sound().next_back()
    }

    fn find(&self, id: &str) -> Result<Index, SessionError> {
        self.tree.find(id).ok_or_else(|| SessionError::UnknownEntry(id.to_owned()))
    }

    fn raw_line(&self, reader: &mut Reader<'_>, index: Index) -> Result<String, SessionError> {
        let line = reader.line(self.tree.node(index).span)?;
        Ok(text(line).into_owned())
    }

    fn read_entry(&self, reader: &mut Reader<'_>, index: Index) -> Result<Entry, SessionError> {
        let node = self.tree.node(index);
        let line = reader.line(node.span)?;
        // Nearly every line is a message and nothing else; this parses it once instead of twice.
        if let Some((head, message)) = split_message(line)
            && let Ok(message) = AgentMessage::from_json(message)
        {
            return Ok(Entry {
                id: head.id.into_owned(),
                parent_id: head.parent.map(Cow::into_owned),
                timestamp: head.timestamp.into_owned(),
                body: EntryBody::Message(message),
                extra: Extra::new(),
            });
        }
        let mut entry = Entry::from_json(&text(line)).map_err(|error| SessionError::Damaged {
            id: self.tree.id(index).to_owned(),
            reason: error.to_string(),
        })?;
        // Two lines that a crash joined may have two ids. The tree uses the first.
        let (id, parent_id) = (self.tree.id(index), self.tree.parent_id(index));
        if entry.id != id || entry.parent_id.as_deref() != parent_id {
            entry.id = id.to_owned();
            entry.parent_id = parent_id.map(str::to_owned);
        }
        Ok(entry)
    }

    fn mark_damaged(&mut self, index: Index, reason: String) {
        let offset = self.tree.node(index).span.offset;
        self.tree.mark_damaged(index);
        self.damaged.push(DamagedLine { offset, reason });
        if self.leaf == Some(index) {
            self.move_to(self.tree.parent(index));
        }
        self.context = None;
        self.outline = None;
    }

    /// Adds a line of the log to the tree and to what is known about the session.
    fn add_line(&mut self, head: &Head<'_>, span: crate::log::Span, line: &[u8]) -> Index {
        let index = self.tree.push(head, span);
        self.outline = None;
        self.has_conversation |= head.kind.is_conversation();
        self.apply_metadata(head, line);
        index
    }
}

/// Converts a line to text. The lossy conversion alone would do, but takes five times as long.
fn text(line: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed)
}

/// Returns the error of a line that is not valid JSON. Builds nothing from the line.
fn check_json(line: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<IgnoredAny>(line) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("not valid JSON: {error}")),
    }
}
