//! Questions about the project: whether it is trusted, and where it has resources.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use crate::extension::question::wrapping;
use crate::extension::{Ask, Flow};

/// Asks whether files of a project may be used. Only extensions of the user are asked, before
/// those of the project load.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProjectTrust {
    /// Working directory of the project.
    pub cwd: PathBuf,
}

impl ProjectTrust {
    pub(crate) fn new(cwd: PathBuf) -> Self {
        Self { cwd }
    }
}

/// Decision whether files of a project may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustDecision {
    /// The next extension decides, then the settings.
    #[default]
    Undecided,
    /// The project is trusted; `remember` records it for later starts.
    Trusted {
        /// The decision holds for later starts.
        remember: bool,
    },
    /// The project is not trusted; `remember` records it for later starts.
    Untrusted {
        /// The decision holds for later starts.
        remember: bool,
    },
}

impl Ask for ProjectTrust {
    type Answer = TrustDecision;
    wrapping!(ProjectTrust);

    fn merge(&mut self, combined: &mut TrustDecision, answer: TrustDecision) -> Flow {
        *combined = answer;
        if answer == TrustDecision::Undecided { Flow::Next } else { Flow::Stop }
    }

    fn payload(&self) -> Value {
        json!({ "cwd": self.cwd })
    }
}

/// Asks for more places with skills, prompt templates and themes, after a session started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResourcesDiscover {
    /// Working directory of the session.
    pub cwd: PathBuf,
    /// Occasion of the question.
    pub reason: DiscoverReason,
}

impl ResourcesDiscover {
    pub(crate) fn new(cwd: PathBuf, reason: DiscoverReason) -> Self {
        Self { cwd, reason }
    }
}

/// Occasion on which resources are discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoverReason {
    /// A session started.
    Startup,
    /// The user reloaded extensions and resources.
    Reload,
}

/// Paths of more resources: files or directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct DiscoveredResources {
    pub skills: Vec<PathBuf>,
    pub prompts: Vec<PathBuf>,
    pub themes: Vec<PathBuf>,
}

impl DiscoveredResources {
    /// Returns true if no path was found.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.prompts.is_empty() && self.themes.is_empty()
    }
}

impl Ask for ResourcesDiscover {
    type Answer = DiscoveredResources;
    wrapping!(ResourcesDiscover);

    fn merge(&mut self, combined: &mut DiscoveredResources, answer: DiscoveredResources) -> Flow {
        combined.skills.extend(answer.skills);
        combined.prompts.extend(answer.prompts);
        combined.themes.extend(answer.themes);
        Flow::Next
    }

    fn payload(&self) -> Value {
        json!({ "cwd": self.cwd, "reason": self.reason })
    }
}
