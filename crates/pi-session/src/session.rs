//! A session: a conversation with all its branches, and where we are in it.
//!
//! What is on disk is the [log](crate::log); which entry follows which is the
//! [tree](crate::tree). Entries themselves are read when they are asked for. Every append is
//! written first and remembered second, so a failed write leaves the session as it was.

mod append;
mod compact;
mod fork;
mod jsonl;
mod live;
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

use crate::SessionError;
use crate::log::{Head, Kind, Log, Reader, split_message};
use crate::tree::{Index, Tree};

pub use fork::{Fork, ForkPosition};
pub use live::SessionContext;
pub use load::OpenOptions;
pub use outline::Outline;
pub use stats::{SessionStats, TokenTotals};
pub use view::{TreeNode, TreeView};

use live::Live;

/// Where and how a new session is kept.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The working directory of the conversation.
    pub cwd: PathBuf,
    /// The directory of the file; without one the session stays in memory.
    pub directory: Option<PathBuf>,
    /// The session's id; a UUIDv7 if not given.
    pub id: Option<String>,
    /// The session this one comes from.
    pub parent: Option<PathBuf>,
}

/// A line of the file that is not an entry. It stays in the file, and is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

#[derive(Debug, Clone)]
struct Label {
    text: String,
    timestamp: String,
    /// The order in which labels were first set.
    order: u64,
}

/// A session, open for reading or for more.
#[derive(Debug)]
pub struct Session {
    header: SessionHeader,
    log: Log,
    /// The file that was opened, also if what is read is a migrated copy in memory.
    opened: Option<PathBuf>,
    /// Where further sessions go.
    directory: Option<PathBuf>,
    tree: Tree,
    leaf: Option<Index>,
    labels: HashMap<String, Label>,
    labels_set: u64,
    name: Option<String>,
    /// A user or assistant message is there: the session is worth a file.
    conversation: bool,
    damaged: Vec<DamagedLine>,
    /// How many entries have been proven to be sound JSON.
    verified: usize,
    live: Option<Live>,
    /// The outline at the current entry, once it was asked for.
    outline: Option<Outline>,
}

impl Session {
    /// A new session. Its file is created with the first user or assistant message.
    pub fn create(new: NewSession) -> Result<Self, SessionError> {
        let timestamp = crate::time::now();
        let id = match new.id {
            Some(id) => crate::files::check_session_id(id)?,
            None => uuid::Uuid::now_v7().to_string(),
        };
        let parent = new.parent.map(|path| path.to_string_lossy().into_owned());
        let cwd = new.cwd.to_string_lossy().into_owned();
        let header = SessionHeader::new(id, timestamp, cwd, parent);
        let directory = new.directory.as_ref();
        let target = directory.map(|directory| directory.join(crate::files::file_name(&header)));
        let mut session = Self::empty(header, Log::Memory { bytes: Vec::new(), target });
        session.directory = new.directory;
        session.write_header()?;
        Ok(session)
    }

    /// A new session that is never written to disk.
    pub fn in_memory(cwd: impl Into<PathBuf>) -> Self {
        let header = SessionHeader::new(
            uuid::Uuid::now_v7().to_string(),
            crate::time::now(),
            cwd.into().to_string_lossy().into_owned(),
            None,
        );
        let mut session = Self::empty(header, Log::Memory { bytes: Vec::new(), target: None });
        // A log in memory takes everything, and a header is always JSON.
        let _ = session.write_header();
        session
    }

    fn empty(header: SessionHeader, log: Log) -> Self {
        Self {
            header,
            log,
            opened: None,
            directory: None,
            tree: Tree::default(),
            leaf: None,
            labels: HashMap::new(),
            labels_set: 0,
            name: None,
            conversation: false,
            damaged: Vec::new(),
            verified: 0,
            live: None,
            outline: None,
        }
    }

    fn write_header(&mut self) -> Result<(), SessionError> {
        let line = serde_json::to_string(&self.header)?;
        self.log.append(&line).map(drop)
    }

    /// The header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// The working directory in the header.
    pub fn cwd(&self) -> &Path {
        Path::new(&self.header.cwd)
    }

    /// The file: the one it is in, or the one it will be in once there is a conversation.
    pub fn path(&self) -> Option<&Path> {
        match &self.log {
            Log::Memory { target: Some(path), .. } => Some(path),
            log => log.path().or(self.opened.as_deref()),
        }
    }

    /// The session is on disk.
    pub fn is_saved(&self) -> bool {
        self.log.path().or(self.opened.as_deref()).is_some()
    }

    /// The directory in which sessions that come from this one are created.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The session's name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The lines that could not be read, as far as anybody has looked; see [`Session::verify`].
    pub fn damaged_lines(&self) -> &[DamagedLine] {
        &self.damaged
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.tree.len() == 0
    }

    /// The id of the current entry; `None` before the first.
    pub fn leaf_id(&self) -> Option<&str> {
        self.leaf.map(|leaf| self.tree.id(leaf))
    }

    /// An entry of the current branch says how much the model thinks. Reads nothing.
    pub fn has_thinking_level(&self) -> bool {
        let mut path = self.tree.walk_up(self.leaf);
        path.any(|index| self.tree.node(index).kind == Kind::ThinkingLevelChange)
    }

    /// There is an entry with this id.
    pub fn contains(&self, id: &str) -> bool {
        self.tree.find(id).is_some()
    }

    /// The id of the parent of an entry.
    pub fn parent_id(&self, id: &str) -> Option<&str> {
        let parent = self.tree.parent(self.tree.find(id)?)?;
        Some(self.tree.id(parent))
    }

    /// The label of an entry.
    pub fn label(&self, id: &str) -> Option<&str> {
        self.labels.get(id).map(|label| label.text.as_str())
    }

    /// Reads an entry.
    pub fn entry(&self, id: &str) -> Result<Entry, SessionError> {
        self.read_entry(&mut self.log.reader(), self.find(id)?)
    }

    /// The line of an entry, exactly as it is in the file.
    pub fn raw_entry(&self, id: &str) -> Result<String, SessionError> {
        self.raw_line(&mut self.log.reader(), self.find(id)?)
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

    /// The ids from a root to `leaf`, or to the current entry.
    pub fn branch_ids(&self, leaf: Option<&str>) -> Result<Vec<&str>, SessionError> {
        let leaf = leaf.map(|id| self.find(id)).transpose()?.or(self.leaf);
        Ok(self.tree.path(leaf).into_iter().map(|index| self.tree.id(index)).collect())
    }

    /// Reads what would be left behind by going to `target`: the entries after the deepest one
    /// that both branches share, up to the current one.
    pub fn abandoned_entries(&self, target: Option<&str>) -> Result<Vec<Entry>, SessionError> {
        let target = target.map(|id| self.find(id)).transpose()?;
        let shared = self.tree.common_ancestor(self.leaf, target);
        let mut left: Vec<Index> =
            self.tree.walk_up(self.leaf).take_while(|index| Some(*index) != shared).collect();
        left.reverse();
        let mut reader = self.log.reader();
        left.into_iter().map(|index| self.read_entry(&mut reader, index)).collect()
    }

    /// Goes to an earlier entry: what is appended next follows it.
    pub fn branch(&mut self, id: &str) -> Result<(), SessionError> {
        self.move_to(Some(self.find(id)?));
        Ok(())
    }

    /// Goes before the first entry: what is appended next is a new root.
    pub fn reset(&mut self) {
        self.move_to(None);
    }

    fn move_to(&mut self, leaf: Option<Index>) {
        if self.leaf != leaf {
            self.leaf = leaf;
            self.live = None;
            self.outline = None;
        }
    }

    /// Proves that every line is sound, and reports those that are not. Reading an entry finds
    /// the same out about one.
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

    /// The entries that are not known to be damaged, in file order.
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
        // Nearly every line is a message and nothing else; this reads it once instead of twice.
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
        // Two lines that a crash made one may have two ids. The tree goes by the first.
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
        self.live = None;
        self.outline = None;
    }

    /// Takes in a line that is in the log.
    fn take_in(&mut self, head: &Head<'_>, span: crate::log::Span, line: &[u8]) -> Index {
        let index = self.tree.push(head, span);
        self.outline = None;
        self.conversation |= head.kind.is_conversation();
        self.note(head, line);
        index
    }
}

/// A line as text. The lossy conversion alone would do, at five times the price.
fn text(line: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed)
}

/// Whether a line is JSON, without building anything from it.
fn check_json(line: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<IgnoredAny>(line) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("not valid JSON: {error}")),
    }
}
