//! Selection of the session to open: new, latest, by file, by id, or a copy.

use std::path::{Path, PathBuf};

use pi_config::SessionDirectory;
use pi_session::{
    ListOptions, NewSession, OpenOptions, Session, SessionError, SessionIndex, SessionInfo,
    directory_from_text, find_by_id, most_recent, read_header, session_files,
};

use crate::Environment;

/// Selects a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionSelector {
    /// A new session.
    #[default]
    New,
    /// A new session that is not stored.
    InMemory,
    /// The session that was written to last, or a new one.
    Latest,
    /// An existing session by its file, its id, the beginning or the end of its id, or its name.
    Existing(String),
    /// The session with exactly this id, or a new one with this id.
    WithId(String),
    /// The session with exactly this id, or a new one with this id that works for another session.
    Child {
        /// File of the other session.
        parent: PathBuf,
        /// Id of the session.
        id: String,
    },
    /// A copy of another session.
    Fork {
        /// The other session, by its file, its id, the beginning or the end of its id, or its name.
        source: String,
        /// Id of the copy; a new one if absent.
        id: Option<String>,
    },
}

/// Reasons why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectSessionError {
    /// No session matches.
    #[error("No session found matching '{0}'")]
    NotFound(String),
    /// Several sessions match.
    #[error("'{0}' matches {1} sessions")]
    Ambiguous(String, usize),
    /// Several sessions have this name.
    #[error("{1} sessions are named '{0}'")]
    AmbiguousName(String, usize),
    /// The session belongs to another working directory.
    #[error("the session {id} belongs to another directory: {cwd}")]
    Elsewhere {
        /// Id of the session.
        id: String,
        /// Working directory of the session.
        cwd: String,
    },
    /// The working directory of the session does not exist any more.
    #[error("Stored session working directory does not exist: {cwd}")]
    DirectoryGone {
        /// The directory that is missing.
        cwd: PathBuf,
        /// File of the session.
        file: PathBuf,
    },
    /// A session with this id exists.
    #[error("Session already exists with id '{0}'")]
    Exists(String),
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl SessionSelector {
    /// Opens or creates the session.
    pub fn open(
        &self,
        environment: &Environment,
        place: &SessionDirectory,
    ) -> Result<Session, SelectSessionError> {
        let new = |id: Option<String>| {
            let mut new = NewSession::new(&environment.cwd).directory(&place.path);
            new.id = id;
            new
        };
        match self {
            Self::New => Ok(Session::create(new(None))?),
            Self::Child { parent, id } => match find_by_id(&place.path, id)? {
                Some(path) => open(&path, environment),
                None => Ok(Session::create(new(Some(id.clone())).parent(parent))?),
            },
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
                    Some((id, cwd)) => Err(SelectSessionError::Elsewhere { id, cwd }),
                    None => open(&path, environment),
                }
            }
            Self::WithId(id) => match find_by_id(&place.path, id)? {
                Some(path) => open(&path, environment),
                None => Ok(Session::create(new(Some(id.clone())))?),
            },
            Self::Fork { source: reference, id } => {
                if let Some(id) = id
                    && find_by_id(&place.path, id)?.is_some()
                {
                    return Err(SelectSessionError::Exists(id.clone()));
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

fn open(path: &Path, environment: &Environment) -> Result<Session, SelectSessionError> {
    open_existing(path, &environment.cwd)
}

/// Opens a session to continue it. A session without a directory belongs to `cwd`.
pub(crate) fn open_existing(path: &Path, cwd: &Path) -> Result<Session, SelectSessionError> {
    let cwd = cwd.to_owned();
    let session = Session::open(path, &OpenOptions::append().cwd(cwd))?;
    if !session.cwd().is_dir() {
        let (cwd, file) = (session.cwd().to_owned(), path.to_owned());
        return Err(SelectSessionError::DirectoryGone { cwd, file });
    }
    Ok(session)
}

/// Finds the file of a session, and its owner if it belongs to another directory.
fn find(
    reference: &str,
    environment: &Environment,
    place: &SessionDirectory,
) -> Result<(PathBuf, Option<(String, String)>), SelectSessionError> {
    if reference.contains(['/', '\\']) || reference.ends_with(".jsonl") {
        return Ok((environment.expand(reference, &environment.cwd), None));
    }
    let own = place.shared.then_some(environment.cwd.as_path());
    if let Some(path) = by_id(reference, session_files(&place.path)?, own)? {
        return Ok((path, None));
    }
    if !place.shared {
        let mut everywhere = Vec::new();
        let all = environment.agent_directory.join("sessions");
        for directory in std::fs::read_dir(all).into_iter().flatten().flatten() {
            everywhere.extend(session_files(&directory.path()).unwrap_or_default());
        }
        if let Some(path) = by_id(reference, everywhere, None)? {
            let header = read_header(&path).unwrap_or_default();
            return Ok((path, Some((header.id, header.cwd))));
        }
    }
    let mut index = session_index(environment, place.shared.then_some(&place.path));
    let sessions = index.list(&ListOptions::default()).sessions;
    match by_name(&sessions, reference, &environment.cwd).as_slice() {
        [] => Err(SelectSessionError::NotFound(reference.to_owned())),
        [one] if directory_from_text(&one.cwd) == environment.cwd => Ok((one.path.clone(), None)),
        [one] => Ok((one.path.clone(), Some((one.id.clone(), one.cwd.clone())))),
        several => Err(SelectSessionError::AmbiguousName(reference.to_owned(), several.len())),
    }
}

/// Returns the index of the sessions in a directory for all sessions, or else in the agent
/// directory. Only the latter has a cache.
pub fn session_index(
    environment: &Environment,
    shared_directory: Option<&PathBuf>,
) -> SessionIndex {
    let agent = &environment.agent_directory;
    match shared_directory {
        Some(directory) => SessionIndex::new(directory, None),
        None => SessionIndex::new(agent.join("sessions"), Some(agent.join("cache/sessions"))),
    }
}

/// Returns the sessions with exactly this name: those of `cwd`, or all if none is there.
pub fn by_name<'a>(sessions: &'a [SessionInfo], name: &str, cwd: &Path) -> Vec<&'a SessionInfo> {
    let is_named = |session: &&SessionInfo| session.name.as_deref() == Some(name);
    let all: Vec<&SessionInfo> = sessions.iter().filter(is_named).collect();
    let here: Vec<&SessionInfo> =
        all.iter().copied().filter(|session| Path::new(&session.cwd) == cwd).collect();
    if here.is_empty() { all } else { here }
}

/// The shortest end of an id that names it. Fewer characters would also be a part of the time.
const MIN_END: usize = 6;

/// Returns true if a reference is the beginning of an id, or enough of its end.
pub fn names_id(reference: &str, id: &str) -> bool {
    let is_end = reference.len() >= MIN_END && id.ends_with(reference);
    !reference.is_empty() && (id.starts_with(reference) || is_end)
}

/// Finds a session by its exact id, else by the beginning or the end of its id. File names contain the id, so
/// few files are read.
fn by_id(
    reference: &str,
    files: Vec<PathBuf>,
    cwd: Option<&Path>,
) -> Result<Option<PathBuf>, SelectSessionError> {
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
        if names_id(reference, &header.id) && cwd.is_none_or(|cwd| Path::new(&header.cwd) == cwd) {
            found.push((header.id, path));
        }
    }
    if let Some(at) = found.iter().position(|(id, _)| id == reference) {
        return Ok(Some(found.swap_remove(at).1));
    }
    if found.len() > 1 {
        return Err(SelectSessionError::Ambiguous(reference.to_owned(), found.len()));
    }
    Ok(found.pop().map(|(_, path)| path))
}
