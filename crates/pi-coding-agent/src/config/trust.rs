//! Which projects may bring settings and resources of their own: `trust.json`.
//!
//! A project can change what the program does (skills, extensions, prompts), so it is asked about
//! first. Decisions hold for a directory and all below it, until a closer one says otherwise.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::ConfigError;
use super::file::{JsonFile, kind};
use super::settings::ProjectTrustDefault;

const STALE: Duration = Duration::from_secs(10);

/// What in `.pi` needs trust.
const PROTECTED: &[&str] = &[
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "rules",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];

/// A decision that was made before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustEntry {
    /// The directory it was made for.
    pub path: PathBuf,
    /// What was decided.
    pub trusted: bool,
}

/// Whether a project may bring settings and resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It may.
    Trusted,
    /// It may not.
    Untrusted,
    /// Only the user can say. Where nobody can be asked, it may not.
    Ask,
}

/// What a decision depends on, in order of weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustQuestion {
    /// `--approve` or `--no-approve`.
    pub flag: Option<bool>,
    /// Whether the project has anything that needs trust; see [`needs_trust`].
    pub needed: bool,
    /// What an extension decided.
    pub extension: Option<bool>,
    /// What was decided before.
    pub saved: Option<bool>,
    /// The setting `defaultProjectTrust`.
    pub default: ProjectTrustDefault,
}

impl TrustQuestion {
    /// The decision.
    pub fn decide(self) -> Trust {
        let fixed = |trusted| if trusted { Trust::Trusted } else { Trust::Untrusted };
        if let Some(flag) = self.flag {
            return fixed(flag);
        }
        if !self.needed {
            // There is nothing to ask about, but what comes later must not slip in.
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

/// Whether the project in `cwd` has anything that needs trust. The skills of the user's own home
/// are no project's.
pub fn needs_trust(cwd: &Path, home: Option<&Path>) -> bool {
    let project = cwd.join(".pi");
    if PROTECTED.iter().any(|name| project.join(name).exists()) {
        return true;
    }
    let home = home.map(canonical);
    let own = |directory: &Path| home.as_deref() == Some(directory);
    canonical(cwd)
        .ancestors()
        .any(|directory| !own(directory) && directory.join(".agents/skills").exists())
}

/// The decisions that were made.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: JsonFile,
}

impl TrustStore {
    /// The store in the agent's directory.
    pub fn new(agent_directory: &Path) -> Self {
        let path = agent_directory.join("trust.json");
        Self { file: JsonFile { path, stale: STALE, private: false, end: "\n" } }
    }

    /// What was decided for a directory, or for the closest one above it.
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

    /// Remembers decisions; `None` takes one back.
    pub fn record(&self, decisions: &[(&Path, Option<bool>)]) -> Result<(), ConfigError> {
        let mut open = self.file.open()?;
        self.check(&open.content)?;
        for (path, decision) in decisions {
            let name = canonical(path).to_string_lossy().into_owned();
            match decision {
                Some(trusted) => open.content.insert(name, (*trusted).into()),
                None => open.content.shift_remove(&name),
            };
        }
        // The order that JavaScript sorts in, so that both programs write the same file.
        let mut sorted: Vec<(String, Value)> =
            std::mem::take(&mut open.content).into_iter().collect();
        sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        open.content = sorted.into_iter().collect();
        open.write()
    }

    /// A file that says something else may have meant "no".
    fn check(&self, decisions: &Map<String, Value>) -> Result<(), ConfigError> {
        let wrong =
            |(_, decision): &(&String, &Value)| !decision.is_boolean() && !decision.is_null();
        decisions.iter().find(wrong).map_or(Ok(()), |(path, decision)| {
            let found = kind(decision);
            let problem = format!("{path:?} must be true, false or null, not {found}");
            Err(ConfigError::Shape { path: self.file.path.clone(), problem })
        })
    }
}

/// A path without links; one that does not exist stays as it is.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
