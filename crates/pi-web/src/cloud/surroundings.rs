//! The view that sources have of the machine: variables, files, programs and the network.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_protocol::HookFuture;

use super::SourceError;
use crate::Variables;
use crate::WebClient;

/// Files of credentials and settings are small; a larger one is something else.
const MAX_FILE: u64 = 1 << 20;

/// The parts of the machine that sources may use. Cheap to clone.
#[derive(Clone)]
#[non_exhaustive]
pub struct Surroundings {
    /// Variables: those of the request, those stored with the credential, then those of the process.
    pub variables: Variables,
    /// The home directory of the user.
    pub home: Option<PathBuf>,
    /// The base URL of the provider, for tokens that the provider itself issues.
    pub base_url: Option<String>,
    /// The client for metadata servers and token endpoints.
    pub web: WebClient,
    /// Runs a program that the user's configuration names, and `az`.
    pub run: Option<Arc<RunCommand>>,
}

/// Runs a program with its arguments; returns what it printed, or the reason of the failure. The
/// implementation limits the time.
pub type RunCommand = dyn Fn(Vec<String>) -> HookFuture<Result<String, String>> + Send + Sync;

impl Surroundings {
    /// Creates surroundings without a home directory and without programs.
    pub fn new(variables: Variables, web: WebClient) -> Self {
        Self { variables, home: None, base_url: None, web, run: None }
    }

    /// Returns a variable if it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name)
    }

    /// Returns true if a variable is set to `true` or `1`.
    pub(crate) fn is_enabled(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Returns a path in the home directory.
    pub(crate) fn in_home(&self, path: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(path))
    }

    /// Returns a path that a variable or a file names, with `~` resolved.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        }
    }

    /// Returns the content of a file; `None` if there is no such file.
    pub(crate) fn read_if_exists(&self, path: &Path) -> Result<Option<String>, SourceError> {
        let failed = |reason: &str| {
            SourceError::new(format!("the file {} cannot be read: {reason}", path.display()))
        };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failed(&error.to_string())),
        };
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(&error.to_string()))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(failed("it is larger than 1 MiB"));
        }
        String::from_utf8(bytes).map(Some).map_err(|_| failed("it is not UTF-8 text"))
    }

    /// Returns the content of a file that must exist.
    pub(crate) fn read(&self, path: &Path) -> Result<String, SourceError> {
        self.read_if_exists(path)?
            .ok_or_else(|| SourceError::new(format!("the file {} does not exist", path.display())))
    }

    /// Returns the trimmed content of a file with a token.
    pub(crate) fn read_token(&self, path: &Path) -> Result<String, SourceError> {
        let token = self.read(path)?.trim().to_owned();
        let problem = if token.is_empty() {
            "is empty"
        } else if token.chars().any(|one| one.is_control() || one.is_whitespace()) {
            "has more than one token"
        } else {
            return Ok(token);
        };
        Err(SourceError::new(format!("the token file {} {problem}", path.display())))
    }

    /// Runs a program.
    pub(crate) async fn run(&self, program: Vec<String>) -> Result<String, SourceError> {
        let Some(run) = &self.run else {
            return Err(SourceError::new("programs that supply credentials are not run here"));
        };
        run(program).await.map_err(SourceError)
    }
}

pi_protocol::debug_fields!(Surroundings, home);
