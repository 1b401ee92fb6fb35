//! Omissions: what the user configured and a session does not use.
//!
//! There is one list for all modes, for the guard and for checks of the configuration. Each item
//! names what is left out and why; advice about options and commands is added by the program.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;

/// Number of names in a message; the others are only counted.
const SHOWN: usize = 5;

/// Directories of a project with restrictions.
const RULES: &str = ".pi/rules";
/// Directory of a project with extensions.
pub const EXTENSIONS: &str = ".pi/extensions";

/// Something that the user configured and the session does not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Omission {
    /// Extension files of the user, the trusted project or packages that failed to load, or all of
    /// them in a program that loads none.
    Extensions {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Settings, rules and resources of a project that is not trusted.
    UntrustedProject {
        /// Directory of the project.
        directory: PathBuf,
        /// The files and directories, relative to the project where they are inside of it.
        paths: Vec<PathBuf>,
        /// The user has decided not to trust the project.
        decided: bool,
    },
    /// Hooks and guardrails in the settings of a project that is not trusted.
    UntrustedHooks {
        /// The settings file.
        file: PathBuf,
        /// The keys: `hooks`, `guardrails` or both.
        keys: Vec<&'static str>,
        /// The user has decided not to trust the project.
        decided: bool,
    },
    /// A tool that the user selected and that does not exist.
    Tool {
        /// Name or pattern of the tool.
        name: String,
        /// Names of the tools that exist.
        known: Vec<String>,
    },
}

impl Omission {
    /// Returns true if the omission may remove a restriction that the user relies on: an extension
    /// may refuse tool calls, and rules of an untrusted project are not in force.
    pub fn is_safeguard(&self) -> bool {
        match self {
            Self::Extensions { .. } | Self::UntrustedHooks { .. } => true,
            Self::UntrustedProject { paths, .. } => {
                let kept = [Path::new(RULES), Path::new(EXTENSIONS)];
                paths.iter().any(|path| kept.contains(&path.as_path()))
            }
            _ => false,
        }
    }

    /// Returns true if the user has decided on the omission, so that a run need not report it.
    pub fn is_deliberate(&self) -> bool {
        matches!(
            self,
            Self::UntrustedProject { decided: true, .. }
                | Self::UntrustedHooks { decided: true, .. }
        )
    }

    /// Returns the omission as a warning.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::warning(None, self.to_string())
    }
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extensions { files } => {
                let are = if files.len() == 1 { "extension is" } else { "extensions are" };
                write!(f, "{} {are} not loaded: {}", files.len(), paths(files))
            }
            Self::UntrustedProject { directory, paths: left_out, .. } => {
                let (directory, count) = (directory.display(), left_out.len());
                let are = if count == 1 { "item is" } else { "items are" };
                let names = paths(left_out);
                write!(f, "{directory} is not trusted, so {count} {are} not used: {names}")
            }
            Self::UntrustedHooks { file, keys, .. } => {
                let (keys, file) = (keys.join(" and "), file.display());
                write!(f, "the {keys} of {file} do not run, because the project is not trusted")
            }
            Self::Tool { name, .. } if is_typescript_tool(name) => {
                write!(f, "the tool \"{name}\" of the TypeScript pi is not in this version")
            }
            Self::Tool { name, .. } => write!(f, "unknown tool \"{name}\""),
        }
    }
}

/// Returns true for the name of a tool that the TypeScript pi has and this version does not.
pub fn is_typescript_tool(name: &str) -> bool {
    name == "powershell" || name.starts_with("mcp__")
}

fn paths(paths: &[PathBuf]) -> String {
    list(paths.iter().map(|path| path.display().to_string()))
}

/// Joins names with commas; long lists are shortened.
fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let mut shown: Vec<String> = names.take(SHOWN).collect();
    if count > SHOWN {
        shown.push(format!("and {} more", count - SHOWN));
    }
    shown.join(", ")
}
