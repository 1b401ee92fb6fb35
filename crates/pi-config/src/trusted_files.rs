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
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pi_base::lock;

use crate::Environment;
use reach::{Found, Reach};
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
    /// Links on the way to the files.
    links: BTreeSet<PathBuf>,
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
        let (mut protected, mut links) = (BTreeSet::new(), BTreeSet::new());
        let mut add = |found: Found| {
            protected.extend(found.protected);
            links.extend(found.links);
        };
        let mut snapshots = HashMap::new();
        for command in commands {
            let found = reach.of_command(command);
            let taken = found.files.iter().map(|path| Snapshot::take(path)).collect();
            snapshots.insert(command.to_owned(), taken);
            add(found);
        }
        for path in programs {
            add(reach.of_program(&path));
        }
        for path in paths {
            add(reach.of_path(&path));
        }
        for path in linked(environment) {
            add(reach.of_path(&path));
        }
        Self { reach: Some(reach), protected, links, commands: Mutex::new(snapshots) }
    }

    /// Returns the real paths that stay read-only.
    pub fn protected(&self) -> impl Iterator<Item = &PathBuf> {
        self.protected.iter()
    }

    /// Returns the links on the way to the files, in the directories that the sandbox can write.
    pub fn links(&self) -> impl Iterator<Item = &PathBuf> {
        self.links.iter()
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

/// Directories of the agent directory with data and not with resources.
const DATA: [&str; 5] = ["cache", "runs", "sessions", "tmp", "undo"];
/// The deepest links that are looked for, and the most entries that are read.
const DEEPEST: usize = 4;
const MOST_ENTRIES: usize = 4096;

/// Returns the links in the directories from which sessions load rules, extensions, skills, prompts and
/// settings: users keep these files elsewhere, such as in a repository.
fn linked(environment: &Environment) -> Vec<PathBuf> {
    let own = &environment.agent_directory;
    let project = [environment.project_directory(), environment.cwd.join(".agents")];
    let mut left: Vec<(PathBuf, usize)> = vec![(own.clone(), 0)];
    left.extend(project.map(|directory| (directory, 0)));
    left.extend(environment.home.iter().map(|home| (home.join(".agents"), 0)));
    let (mut links, mut entries) = (Vec::new(), 0);
    while let Some((directory, depth)) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            entries += 1;
            let Ok(kind) = entry.file_type() else { continue };
            let is_data = directory == *own && DATA.iter().any(|name| entry.file_name() == **name);
            if kind.is_symlink() {
                links.push(entry.path());
            } else if kind.is_dir() && !is_data && depth < DEEPEST && entries < MOST_ENTRIES {
                left.push((entry.path(), depth + 1));
            }
        }
    }
    links
}
