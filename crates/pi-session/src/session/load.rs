//! Opening a session: finds the entries, heals a torn end, migrates old versions.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pi_fs::NewFile;
use pi_protocol::{Entry, EntryBody, SessionHeader};

use super::{DamagedLine, Label, NewSession, Session, check_json};
use crate::log::{Access, Head, Kind, Log, LogFile, Span};
use crate::{SessionError, migrate};

/// Options for opening a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Opens the session for reading or for appending.
    pub access: Access,
    /// The working directory for a file that does not exist or is empty.
    pub cwd: PathBuf,
    /// Leaves out a last line without an end, which another program may be writing.
    pub follows: bool,
}

impl OpenOptions {
    /// Opens the session for reading.
    pub fn read() -> Self {
        Self { access: Access::Read, cwd: PathBuf::new(), follows: false }
    }

    /// Opens the session for reading while another program appends to it; see
    /// [`Session::refresh`].
    pub fn follow() -> Self {
        Self { follows: true, ..Self::read() }
    }

    /// Opens the session for appending.
    pub fn append() -> Self {
        Self { access: Access::Append, cwd: PathBuf::new(), follows: false }
    }

    /// Sets the working directory for a file that does not exist or is empty.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }
}

impl Session {
    /// Opens a session file.
    ///
    /// A file that does not exist is created with the first user or assistant message. A file with
    /// content that is not a session is an error and stays unchanged.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, SessionError> {
        let path = path.as_ref();
        let mut file = LogFile::open(path, options.access)?;
        if let Some(file) = file.as_mut().filter(|_| options.follows) {
            file.leave_out_partial_line(0)?;
        }
        let mut session = match file {
            Some(file) if file.len() > 0 => Self::load(file, options)?,
            empty => Self::begin(path, empty, options)?,
        };
        session.directory = path.parent().map(Path::to_owned);
        Ok(session)
    }

    /// Creates a session for a file that does not exist yet, or is empty.
    fn begin(
        path: &Path,
        file: Option<LogFile>,
        options: &OpenOptions,
    ) -> Result<Self, SessionError> {
        let mut session =
            Self::create(NewSession { cwd: options.cwd.clone(), ..NewSession::default() })?;
        match (file, options.access) {
            (Some(file), Access::Append) => {
                session.log = Log::File(file);
                session.write_header()?;
            }
            (_, Access::Append) => {
                let Log::Memory { target, .. } = &mut session.log else { return Ok(session) };
                *target = Some(path.to_owned());
            }
            (Some(_), Access::Read) => session.opened = Some(path.to_owned()),
            (None, Access::Read) => {
                let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
                return Err(SessionError::io("open", path)(missing));
            }
        }
        Ok(session)
    }

    fn load(file: LogFile, options: &OpenOptions) -> Result<Self, SessionError> {
        let path = file.path().to_owned();
        let log = Log::File(file);
        let Some(mut header) = read_header(&log)? else {
            return Err(SessionError::NotASession(path));
        };
        let version = header.version.unwrap_or(1);
        let append = options.access == Access::Append;
        if append && version > SessionHeader::VERSION {
            return Err(SessionError::TooNew { path, version });
        }
        let log = match log {
            Log::File(file) if version < SessionHeader::VERSION => {
                let bytes = migrate::migrate(&file.read_at(0..file.len())?);
                header.version = Some(SessionHeader::VERSION);
                if append {
                    Log::File(replace(file, &bytes)?)
                } else {
                    Log::Memory { bytes, target: None }
                }
            }
            Log::File(mut file) if append => {
                file.heal()?;
                Log::File(file)
            }
            log => log,
        };
        let mut session = Self::empty(header, log);
        session.opened = Some(path);
        session.scan(0)?;
        Ok(session)
    }

    /// Adds the lines from `start` on. If that is the whole file, the last sound entry becomes the
    /// current one.
    pub(super) fn scan(&mut self, start: u64) -> Result<(), SessionError> {
        let first = self.tree.len();
        // The scan borrows the log while everything else is filled.
        let log = std::mem::replace(&mut self.log, Log::Memory { bytes: Vec::new(), target: None });
        let scanned = log.lines(start, |offset, line| {
            self.take_line(offset, line);
            ControlFlow::Continue(())
        });
        self.log = log;
        scanned?;
        self.tree.resolve();
        self.drop_torn_end(first)?;
        if self.tree.has_reused_ids() {
            // An id names the last sound entry that has it.
            self.verify()?;
        }
        if start == 0 {
            self.leaf = self.last_sound();
        }
        Ok(())
    }

    fn take_line(&mut self, offset: u64, line: &[u8]) {
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() {
            return;
        }
        let offset = offset + (line.len() - line.trim_ascii_start().len()) as u64;
        let Ok(len) = u32::try_from(trimmed.len()) else {
            self.damaged.push(DamagedLine { offset, reason: "the line is too long".to_owned() });
            return;
        };
        match Head::read(trimmed) {
            Ok(head) if head.kind == Kind::Header => {}
            Ok(head) => drop(self.add_line(&head, Span { offset, len }, trimmed)),
            Err(reason) => self.damaged.push(DamagedLine { offset, reason }),
        }
    }

    /// Marks unreadable entries at the end as damaged. A crash leaves its traces there, and the
    /// next append follows the last entry.
    fn drop_torn_end(&mut self, first: usize) -> Result<(), SessionError> {
        for index in self.tree.indices().rev().take(self.tree.len() - first) {
            let line = self.log.reader().line(self.tree.node(index).span)?.to_vec();
            let Err(reason) = check_json(&line) else { break };
            self.mark_damaged(index, reason);
        }
        self.tree.resolve();
        Ok(())
    }

    /// Applies an entry that sets a label or the name of the session.
    pub(super) fn apply_metadata(&mut self, head: &Head<'_>, line: &[u8]) {
        if !matches!(head.kind, Kind::Label | Kind::SessionInfo) {
            return;
        }
        let Ok(entry) = Entry::from_json(&String::from_utf8_lossy(line)) else { return };
        match entry.body {
            EntryBody::SessionInfo { name } => {
                self.name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            }
            EntryBody::Label { target_id, label: Some(text) } if !text.is_empty() => {
                self.labels_set += 1;
                let order =
                    self.labels.get(target_id.as_str()).map_or(self.labels_set, |old| old.order);
                let label = Label { text, timestamp: entry.timestamp, order };
                self.labels.insert(target_id, label);
            }
            EntryBody::Label { target_id, .. } => drop(self.labels.remove(target_id.as_str())),
            _ => {}
        }
    }
}

/// Reads the header: the first line that is JSON, if that is a header.
pub(super) fn read_header(log: &Log) -> Result<Option<SessionHeader>, SessionError> {
    let mut found = None;
    log.lines(0, |_, line| match crate::files::parse_header(line) {
        Some(first) => {
            found = first;
            ControlFlow::Break(())
        }
        None => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Replaces the content of a session file atomically.
fn replace(file: LogFile, content: &[u8]) -> Result<LogFile, SessionError> {
    let path = file.path().to_owned();
    let rewrite = || {
        let mut new = NewFile::create(&path, pi_fs::Access::Private)?;
        new.write_all(content)?;
        new.file().set_permissions(std::fs::metadata(&path)?.permissions())?;
        new.file().sync_all()?;
        new.finish()
    };
    rewrite().map_err(SessionError::io("migrate", &path))?;
    // The old file stays locked until the new one is locked.
    let replaced = LogFile::open(&path, Access::Append)?;
    drop(file);
    replaced.ok_or(SessionError::Replaced(path))
}
