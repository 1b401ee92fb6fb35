//! The rule files of all layers.
//!
//! In each directory every `*.toml` is a rule file. One that cannot be read or does not hold its
//! own examples ends everything: a rule that is left out because of a typing error is a hole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_guard::policy::{Defaults, Layer, Policy, PolicyError, RuleFile};

use crate::Environment;

/// The directory of rule files in the user's and the project's directory.
pub const DIRECTORY: &str = "rules";
/// The file that approved rules are added to.
pub const APPROVED: &str = "approved.toml";

/// Why the rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A rule file is wrong.
    #[error("{0}")]
    Wrong(#[from] PolicyError),
    /// A rule file or a directory of them cannot be read.
    #[error("the rules in {path} cannot be read: {source}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The policy of a session: the machine's rules, the user's, the project's if it is trusted, those
/// of this run, and the administrator's.
pub fn load(
    environment: &Environment,
    trusted: bool,
    run: &[PathBuf],
) -> Result<Policy, RulesError> {
    // What is decided without a rule is for the guard to say.
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
        for file in
            directory.map(|directory| rule_files(&directory)).transpose()?.into_iter().flatten()
        {
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

/// The rule files of a directory, in the order of their names; none if there is no directory.
fn rule_files(directory: &Path) -> Result<Vec<PathBuf>, RulesError> {
    let unreadable = |source| RulesError::Unreadable { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
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
