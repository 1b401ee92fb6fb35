//! The tokens of a server: a private file that has their hashes, rights and logins, never the tokens.
//!
//! Several processes use the file: servers, and the commands that add and revoke tokens. A change is
//! made under a lock, and a server reads the file again when it has changed.

mod file;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pi_base::lock;
use pi_fs::FileError;
use pi_protocol::CancelToken;
use pi_web::http::StatusCode;
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::secret;
use super::{Identity, Right};
use crate::error::ApiError;
use file::{Content, File, Login, Row, Stamp};

/// Most logins of browsers that a token has; the oldest ends when there is another one.
const LOGINS: usize = 32;

/// The time after which the login of a browser ends.
const LOGIN_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The time after which the last use of a token is written again.
const USE_STEP: SignedDuration = SignedDuration::from_mins(1);

/// Reasons why the tokens cannot be used or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not one of tokens. It is never overwritten.
    #[error("cannot read {}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Problem of its text.
        problem: String,
    },
    /// Another process changes the file for too long.
    #[error("{} is in use by another process", .0.display())]
    Locked(PathBuf),
    /// A token of this name exists.
    #[error("there is already a token {0:?}")]
    Exists(String),
    /// No token has this name.
    #[error("there is no token {0:?}")]
    Unknown(String),
    /// The name is empty, too long or has other characters than those of a path.
    #[error("the name of a token has 1 to 64 letters, digits, dashes, dots or underscores")]
    InvalidName,
    /// The system has no random bytes.
    #[error("cannot make a token: {0}")]
    Random(io::Error),
}

impl From<TokensError> for ApiError {
    fn from(error: TokensError) -> Self {
        let (status, code) = match &error {
            TokensError::Exists(_) => (StatusCode::CONFLICT, "token_exists"),
            TokensError::Unknown(_) => (StatusCode::NOT_FOUND, "no_token"),
            TokensError::InvalidName => (StatusCode::BAD_REQUEST, "invalid_name"),
            // Without the file, no token is valid.
            _ => (StatusCode::SERVICE_UNAVAILABLE, "tokens_unavailable"),
        };
        Self::new(status, code, error.to_string())
    }
}

/// A token to add.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewToken {
    /// Name, for lists, the audit log and records of answers.
    pub name: String,
    /// The most that the token permits.
    pub right: Right,
    /// The only session that the token reaches.
    pub session: Option<String>,
    /// Time after which the token ends.
    pub life: Option<SignedDuration>,
}

impl NewToken {
    /// Creates a token for all sessions that does not expire.
    pub fn new(name: impl Into<String>, right: Right) -> Self {
        Self { name: name.into(), right, session: None, life: None }
    }
}

/// A token, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenInfo {
    /// Name of the token.
    pub name: String,
    /// The most that it permits.
    pub right: Right,
    /// The only session that it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Time of its creation.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// Time at which it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Timestamp>,
    /// Time at which it was used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_used: Option<Timestamp>,
    /// Number of browsers that are logged in with it.
    pub logins: usize,
}

/// The tokens of a server.
#[derive(Debug)]
pub struct Tokens {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    content: Content,
    stamp: Option<Stamp>,
    /// By id of a token; cancelled when the token is gone.
    revoked: HashMap<String, CancelToken>,
}

/// What happens to the logins of a token that gets another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logins {
    Stay,
    End,
}

/// The login of a browser.
#[derive(Debug)]
pub(super) struct NewLogin {
    pub(super) cookie: SecretString,
    pub(super) identity: Identity,
}

impl Tokens {
    /// Opens the tokens in a directory, which need not exist.
    pub fn open(directory: &Path) -> Result<Self, TokensError> {
        let tokens =
            Self { file: File::new(directory.join("tokens.json")), state: Mutex::default() };
        tokens.refresh()?;
        Ok(tokens)
    }

    /// Adds a token. It is returned once and not stored.
    pub fn add(&self, new: NewToken) -> Result<SecretString, TokensError> {
        let secret = secret::generate().map_err(TokensError::Random)?;
        self.insert(new, &secret, None)?;
        Ok(secret)
    }

    /// Adds a token that the user has chosen, or gives the token of this name another value. With
    /// another value, browsers that are logged in have to log in again.
    pub fn set(&self, new: NewToken, secret: &SecretString) -> Result<(), TokensError> {
        self.insert(new, secret, Some(Logins::End))
    }

    /// Adds a token, or gives the token of this name another random value. Browsers that are logged
    /// in stay so: a server that starts again makes its token anew.
    pub fn renew(&self, new: NewToken) -> Result<SecretString, TokensError> {
        let secret = secret::generate().map_err(TokensError::Random)?;
        self.insert(new, &secret, Some(Logins::Stay))?;
        Ok(secret)
    }

    /// Adds a token, or replaces the one of its name if `replaced` says what happens to its logins.
    fn insert(
        &self,
        new: NewToken,
        token: &SecretString,
        replaced: Option<Logins>,
    ) -> Result<(), TokensError> {
        let NewToken { name, right, session, life } = new;
        if !is_name(&name) {
            return Err(TokensError::InvalidName);
        }
        let now = Timestamp::now();
        let expires = life.and_then(|life| now.checked_add(life).ok());
        let hash = secret::hash(token.expose_secret());
        self.change(|content| {
            content.tokens.retain(|row| !row.is_expired(now));
            let earlier = content.tokens.iter_mut().find(|row| row.name == name);
            match (earlier, replaced) {
                (Some(_), None) => Err(TokensError::Exists(name)),
                (Some(row), Some(logins)) => {
                    let is_same = row.right == right
                        && row.session == session
                        && (row.hash == hash || logins == Logins::Stay);
                    if !is_same {
                        row.id = uuid::Uuid::new_v4().to_string();
                        row.logins.clear();
                    }
                    (row.hash, row.right, row.session, row.expires) =
                        (hash, right, session, expires);
                    Ok(())
                }
                (None, _) => {
                    let id = uuid::Uuid::new_v4().to_string();
                    let row = Row {
                        id,
                        name,
                        right,
                        session,
                        hash,
                        created: now,
                        expires,
                        last_used: None,
                        logins: Vec::new(),
                    };
                    content.tokens.push(row);
                    Ok(())
                }
            }
        })
    }

    /// Removes a token with its logins. Its open connections end.
    pub fn revoke(&self, name: &str) -> Result<(), TokensError> {
        self.change(|content| {
            let before = content.tokens.len();
            content.tokens.retain(|row| row.name != name);
            match content.tokens.len() == before {
                true => Err(TokensError::Unknown(name.to_owned())),
                false => Ok(()),
            }
        })
    }

    /// Returns the tokens that are valid, oldest first.
    pub fn list(&self) -> Result<Vec<TokenInfo>, TokensError> {
        self.refresh()?;
        let now = Timestamp::now();
        let state = lock(&self.state);
        let valid = state.content.tokens.iter().filter(|row| !row.is_expired(now));
        Ok(valid.map(|row| row.info(now)).collect())
    }

    /// Reads the file again if it has changed. Connections of tokens that are gone end.
    pub fn refresh(&self) -> Result<(), TokensError> {
        let stamp = self.file.stamp()?;
        if lock(&self.state).stamp == stamp {
            return Ok(());
        }
        let read = self.file.read()?;
        self.adopt(read, stamp);
        Ok(())
    }

    /// Returns the sender of a request with this token.
    pub(crate) fn identify(&self, token: &str) -> Result<Option<Identity>, TokensError> {
        self.refresh()?;
        let now = Timestamp::now();
        let hash = secret::hash(token);
        let mut state = lock(&self.state);
        let mut found = None;
        // All rows are compared, so that the time tells nothing.
        for (at, row) in state.content.tokens.iter().enumerate() {
            if secret::is_equal(&row.hash, &hash) && !row.is_expired(now) {
                found = Some(at);
            }
        }
        let Some(row) = found.and_then(|at| state.content.tokens.get(at)).cloned() else {
            return Ok(None);
        };
        let identity = state.identity(&row, row.expires);
        drop(state);
        self.note_use(&row, now);
        Ok(Some(identity))
    }

    /// Returns the sender of a request with this cookie.
    pub(super) fn identify_login(&self, cookie: &str) -> Result<Option<Identity>, TokensError> {
        self.refresh()?;
        let now = Timestamp::now();
        let hash = secret::hash(cookie);
        let mut state = lock(&self.state);
        let mut found = None;
        for (at, row) in state.content.tokens.iter().enumerate() {
            for login in row.logins.iter().filter(|login| login.expires > now) {
                if secret::is_equal(&login.hash, &hash) && !row.is_expired(now) {
                    found = Some((at, login.expires));
                }
            }
        }
        let found =
            found.and_then(|(at, until)| Some((state.content.tokens.get(at)?.clone(), until)));
        let Some((row, until)) = found else { return Ok(None) };
        let identity = state.identity(&row, Some(until));
        drop(state);
        self.note_use(&row, now);
        Ok(Some(identity))
    }

    /// Logs a browser in with a token; `None` if the token is not valid.
    pub(super) fn log_in(&self, token: &str) -> Result<Option<NewLogin>, TokensError> {
        let cookie = secret::generate().map_err(TokensError::Random)?;
        let (hash, now) = (secret::hash(token), Timestamp::now());
        let login_hash = secret::hash(cookie.expose_secret());
        if self.identify(token)?.is_none() {
            return Ok(None);
        }
        let row = self.change(|content| {
            let rows = content.tokens.iter_mut();
            let mut rows = rows.filter(|row| secret::is_equal(&row.hash, &hash));
            let Some(row) = rows.next() else { return Ok(None) };
            row.logins.retain(|login| login.expires > now);
            if row.logins.len() >= LOGINS {
                row.logins.remove(0);
            }
            let latest = now.checked_add(LOGIN_LIFE).unwrap_or(Timestamp::MAX);
            let expires = row.expires.map_or(latest, |expires| expires.min(latest));
            row.logins.push(Login { hash: login_hash, created: now, expires });
            Ok(Some((row.clone(), expires)))
        })?;
        let Some((row, expires)) = row else { return Ok(None) };
        let identity = lock(&self.state).identity(&row, Some(expires));
        Ok(Some(NewLogin { cookie, identity }))
    }

    /// Ends the login of a browser.
    pub(super) fn log_out(&self, cookie: &str) -> Result<(), TokensError> {
        let hash = secret::hash(cookie);
        self.change(|content| {
            for row in &mut content.tokens {
                row.logins.retain(|login| !secret::is_equal(&login.hash, &hash));
            }
            Ok(())
        })
    }

    /// Writes the time of the last use, to the minute. A failure costs only this time.
    fn note_use(&self, row: &Row, now: Timestamp) {
        if row.last_used.is_some_and(|last| now.duration_since(last) < USE_STEP) {
            return;
        }
        let _ = self.change(|content| {
            if let Some(row) = content.tokens.iter_mut().find(|own| own.id == row.id) {
                row.last_used = Some(now);
            }
            Ok(())
        });
    }

    /// Changes the file under its lock.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Content) -> Result<T, TokensError>,
    ) -> Result<T, TokensError> {
        let _lock = self.file.lock(Duration::from_secs(5))?;
        let mut content = self.file.read()?;
        let result = change(&mut content)?;
        self.file.write(&content)?;
        let stamp = self.file.stamp()?;
        self.adopt(content, stamp);
        Ok(result)
    }

    fn adopt(&self, content: Content, stamp: Option<Stamp>) {
        let gone = {
            let mut state = lock(&self.state);
            (state.content, state.stamp) = (content, stamp);
            let State { content, revoked, .. } = &mut *state;
            let is_kept = |id: &String| content.tokens.iter().any(|row| row.id == *id);
            let gone: Vec<String> = revoked.keys().filter(|id| !is_kept(id)).cloned().collect();
            gone.iter().filter_map(|id| revoked.remove(id)).collect::<Vec<_>>()
        };
        // Outside of the lock: cancellation calls back.
        gone.iter().for_each(CancelToken::cancel);
    }
}

impl State {
    fn identity(&mut self, row: &Row, expires: Option<Timestamp>) -> Identity {
        let revoked = self.revoked.entry(row.id.clone()).or_default().clone();
        Identity {
            name: row.name.clone(),
            right: row.right,
            session: row.session.clone(),
            expires,
            revoked,
        }
    }
}

/// Returns true if a text can be the name of a token. It is a part of paths.
fn is_name(name: &str) -> bool {
    let is_fit = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
    let is_path = !name.starts_with('.') && !name.contains("..");
    (1..=64).contains(&name.len()) && name.chars().all(is_fit) && is_path
}
