//! Installed agent specs: the directories of the user and of a trusted project.

use std::path::{Path, PathBuf};

use pi_coding_agent::Project;

use super::draft::Draft;

/// Extensions of spec files.
const EXTENSIONS: [&str; 4] = ["yaml", "yml", "json", "md"];
/// Name of the directories of specs.
const DIRECTORY: &str = "agents";

/// The directories in which specs are found by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentLibrary {
    /// The directories; a spec in an earlier one hides those of the same name in later ones.
    directories: Vec<PathBuf>,
}

/// An installed spec.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledAgent {
    /// Name of the agent.
    pub name: String,
    /// File of the spec.
    pub file: PathBuf,
}

impl AgentLibrary {
    /// Creates a library of directories.
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories }
    }

    /// Returns the library of a user: `.pi/agents` and `.agents/agents` of the project if it is
    /// trusted, then `agents` in the user's directory.
    pub fn of(project: &Project) -> Self {
        let environment = project.environment();
        let mut directories = Vec::new();
        if project.is_trusted() {
            directories.push(environment.project_directory().join(DIRECTORY));
            directories.push(environment.cwd.join(".agents").join(DIRECTORY));
        }
        directories.push(environment.agent_directory.join(DIRECTORY));
        Self { directories }
    }

    /// Returns the installed specs, sorted by name, without those that others hide. A file that is
    /// not valid has the name of its file.
    pub fn list(&self) -> Vec<InstalledAgent> {
        let mut found: Vec<InstalledAgent> = Vec::new();
        for directory in &self.directories {
            for file in spec_files(directory) {
                let declared = Draft::read(&file).ok().and_then(|draft| draft.file.name);
                let name = declared.unwrap_or_else(|| stem(&file));
                if !found.iter().any(|other| other.name == name) {
                    found.push(InstalledAgent { name, file });
                }
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Returns the file of an installed spec: by the name of the file, or by that in the file.
    pub(super) fn installed(&self, name: &str) -> Option<PathBuf> {
        let files = || self.directories.iter().flat_map(|directory| spec_files(directory));
        files().find(|file| stem(file) == name).or_else(|| {
            files().find(|file| {
                Draft::read(file).is_ok_and(|draft| draft.file.name.as_deref() == Some(name))
            })
        })
    }

    /// Finds a spec by its file or name. The error is the reason why there is none.
    pub(super) fn find(&self, reference: &str, directory: &Path) -> Result<PathBuf, String> {
        let path = Path::new(reference);
        let is_file = reference.contains(['/', '\\'])
            || path.extension().is_some_and(|one| EXTENSIONS.iter().any(|known| one == *known));
        if is_file {
            let file = directory.join(path);
            return match file.is_file() {
                true => Ok(file),
                false => Err(format!("there is no agent spec {}", file.display())),
            };
        }
        if let Some(file) = self.installed(reference) {
            return Ok(file);
        }
        let names: Vec<String> = self.list().into_iter().map(|agent| agent.name).collect();
        Err(match names.is_empty() {
            true => format!("there is no agent named {reference}, and none is installed"),
            false => {
                format!("there is no agent named {reference}; installed: {}", names.join(", "))
            }
        })
    }
}

/// Returns the spec files of a directory, sorted by name.
fn spec_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_spec = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let extension = file.extension().unwrap_or_default();
        !name.starts_with('.') && EXTENSIONS.iter().any(|known| extension == *known)
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_spec).collect();
    files.sort();
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
