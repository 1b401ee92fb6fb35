//! Which conversation is meant, and opening it.

use std::path::{Path, PathBuf};

use pi_session::{
    NewSession, OpenOptions, Session, SessionError, find_by_id, most_recent, read_header,
    session_files,
};

use crate::Environment;
use crate::config::SessionDirectory;

/// Which conversation to have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Conversation {
    /// A new one.
    #[default]
    New,
    /// One that is never written down.
    InMemory,
    /// The one that was written to last, or a new one.
    Latest,
    /// A file, an id, or the beginning of one.
    Existing(String),
    /// The one with exactly this id, or a new one with it.
    WithId(String),
    /// A copy of another, named as for `Existing`; with this id, if one is given.
    Fork(String, Option<String>),
}

/// Why there is no conversation.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// There is none like it.
    #[error("No session found matching '{0}'; see `pi sessions list --all`")]
    NotFound(String),
    /// There are several.
    #[error("'{0}' may be any of {1} sessions; write more of the id")]
    Ambiguous(String, usize),
    /// It belongs to another directory.
    #[error(
        "The session {id} belongs to {cwd}. Go there, or continue a copy of it here with --fork {id}"
    )]
    Elsewhere {
        /// Its id.
        id: String,
        /// Its working directory.
        cwd: String,
    },
    /// Its working directory is gone, and with it everything that the conversation is about.
    #[error(
        "Stored session working directory does not exist: {cwd}\nMake it again, or continue a copy of the session where you are with --fork {file}"
    )]
    DirectoryGone {
        /// The directory.
        cwd: PathBuf,
        /// The file of the conversation.
        file: PathBuf,
    },
    /// There is one already.
    #[error("Session already exists with id '{0}'")]
    Exists(String),
    /// It cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Conversation {
    /// Opens or begins it.
    pub fn open(
        &self,
        environment: &Environment,
        place: &SessionDirectory,
    ) -> Result<Session, ConversationError> {
        let new = |id: Option<String>| NewSession {
            cwd: environment.cwd.clone(),
            directory: Some(place.path.clone()),
            id,
            ..NewSession::default()
        };
        match self {
            Self::New => Ok(Session::create(new(None))?),
            Self::InMemory => Ok(Session::in_memory(&environment.cwd)),
            Self::Latest => {
                let own = place.shared.then_some(environment.cwd.as_path());
                match most_recent(&place.path, own)? {
                    Some(path) => open(&path, environment),
                    None => Ok(Session::create(new(None))?),
                }
            }
            Self::Existing(reference) => {
                let (path, elsewhere) = find(reference, environment, place)?;
                match elsewhere {
                    Some((id, cwd)) => Err(ConversationError::Elsewhere { id, cwd }),
                    None => open(&path, environment),
                }
            }
            Self::WithId(id) => match find_by_id(&place.path, id)? {
                Some(path) => open(&path, environment),
                None => Ok(Session::create(new(Some(id.clone())))?),
            },
            Self::Fork(reference, id) => {
                if let Some(id) = id
                    && find_by_id(&place.path, id)?.is_some()
                {
                    return Err(ConversationError::Exists(id.clone()));
                }
                let (path, _) = find(reference, environment, place)?;
                if read_header(&path).is_none() {
                    return Err(SessionError::NotASession(path).into());
                }
                let source = Session::open(&path, &OpenOptions::read())?;
                Ok(Session::fork_from(&source, new(id.clone()))?)
            }
        }
    }
}

fn open(path: &Path, environment: &Environment) -> Result<Session, ConversationError> {
    open_existing(path, &environment.cwd)
}

/// Opens a conversation to go on with it. One that names no directory is about `cwd`.
pub(crate) fn open_existing(path: &Path, cwd: &Path) -> Result<Session, ConversationError> {
    let cwd = cwd.to_owned();
    let session = Session::open(path, &OpenOptions::append().cwd(cwd))?;
    if !session.cwd().is_dir() {
        let (cwd, file) = (session.cwd().to_owned(), path.to_owned());
        return Err(ConversationError::DirectoryGone { cwd, file });
    }
    Ok(session)
}

/// The file that is meant, and whose it is if it is of another directory.
fn find(
    reference: &str,
    environment: &Environment,
    place: &SessionDirectory,
) -> Result<(PathBuf, Option<(String, String)>), ConversationError> {
    if reference.contains(['/', '\\']) || reference.ends_with(".jsonl") {
        return Ok((environment.expand(reference, &environment.cwd), None));
    }
    let own = place.shared.then_some(environment.cwd.as_path());
    if let Some(path) = by_id(reference, session_files(&place.path)?, own)? {
        return Ok((path, None));
    }
    if place.shared {
        return Err(ConversationError::NotFound(reference.to_owned()));
    }
    let mut everywhere = Vec::new();
    let all = environment.agent_directory.join("sessions");
    for directory in std::fs::read_dir(all).into_iter().flatten().flatten() {
        everywhere.extend(session_files(&directory.path()).unwrap_or_default());
    }
    let path = by_id(reference, everywhere, None)?;
    let path = path.ok_or_else(|| ConversationError::NotFound(reference.to_owned()))?;
    let header = read_header(&path).unwrap_or_default();
    Ok((path, Some((header.id, header.cwd))))
}

/// An exact id, else the beginning of one. The id is in a file's name, so few files are read.
fn by_id(
    reference: &str,
    files: Vec<PathBuf>,
    cwd: Option<&Path>,
) -> Result<Option<PathBuf>, ConversationError> {
    if reference.is_empty() {
        return Ok(None);
    }
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(reference) {
            continue;
        }
        let Some(header) = read_header(&path) else { continue };
        if header.id.starts_with(reference) && cwd.is_none_or(|cwd| Path::new(&header.cwd) == cwd) {
            found.push((header.id, path));
        }
    }
    if let Some(at) = found.iter().position(|(id, _)| id == reference) {
        return Ok(Some(found.swap_remove(at).1));
    }
    if found.len() > 1 {
        return Err(ConversationError::Ambiguous(reference.to_owned(), found.len()));
    }
    Ok(found.pop().map(|(_, path)| path))
}
