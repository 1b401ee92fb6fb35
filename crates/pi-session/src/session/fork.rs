//! New sessions from existing ones: one branch, all branches, or a copy of the file.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pi_protocol::{EntryBody, Message};

use super::{Label, NewSession, Session};
use crate::SessionError;
use crate::log::{Head, Kind, Log, LogFile, RawObject};
use crate::projection::text_of;
use crate::tree::Index;

/// The point at which a fork leaves the original session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    /// Before a user message, so that the user can rewrite it.
    Before,
    /// After an entry.
    At,
}

/// The result of [`Session::fork`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Fork {
    /// The forked session.
    pub session: Session,
    /// The text of the user message that was left out.
    pub text: Option<String>,
}

impl Session {
    /// Forks the session at an entry of any branch, into the same directory.
    pub fn fork(&self, entry: &str, position: ForkPosition) -> Result<Fork, SessionError> {
        let index = self.find(entry)?;
        let (leaf, text) = match position {
            ForkPosition::At => (Some(index), None),
            ForkPosition::Before => {
                let text = self.user_text(entry)?;
                (self.tree.parent(index), Some(text))
            }
        };
        let persisted = self.path().is_some();
        if persisted && leaf.is_some() && !self.is_saved() {
            return Err(SessionError::NotSaved);
        }
        let session = match leaf {
            None => self.sibling()?,
            Some(leaf) => self.branch_off(leaf)?,
        };
        Ok(Fork { session, text })
    }

    /// Forks the session at the current entry.
    pub fn clone_branch(&self) -> Result<Self, SessionError> {
        let leaf = self.leaf_id().ok_or(SessionError::NotSaved)?;
        Ok(self.fork(leaf, ForkPosition::At)?.session)
    }

    /// Creates a session with all entries of another one.
    pub fn fork_from(source: &Self, new: NewSession) -> Result<Self, SessionError> {
        let parent = new.parent.clone().or_else(|| source.path().map(Path::to_owned));
        let mut fork = Self::create(NewSession { parent, ..new })?;
        let mut reader = source.log.reader();
        for index in source.sound() {
            fork.copy_line(&source.raw_line(&mut reader, index)?)?;
        }
        fork.tree.resolve();
        fork.leaf = fork.last_sound();
        fork.save_if_worth_it()?;
        Ok(fork)
    }

    /// Copies a session file byte for byte into `directory`, under its own name or that name with
    /// a number, and returns the path of the copy.
    pub fn import(source: &Path, directory: &Path) -> Result<PathBuf, SessionError> {
        if crate::files::read_header(source).is_none() {
            std::fs::metadata(source).map_err(SessionError::io("import", source))?;
            return Err(SessionError::NotASession(source.to_owned()));
        }
        let content = std::fs::read(source).map_err(SessionError::io("import", source))?;
        let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut number = 0;
        loop {
            let name = match number {
                0 => format!("{stem}.jsonl"),
                number => format!("{stem}-{number}.jsonl"),
            };
            let path = directory.join(name);
            match LogFile::create(&path, &content) {
                Ok(_) => return Ok(path),
                Err(SessionError::Io(error)) if error.source.kind() == ErrorKind::AlreadyExists => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn user_text(&self, id: &str) -> Result<String, SessionError> {
        match self.entry(id)?.body {
            EntryBody::Message(pi_protocol::AgentMessage::Llm(Message::User(user))) => {
                Ok(text_of(&user.content))
            }
            _ => Err(SessionError::WrongKind { id: id.to_owned(), expected: "a user message" }),
        }
    }

    /// Creates a session in the same directory that names this one as its parent.
    fn sibling(&self) -> Result<Self, SessionError> {
        Self::create(NewSession {
            cwd: self.cwd().to_owned(),
            directory: self.path().and(self.directory.clone()),
            parent: self.path().map(Path::to_owned),
            id: None,
        })
    }

    /// Creates a session with the path to `leaf`. Label entries are removed from the path, and the
    /// labels are appended at its end.
    fn branch_off(&self, leaf: Index) -> Result<Self, SessionError> {
        let mut fork = self.sibling()?;
        let path = self.tree.path(Some(leaf));
        self.each_rechained(&path, |line| fork.copy_line(line))?;
        fork.tree.resolve();
        fork.leaf = fork.last_sound();
        for (target, label) in self.labels_on(&path) {
            let id = fork.new_id();
            let body =
                EntryBody::Label { target_id: target.to_owned(), label: Some(label.text.clone()) };
            fork.append_unsaved(id, label.timestamp.clone(), body)?;
        }
        fork.save_if_worth_it()?;
        Ok(fork)
    }

    /// Calls `each` with the lines of a path, relinked without the label entries, and returns the
    /// id of the last one.
    pub(super) fn each_rechained(
        &self,
        path: &[Index],
        mut each: impl FnMut(&str) -> Result<(), SessionError>,
    ) -> Result<Option<&str>, SessionError> {
        let kept_instead = self.replaced_labels(path);
        let mut reader = self.log.reader();
        let mut parent: Option<&str> = None;
        for index in path {
            let node = self.tree.node(*index);
            if node.kind == Kind::Label {
                continue;
            }
            let line = self.raw_line(&mut reader, *index)?;
            each(&rechain(&line, parent, node.kind, &kept_instead)?)?;
            parent = Some(self.tree.id(*index));
        }
        Ok(parent)
    }

    /// Returns for every label entry on the path the next entry that is not a label.
    fn replaced_labels(&self, path: &[Index]) -> HashMap<&str, &str> {
        let mut next: Option<&str> = None;
        let mut replaced = HashMap::new();
        for index in path.iter().rev() {
            let id = self.tree.id(*index);
            if self.tree.node(*index).kind != Kind::Label {
                next = Some(id);
            } else if let Some(next) = next {
                replaced.insert(id, next);
            }
        }
        replaced
    }

    /// Returns the labels of the entries on a path, in the order in which they were set.
    pub(super) fn labels_on(&self, path: &[Index]) -> Vec<(&str, &Label)> {
        let on_path: HashSet<&str> = path
            .iter()
            .filter(|index| self.tree.node(**index).kind != Kind::Label)
            .map(|index| self.tree.id(*index))
            .collect();
        let labels = self.labels.iter().map(|(target, label)| (target.as_str(), label));
        let mut labels: Vec<_> = labels.filter(|(target, _)| on_path.contains(target)).collect();
        labels.sort_by_key(|(_, label)| label.order);
        labels
    }

    /// Appends a line unchanged to the log in memory.
    fn copy_line(&mut self, line: &str) -> Result<(), SessionError> {
        let span = self.log.append(line)?;
        if let Ok(head) = Head::read(line.as_bytes()) {
            self.add_line(&head, span, line.as_bytes());
        }
        Ok(())
    }

    /// Appends an entry to the log in memory, even if the session has a conversation.
    fn append_unsaved(
        &mut self,
        id: String,
        timestamp: String,
        body: EntryBody,
    ) -> Result<(), SessionError> {
        let parent_id = self.leaf_id().map(str::to_owned);
        let entry =
            pi_protocol::Entry { id, parent_id, timestamp, body, extra: pi_protocol::Extra::new() };
        self.copy_line(&serde_json::to_string(&entry)?)?;
        self.leaf = self.last_sound();
        Ok(())
    }

    fn save_if_worth_it(&mut self) -> Result<(), SessionError> {
        match &self.log {
            Log::Memory { target: Some(_), .. } if self.has_conversation => self.log.publish(),
            _ => Ok(()),
        }
    }
}

/// Returns a line with another parent, and with a first kept entry that is not a label.
fn rechain(
    line: &str,
    parent: Option<&str>,
    kind: Kind,
    kept_instead: &HashMap<&str, &str>,
) -> Result<String, SessionError> {
    let mut object = RawObject::parse(line)?;
    if object.value::<Option<String>>("parentId").flatten().as_deref() != parent {
        object.set_text("parentId", parent);
    }
    if kind == Kind::Compaction
        && let Some(kept) = object.value::<String>("firstKeptEntryId")
        && let Some(instead) = kept_instead.get(kept.as_str())
    {
        object.set_text("firstKeptEntryId", Some(instead));
    }
    Ok(object.to_string())
}
