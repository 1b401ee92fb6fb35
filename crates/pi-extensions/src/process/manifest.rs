//! `extension.json`: the program of an extension.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The program of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Program and arguments.
    pub(super) command: Vec<String>,
    /// Directory of the manifest, in which the program runs.
    pub(super) directory: PathBuf,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestError {
    #[error("cannot read the manifest: {0}")]
    Read(#[from] std::io::Error),
    #[error("invalid manifest: {0}; it needs {{ \"command\": [\"program\", \"argument\"] }}")]
    Parse(#[from] serde_json::Error),
    #[error("the manifest names no program; add \"command\": [\"program\", \"argument\"]")]
    NoProgram,
}

#[derive(Deserialize)]
struct File {
    command: Vec<String>,
}

/// Returns true if a file is the manifest of a program.
pub(crate) fn is_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "extension.json")
}

impl Manifest {
    pub(super) fn read(path: &Path) -> Result<Self, ManifestError> {
        let file: File = serde_json::from_slice(&std::fs::read(path)?)?;
        let directory = path.parent().unwrap_or(Path::new(".")).to_owned();
        let mut command = file.command;
        let program = command.first_mut().ok_or(ManifestError::NoProgram)?;
        // A program beside the manifest is named by its relative path, others are searched.
        if program.starts_with("./") || program.starts_with("../") {
            *program = directory.join(&*program).to_string_lossy().into_owned();
        }
        Ok(Self { command, directory })
    }
}
