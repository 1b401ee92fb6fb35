//! Trusted files: files in directories that the sandbox can write, which pi itself runs or reads for
//! the user: scripts of hooks and guardrails, rules, extensions, prompts.
//!
//! What a sandboxed command could write into such a file would run outside of the sandbox, or be
//! obeyed. So these files, their links and the directories of scripts are protected for the
//! session. A mount cannot hold a link in the top directory, and an approved command runs without
//! mounts; so the files of a hook or guardrail are also compared, before each use, with what they
//! were at the start.

mod reach;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pi_base::lock;

use crate::Environment;
use reach::Reach;
use snapshot::Snapshot;

/// Variables with the directory of the project, which scripts use on purpose.
const NAMES_OF_PROJECT: [&str; 5] =
    ["CLAUDE_PROJECT_DIR", "OLDPWD", "PI_PROJECT_DIR", "PI_SESSION_FILE", "PWD"];

/// The trusted files of a session.
#[derive(Debug, Default)]
pub struct TrustedFiles {
    /// Finds the files of commands; `None` if no directory can be written.
    reach: Option<Reach>,
    /// Real paths that stay read-only.
    protected: BTreeSet<PathBuf>,
    /// The files of each command, as they were at the start.
    commands: Mutex<HashMap<String, Vec<Snapshot>>>,
}

impl TrustedFiles {
    /// Looks for the files of these commands and programs, and for files and directories that pi
    /// reads, in directories that the sandbox can write, which are real paths. Paths that do not
    /// exist are left out.
    pub fn find<'a>(
        roots: Vec<PathBuf>,
        environment: &Environment,
        commands: impl IntoIterator<Item = &'a str>,
        programs: impl IntoIterator<Item = PathBuf>,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let reach = Reach::new(roots, environment);
        let mut protected = BTreeSet::new();
        let mut snapshots = HashMap::new();
        for command in commands {
            let found = reach.of_command(command);
            let taken = found.files.iter().map(|path| Snapshot::take(path)).collect();
            snapshots.insert(command.to_owned(), taken);
            protected.extend(found.protected);
        }
        for path in programs {
            protected.extend(reach.of_program(&path).protected);
        }
        for path in paths {
            protected.extend(reach.of_path(&path).protected);
        }
        Self { reach: Some(reach), protected, commands: Mutex::new(snapshots) }
    }

    /// Returns the real paths that stay read-only.
    pub fn protected(&self) -> impl Iterator<Item = &PathBuf> {
        self.protected.iter()
    }

    /// Returns true if this real path is, or is in, a trusted file or directory.
    pub fn contains(&self, path: &Path) -> bool {
        self.protected.iter().any(|protected| path.starts_with(protected))
    }

    /// Returns a file of a command that the sandbox could write.
    pub fn file_of(&self, command: &str) -> Option<PathBuf> {
        let found = self.reach.as_ref()?.of_command(command);
        found.files.into_iter().next()
    }

    /// Removes the directories that the sandbox can write from variables, such as `PATH`, for a
    /// command outside of it. Those that name the project stay.
    pub fn remove_writable(&self, variables: &mut BTreeMap<OsString, OsString>) {
        let Some(reach) = &self.reach else { return };
        variables.retain(|name, value| {
            let (Some(name), Some(text)) = (name.to_str(), value.to_str()) else { return true };
            if NAMES_OF_PROJECT.contains(&name) || !text.contains('/') {
                return true;
            }
            let kept = text.split(':').filter(|entry| !reach.mentions(entry));
            let kept = kept.collect::<Vec<_>>().join(":");
            let is_kept = !kept.is_empty();
            *value = kept.into();
            is_kept
        });
    }

    /// Checks that the files of a command are what they were at the start. The error is the reason
    /// why they are not.
    pub fn check(&self, command: &str) -> Result<(), String> {
        let Some(reach) = &self.reach else { return Ok(()) };
        let mut commands = lock(&self.commands);
        let snapshots = commands.entry(command.to_owned()).or_insert_with(|| {
            // A command of settings that were reloaded.
            reach.of_command(command).files.iter().map(|path| Snapshot::take(path)).collect()
        });
        match snapshots.iter().find(|snapshot| !snapshot.is_current()) {
            None => Ok(()),
            Some(changed) => Err(format!(
                "{} changed since the session started, so it is not run; check the file and start \
                 a new session",
                changed.path().display()
            )),
        }
    }
}
