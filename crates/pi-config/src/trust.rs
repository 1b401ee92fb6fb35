//! Trust in projects: `trust.json`.
//!
//! The settings and resources of a project (skills, extensions, prompts) change what the program
//! does, so the user decides about them first. A decision applies to a directory and everything
//! below it, unless a closer directory has a decision of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_fs::Access;
use pi_guard::protected::{self, Protection};
use serde_json::{Map, Value};

use crate::ConfigError;
use crate::file::{JsonFile, kind};
use crate::settings::ProjectTrustDefault;

const STALE: Duration = Duration::from_secs(10);

/// A decision that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrustEntry {
    /// Directory of the decision.
    pub path: PathBuf,
    /// The directory is trusted.
    pub trusted: bool,
}

impl TrustEntry {
    /// Creates a decision about a project.
    pub fn new(path: impl Into<PathBuf>, trusted: bool) -> Self {
        Self { path: path.into(), trusted }
    }
}

/// The trust in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The settings and resources of the project are used.
    Trusted,
    /// The settings and resources of the project are ignored.
    Untrusted,
    /// The user has to decide. Without a UI the project is not trusted.
    Ask,
}

/// The facts that a decision depends on, in order of precedence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustQuestion {
    /// Decision of the program, for example from `--approve` or `--no-approve`.
    pub flag: Option<bool>,
    /// The project has files that need trust; see [`needs_trust`].
    pub needed: bool,
    /// Decision of an extension.
    pub extension: Option<bool>,
    /// Stored decision of the user.
    pub saved: Option<bool>,
    /// Value of the setting `defaultProjectTrust`.
    pub default: ProjectTrustDefault,
}

impl TrustQuestion {
    /// Returns the decision.
    pub fn decide(self) -> Trust {
        let fixed = |trusted| if trusted { Trust::Trusted } else { Trust::Untrusted };
        if let Some(flag) = self.flag {
            return fixed(flag);
        }
        if !self.needed {
            // A stored refusal also applies to files that appear later.
            return fixed(self.saved != Some(false));
        }
        match (self.extension.or(self.saved), self.default) {
            (Some(decided), _) => fixed(decided),
            (None, ProjectTrustDefault::Always) => Trust::Trusted,
            (None, ProjectTrustDefault::Never) => Trust::Untrusted,
            (None, ProjectTrustDefault::Ask) => Trust::Ask,
        }
    }
}

/// Returns true if the project in `cwd` has files that need trust. The skills in the user's home
/// do not belong to a project.
pub fn needs_trust(cwd: &Path, home: Option<&Path>) -> bool {
    if protected::in_project(Protection::NeedsTrust).any(|path| cwd.join(path).exists()) {
        return true;
    }
    shared_skills(cwd, home).next().is_some()
}

/// Returns the files and directories that a project contributes to runs if it is trusted, relative
/// to the project where they are inside of it. Empty directories are left out.
pub fn files_that_need_trust(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let own = protected::in_project(Protection::NeedsTrust).map(PathBuf::from);
    let mut paths: Vec<PathBuf> = own.filter(|path| is_used(&directory.join(path))).collect();
    for skills in shared_skills(directory, home) {
        paths.push(skills.strip_prefix(directory).map_or(skills.clone(), Path::to_path_buf));
    }
    paths
}

/// Returns true for a file, and for a directory that is not empty.
fn is_used(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    }
}

/// Returns the directories `.agents/skills` of a project and of the directories above it, but not
/// that of the user's home.
fn shared_skills(cwd: &Path, home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let home = home.map(canonical);
    let directories: Vec<PathBuf> = canonical(cwd).ancestors().map(Path::to_owned).collect();
    let foreign = directories.into_iter().filter(move |one| home.as_ref() != Some(one));
    foreign.map(|one| one.join(".agents/skills")).filter(|path| path.exists())
}

/// The stored decisions.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: JsonFile,
}

impl TrustStore {
    /// Returns the store in the agent directory.
    pub fn new(agent_directory: &Path) -> Self {
        let path = agent_directory.join("trust.json");
        Self { file: JsonFile { path, stale: STALE, access: Access::Default, end: "\n" } }
    }

    /// Returns all decisions, sorted by path.
    pub fn list(&self) -> Result<Vec<TrustEntry>, ConfigError> {
        let decisions = self.file.read()?.unwrap_or_default();
        self.check(&decisions)?;
        let entry = |(path, decision): (&String, &Value)| {
            Some(TrustEntry::new(path.as_str(), decision.as_bool()?))
        };
        let mut entries: Vec<TrustEntry> = decisions.iter().filter_map(entry).collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Returns the decision for a directory, or for its closest ancestor with one.
    pub fn find(&self, directory: &Path) -> Result<Option<TrustEntry>, ConfigError> {
        let decisions = self.file.read()?.unwrap_or_default();
        self.check(&decisions)?;
        let found = canonical(directory).ancestors().find_map(|ancestor| {
            decisions.iter().find_map(|(path, decision)| {
                let path = Path::new(path);
                (path == ancestor).then_some(())?;
                Some(TrustEntry { path: path.to_owned(), trusted: decision.as_bool()? })
            })
        });
        Ok(found)
    }

    /// Stores the decision for a directory; `None` removes it.
    pub fn record(&self, directory: &Path, trusted: Option<bool>) -> Result<(), ConfigError> {
        let mut open = self.file.open()?;
        self.check(&open.content)?;
        let name = canonical(directory).to_string_lossy().into_owned();
        match trusted {
            Some(trusted) => open.content.insert(name, trusted.into()),
            None => open.content.shift_remove(&name),
        };
        // JavaScript's sort order, so that both programs write the same file.
        let mut sorted: Vec<(String, Value)> =
            std::mem::take(&mut open.content).into_iter().collect();
        sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        open.content = sorted.into_iter().collect();
        open.write()
    }

    /// Rejects a file with other values: they may have been meant as a refusal.
    fn check(&self, decisions: &Map<String, Value>) -> Result<(), ConfigError> {
        for (path, decision) in decisions {
            if !decision.is_boolean() && !decision.is_null() {
                let found = kind(decision);
                let problem = format!("{path:?} must be true, false or null, not {found}");
                return Err(ConfigError::Shape { path: self.file.path.clone(), problem });
            }
        }
        Ok(())
    }
}

/// Resolves the links of a path. A path that does not exist is returned as it is.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
