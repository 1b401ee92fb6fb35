//! Recognizing a program that starts: under which names rules know its file, what it loads, and what
//! was there before it.

use std::cell::Cell;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use pi_exec_watch::{Call, Event};

use super::Shared;
use super::caller::{self, Image};
use super::identity::{Found, Identity};
use crate::policy::{Exec, Loads, Part, Predecessor};
use crate::programs::{self, Trait};
use crate::word::base_name;

impl Shared {
    /// Returns the reason why a program must not start, and whether that is known for certain only
    /// when it has started.
    pub(super) fn judge(
        &self,
        image: &mut Image,
        event: &Event,
        approved: bool,
    ) -> (Option<Part>, bool) {
        let thread = event.thread;
        let has_started = event.call == Call::Started;
        if image.found.is_none() {
            image.found = Found::at(&caller::program(thread));
        }
        let cwd = || caller::cwd(thread);
        let predecessor = || if has_started { None } else { self.predecessor(thread) };
        let is_new_file = |path: &Path| self.is_new_file(&in_view(thread, path));
        // Variables of the program can name another repository, and are known when it has started.
        let depends_on_variables = Cell::new(false);
        let is_new_repository = |path: &Path| {
            depends_on_variables.set(true);
            self.is_new_repository(&in_view(thread, path))
                && !(has_started && caller::has_variable(thread, b"GIT_"))
        };
        let mut exec = Exec::new(image.path.clone(), image.arguments(), &cwd);
        exec.predecessor = &predecessor;
        exec.is_new_file = &is_new_file;
        exec.is_new_repository = &is_new_repository;
        if let Some(found) = &image.found {
            let identity =
                self.programs.identify(found, exec.arguments.first().map(String::as_str));
            exec.known_as = names(found, &identity, &exec);
        }
        let loads = exec.loads();
        exec.loaded = self.loaded(loads, &exec, thread);
        if has_started && loads == Loads::Programs {
            self.add_mapped(&mut exec, thread);
        }
        let part = (self.filter)(&exec, approved);
        (part, loads == Loads::Programs || depends_on_variables.get())
    }

    /// Returns the arguments that are files of known programs.
    fn loaded(&self, loads: Loads, exec: &Exec<'_>, thread: u32) -> Vec<(usize, String)> {
        let is_possible = match loads {
            Loads::Nothing => false,
            Loads::Scripts => self.programs.has_scripts(),
            Loads::Programs => true,
        };
        let mut loaded = Vec::new();
        for (at, argument) in exec.arguments.iter().enumerate().skip(1).filter(|_| is_possible) {
            let value = argument.split_once('=').map(|(_, value)| value);
            for text in [Some(argument.as_str()), value].into_iter().flatten() {
                let Some(found) = caller::argument_file(thread, text) else { continue };
                let identity = self.programs.identify(&found, Some(text));
                if loads == Loads::Programs || identity.is_script {
                    loaded.extend(identity.names.iter().map(|name| (at, name.clone())));
                }
                if loads == Loads::Programs {
                    // The file may have the name of a program that is not known by its file.
                    let own = found.real.file_name().and_then(|name| name.to_str());
                    loaded.extend(own.map(|own| (at, own.to_owned())));
                }
            }
        }
        loaded
    }

    /// Adds the programs that a loader has loaded. Which of its arguments are theirs is not known.
    fn add_mapped(&self, exec: &mut Exec<'_>, thread: u32) {
        for (file, path) in caller::mapped(thread) {
            let found = Found::at(&in_view(thread, &path));
            let by_path = found.map(|found| self.programs.identify(&found, None));
            let by_file = self.programs.names_of(file);
            let by_path = by_path.iter().flat_map(|identity| identity.names.iter());
            let is_loader = |name: &&String| programs::find(name).has(Trait::Loads);
            for name in by_path.chain(by_file).filter(|name| !is_loader(name)) {
                if !exec.loaded.iter().any(|(_, known)| known == name) {
                    let all = 0..exec.arguments.len();
                    exec.loaded.extend(all.map(|at| (at, name.clone())));
                }
            }
        }
    }

    /// Returns the program that the process still is.
    fn predecessor(&self, thread: u32) -> Option<Predecessor> {
        let found = Found::at(&caller::program(thread))?;
        let arguments = caller::arguments(thread).ok()?;
        let identity = self.programs.identify(&found, arguments.first().map(String::as_str));
        Some(Predecessor { names: identity.names.clone(), arguments })
    }

    /// Returns true if there is no such file, or if it was created since commands are watched.
    fn is_new_file(&self, path: &Path) -> bool {
        match fs::symlink_metadata(path) {
            Ok(found) => found.created().is_ok_and(|created| self.is_new(created)),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    /// Returns true if the repository of a directory was created since commands are watched. One
    /// that shares the references of another is that one.
    fn is_new_repository(&self, directory: &Path) -> bool {
        for directory in directory.ancestors() {
            for repository in [directory.join(".git"), directory.to_owned()] {
                let is_repository = repository.join("HEAD").symlink_metadata().is_ok();
                let Ok(found) = fs::symlink_metadata(&repository) else { continue };
                if found.is_dir() && !is_repository {
                    continue;
                }
                let is_own = found.is_dir() && !repository.join("commondir").exists();
                return is_own && found.created().is_ok_and(|created| self.is_new(created));
            }
        }
        true
    }

    /// A command takes longer to start than the clock of files takes to advance.
    fn is_new(&self, created: SystemTime) -> bool {
        created > self.programs.started
    }
}

/// Returns the names of a file: its own, and those under which rules know it.
fn names(found: &Found, identity: &Identity, exec: &Exec<'_>) -> Vec<String> {
    let mut names = identity.names.clone();
    let own = found.real.file_name().map(|own| own.to_string_lossy().into_owned());
    let called = exec.arguments.first().map(|called| base_name(called));
    if let Some(own) = own {
        // One file that is many programs is the one as which it is called.
        let is_called = called == Some(own.as_str());
        if is_called || !programs::find(&own).has(Trait::MultiCall) {
            names.push(own);
        }
    }
    names
}

/// Returns the path of this process for a path of another, whose view may differ.
fn in_view(thread: u32, path: &Path) -> PathBuf {
    let mut seen = PathBuf::from(format!("/proc/{thread}/root"));
    seen.extend(path.components().filter(|part| matches!(part, Component::Normal(_))));
    seen
}
