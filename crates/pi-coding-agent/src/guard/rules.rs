//! Loading the rule files of all layers.
//!
//! Every `*.toml` in a directory of rules is a rule file. A file that cannot be read or fails its
//! own examples is an error: a rule that is left out because of a typo is a hole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::if_exists;
use pi_guard::policy::{Defaults, Layer, Policy, PolicyError, RuleFile};

use crate::Environment;

/// Name of the directory of rule files in the user's and the project's directory.
pub const DIRECTORY: &str = "rules";
/// Name of the file to which approved rules are added.
pub(super) const APPROVED: &str = "approved.toml";

/// The reasons why the rules cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// A rule file is invalid.
    #[error(transparent)]
    Invalid(#[from] PolicyError),
    /// A rule file or a directory of rule files cannot be read.
    #[error("the rules in {path} cannot be read: {source}")]
    Unreadable {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Loads the policy of a session: the rules of the machine, the user, the project if it is
/// trusted, this run, and the administrator.
pub fn load(
    environment: &Environment,
    trusted: bool,
    run: &[PathBuf],
) -> Result<Policy, RulesError> {
    // The guard replaces the defaults by those of its profile.
    let mut policy = Policy::new(Defaults::careful());
    let system = environment.system_directory.as_deref();
    let project = trusted.then(|| environment.project_directory().join(DIRECTORY));
    let directories = [
        (Layer::System, system.map(|system| system.join(DIRECTORY))),
        (Layer::User, Some(environment.agent_directory.join(DIRECTORY))),
        (Layer::Project, project),
        (Layer::Administrator, system.map(|system| system.join("administrator"))),
    ];
    for (layer, directory) in directories {
        let Some(directory) = directory else { continue };
        for file in rule_files(&directory)? {
            policy.add(read(&file, layer)?);
        }
    }
    for file in run {
        policy.add(read(file, Layer::Run)?);
    }
    Ok(policy)
}

/// Reads one rule file.
pub fn read(file: &Path, layer: Layer) -> Result<RuleFile, RulesError> {
    let unreadable = |source| RulesError::Unreadable { path: file.to_owned(), source };
    let text = fs::read_to_string(file).map_err(unreadable)?;
    let name = file.to_string_lossy();
    Ok(RuleFile::parse(&name, &text, layer)?)
}

/// Returns the rule files of a directory, sorted by name; none if the directory does not exist.
fn rule_files(directory: &Path) -> Result<Vec<PathBuf>, RulesError> {
    let unreadable = |source| RulesError::Unreadable { path: directory.to_owned(), source };
    let entries = if_exists(fs::read_dir(directory)).map_err(unreadable)?;
    let mut files = Vec::new();
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(unreadable)?.path();
        let is_rule_file = path.extension().is_some_and(|extension| extension == "toml");
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_rule_file && !hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
