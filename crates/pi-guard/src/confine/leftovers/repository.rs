//! Repositories, and the files named `.git` that lead to them: judging what changed in them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use pi_base::text::cut_bytes;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::git::config;
use super::Leftover;
use super::entry::{self, DISABLED, Seen, Stamp};
use super::operations;

/// The circumstances of an examination.
pub(super) struct Judge<'a> {
    pub(super) root: &'a Path,
    /// All directories that commands can write.
    pub(super) writable: &'a [PathBuf],
    /// The directory of temporary files.
    pub(super) temporary: Option<&'a Path>,
    pub(super) protected: &'a [PathBuf],
    pub(super) started: Stamp,
    /// Files that changed later may change again without another time of change.
    pub(super) settled: Stamp,
    pub(super) enforce: bool,
}

impl Judge<'_> {
    /// Returns true if commands cannot write the path.
    fn is_protected(&self, path: &Path) -> bool {
        self.protected.iter().any(|protected| path.starts_with(protected))
    }

    /// Returns true if the file may be the work of a command: all that is new in a place that was
    /// known, and what changed since the start elsewhere.
    pub(super) fn is_suspect(&self, seen: &Seen, place_known: bool) -> bool {
        self.enforce && (place_known || seen.changed >= self.started)
    }
}

/// A directory in which a file is judged.
pub(super) struct Place<'a> {
    pub(super) directory: &'a OwnedFd,
    pub(super) path: &'a Path,
    /// The directory was known before, so that everything new in it is suspect.
    pub(super) is_known: bool,
}

/// The directory of a repository.
#[derive(Debug)]
pub(super) struct Repository {
    /// The directory was known before, so that everything new in it is suspect.
    is_known: bool,
    configurations: [Configuration; 2],
    /// Files of operations that are in progress, in the order of [`operations::FILES`].
    operations: [Configuration; operations::FILES.len()],
    common: Option<Seen>,
    hooks: Hooks,
}

/// The hooks in a directory, and the directory itself if it is a link.
#[derive(Debug, Default)]
struct Hooks(BTreeMap<OsString, Seen>);

/// A file with settings, or with steps of an operation.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    seen: Option<Seen>,
    /// Content and offences when the file was judged.
    judged: Option<(Vec<u8>, Vec<String>)>,
}

/// The reading of a file that `git` may run programs because of.
pub(super) struct Reading {
    /// Returns what runs programs in a text.
    pub(super) offences: fn(&str) -> Vec<String>,
    /// The former content replaces a disabled one.
    pub(super) restores: bool,
}

const SETTINGS: Reading = Reading { offences: config::offences, restores: true };

const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];

impl Repository {
    pub(super) fn new(is_known: bool) -> Self {
        Self {
            is_known,
            configurations: Default::default(),
            operations: Default::default(),
            common: None,
            hooks: Hooks::default(),
        }
    }

    pub(super) fn examine(
        &mut self,
        directory: &OwnedFd,
        place: &Path,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) {
        let here = Place { directory, path: place, is_known: self.is_known };
        for (name, known) in CONFIGURATIONS.iter().zip(&mut self.configurations) {
            if !judge.is_protected(&place.join(name)) {
                known.examine(&SETTINGS, &here, name, judge, found);
            }
        }
        for (file, known) in operations::FILES.iter().zip(&mut self.operations) {
            operations::examine(file, known, &here, judge, found);
        }
        self.examine_common(directory, place, judge, found);
        self.hooks.examine(directory, place, OsStr::new("hooks"), self.is_known, judge, found);
        self.is_known = true;
    }

    /// Judges `commondir`, which leads to another repository. That of a work tree leads to the
    /// repository that it lies in.
    fn examine_common(
        &mut self,
        directory: &OwnedFd,
        place: &Path,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) {
        let name = OsStr::new("commondir");
        let Some(seen) = entry::see(directory, name) else {
            self.common = None;
            return;
        };
        if self.common == Some(seen) || judge.is_protected(&place.join(name)) {
            return;
        }
        let own =
            place.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
        let text = entry::read(directory, name).unwrap_or_default();
        let target = place.join(String::from_utf8_lossy(&text).trim_end_matches(['\n', '\r']));
        // The repository itself is what a cover leads to.
        let homes = own.into_iter().chain([place]);
        let leads_home = fs::canonicalize(target).is_ok_and(|target| {
            homes.filter_map(|home| fs::canonicalize(home).ok()).any(|home| home == target)
        });
        if leads_home || !judge.is_suspect(&seen, self.is_known) {
            self.common = Some(seen);
            return;
        }
        let reason = "use another repository, with its settings and hooks".to_owned();
        disable(directory, place, name, None, &reason, found);
    }
}

impl Hooks {
    fn examine(
        &mut self,
        directory: &OwnedFd,
        place: &Path,
        name: &OsStr,
        place_known: bool,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) {
        if judge.is_protected(&place.join(name)) {
            return;
        }
        let Some(seen) = entry::see(directory, name) else { return };
        if seen.kind == FileType::Symlink {
            let known = self.0.get(name).is_some_and(|known| *known == seen);
            if !known && judge.is_suspect(&seen, place_known) {
                let reason = "run the hooks in another directory".to_owned();
                disable(directory, place, name, None, &reason, found);
            } else {
                self.0.insert(name.to_owned(), seen);
            }
            return;
        }
        let (hooks, names) = match entry::names(directory, name) {
            Ok(hooks) => hooks,
            Err(error) if entry::is_gone(error) => return,
            Err(_) => {
                if judge.is_suspect(&seen, place_known) {
                    let reason = "run hooks that cannot be examined".to_owned();
                    disable(directory, place, name, None, &reason, found);
                }
                return;
            }
        };
        for hook in names {
            let text = hook.to_string_lossy();
            if text.ends_with(".sample") || text.contains(DISABLED) {
                continue;
            }
            let Some(seen) = entry::see(&hooks, &hook) else { continue };
            let known = self.0.get(&hook).is_some_and(|known| *known == seen);
            if known {
                continue;
            }
            // A file that is not executable is no hook; a link may lead to one that is.
            let runs = seen.kind == FileType::Symlink
                || (seen.kind == FileType::RegularFile && seen.is_executable);
            if runs && judge.is_suspect(&seen, place_known) {
                let reason = "run it as a hook".to_owned();
                disable(&hooks, &place.join(name), &hook, None, &reason, found);
            } else {
                self.0.insert(hook, seen);
            }
        }
    }
}

impl Configuration {
    pub(super) fn examine(
        &mut self,
        reading: &Reading,
        place: &Place<'_>,
        name: &str,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) {
        let (directory, file) = (place.directory, OsStr::new(name));
        let Some(seen) = entry::see(directory, file) else {
            self.seen = None;
            return;
        };
        if self.seen == Some(seen) {
            return;
        }
        // What cannot be read here may be read by git.
        let content = entry::read(directory, file);
        let offences = match &content {
            Some(bytes) => (reading.offences)(&String::from_utf8_lossy(bytes)),
            None => vec!["settings that cannot be examined".to_owned()],
        };
        let former = self.judged.as_ref();
        let is_former =
            |offence: &&String| former.is_some_and(|(_, former)| former.contains(offence));
        let new: Vec<&str> =
            offences.iter().filter(|offence| !is_former(offence)).map(String::as_str).collect();
        let place_known = place.is_known || former.is_some();
        if new.is_empty() || !judge.is_suspect(&seen, place_known) {
            // A file that changed just now may change again without another time of change.
            self.seen = (seen.changed < judge.settled).then_some(seen);
            self.judged = Some((content.unwrap_or_default(), offences));
            return;
        }
        let reason = format!("run programs because of {}", cut_bytes(&new.join(", "), 200));
        let former = former.filter(|_| reading.restores).map(|(content, _)| content.as_slice());
        disable(directory, place.path, file, former, &reason, found);
        self.seen = None;
    }
}

/// What git would find at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Settings,
    Hooks,
    Program,
}

/// A path that the settings or hooks of a repository name and that did not exist.
#[derive(Debug)]
pub(super) struct Absent {
    path: PathBuf,
    kind: Kind,
    configuration: Configuration,
    hooks: Hooks,
}

impl Absent {
    pub(super) fn new(path: PathBuf, kind: Kind) -> Self {
        Self { path, kind, configuration: Configuration::default(), hooks: Hooks::default() }
    }

    pub(super) fn examine(&mut self, root: &OwnedFd, judge: &Judge<'_>, found: &mut Vec<Leftover>) {
        let (Some(place), Some(name)) = (self.path.parent(), self.path.file_name()) else { return };
        let Ok(inside) = place.strip_prefix(judge.root) else { return };
        if judge.enforce {
            disable_link(root, inside, judge, &self.path, found);
        }
        let directory = match entry::open(root, inside) {
            Ok(directory) => directory,
            Err(error) => {
                if judge.enforce && !entry::is_gone(error) && entry::may_hide(root, inside, error) {
                    found.push(Leftover::unexamined(place.to_owned(), &error.to_string()));
                }
                return;
            }
        };
        match self.kind {
            Kind::Settings => {
                let name = name.to_string_lossy();
                let here = Place { directory: &directory, path: place, is_known: true };
                self.configuration.examine(&SETTINGS, &here, &name, judge, found);
            }
            Kind::Hooks => self.hooks.examine(&directory, place, name, true, judge, found),
            Kind::Program if judge.enforce => {
                let reason = "run it, because a hook leads to it".to_owned();
                disable(&directory, place, name, None, &reason, found);
            }
            Kind::Program => {}
        }
    }
}

/// Renames a link through which a path exists now. There was none before the first command.
fn disable_link(
    root: &OwnedFd,
    inside: &Path,
    judge: &Judge<'_>,
    path: &Path,
    found: &mut Vec<Leftover>,
) {
    if fs::symlink_metadata(path).is_err() {
        return;
    }
    let mut place = PathBuf::new();
    for name in inside {
        let Ok(directory) = entry::open(root, &place) else { return };
        if entry::see(&directory, name).is_some_and(|seen| seen.kind == FileType::Symlink) {
            let reason = "find settings or hooks through it".to_owned();
            disable(&directory, &judge.root.join(&place), name, None, &reason, found);
            return;
        }
        place.push(name);
    }
}

/// A file or link named `.git`, which leads to a repository elsewhere.
#[derive(Debug)]
pub(super) struct Pointer {
    is_known: bool,
    /// The file or link, and the repository to which it led: a link on the way can change.
    seen: Option<(Seen, Option<PathBuf>)>,
}

impl Pointer {
    pub(super) fn new(is_known: bool) -> Self {
        Self { is_known, seen: None }
    }

    pub(super) fn examine(
        &mut self,
        directory: &OwnedFd,
        place: &Path,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) {
        let name = OsStr::new(".git");
        let Some(seen) = entry::see(directory, name) else { return };
        if judge.is_protected(&place.join(name)) {
            return;
        }
        let repository = repository_of(directory, place, &seen);
        if self.seen.as_ref().is_some_and(|known| *known == (seen, repository.clone())) {
            return;
        }
        let offences = repository.as_ref().map(|repository| offences_of(repository, judge));
        let offences = offences.unwrap_or_default();
        if offences.is_empty() || !judge.is_suspect(&seen, self.is_known) {
            self.seen = Some((seen, repository));
        } else {
            let reason =
                format!("use a repository that runs programs: {}", cut_bytes(&offences, 200));
            disable(directory, place, name, None, &reason, found);
        }
        self.is_known = true;
    }
}

/// Returns the repository to which a file or link leads.
fn repository_of(directory: &OwnedFd, place: &Path, seen: &Seen) -> Option<PathBuf> {
    if seen.kind == FileType::Symlink {
        return fs::canonicalize(place.join(".git")).ok();
    }
    let text = entry::read(directory, OsStr::new(".git"))?;
    let text = String::from_utf8_lossy(&text);
    let target = text.strip_prefix("gitdir:")?.trim();
    fs::canonicalize(place.join(target)).ok()
}

/// Returns what a repository runs, if a command could have made it. The user's own is trusted.
fn offences_of(repository: &Path, judge: &Judge<'_>) -> String {
    let common = fs::read_to_string(repository.join("commondir")).ok();
    let common = common.and_then(|text| fs::canonicalize(repository.join(text.trim_end())).ok());
    let common = common.unwrap_or_else(|| repository.to_owned());
    // Nothing there is examined again.
    if judge.temporary.is_some_and(|temporary| common.starts_with(temporary)) {
        return "it is among the temporary files of commands".to_owned();
    }
    let is_writable = judge.writable.iter().any(|root| common.starts_with(root));
    if !is_writable || judge.is_protected(&common.join("config")) {
        return String::new();
    }
    let unknown = || "it cannot be examined".to_owned();
    let Ok(directory) = entry::open_root(&common) else { return unknown() };
    let mut offences = Vec::new();
    for name in CONFIGURATIONS.map(OsStr::new) {
        match entry::read(&directory, name) {
            Some(text) => offences.extend(config::offences(&String::from_utf8_lossy(&text))),
            None if entry::see(&directory, name).is_some() => offences.push(unknown()),
            None => {}
        }
    }
    match entry::names(&directory, OsStr::new("hooks")) {
        Ok((hooks, names)) => {
            let runs = |name: &&OsString| {
                let text = name.to_string_lossy();
                !text.ends_with(".sample")
                    && !text.contains(DISABLED)
                    && entry::see(&hooks, name).is_some_and(|seen| seen.is_executable)
            };
            let run = names.iter().filter(runs);
            offences.extend(run.map(|name| format!("hooks/{}", name.display())));
        }
        Err(Errno::NOENT) => {}
        // Another error, or a link.
        Err(_) => offences.push(unknown()),
    }
    offences.join(", ")
}

/// Renames a file, or else the directory in which `git` would find it.
pub(super) fn disable(
    directory: &OwnedFd,
    place: &Path,
    name: &OsStr,
    former: Option<&[u8]>,
    reason: &str,
    found: &mut Vec<Leftover>,
) {
    let path = place.join(name);
    let failure = match entry::disable(directory, name) {
        Ok(new) => {
            let restored = former.map(|former| entry::restore(directory, name, former));
            let mut leftover = Leftover::disabled(path, place.join(new), reason);
            leftover.problem = restored
                .and_then(Result::err)
                .map(|error| format!("its former content could not be restored ({error})"));
            found.push(leftover);
            return;
        }
        Err(Errno::NOENT) => return,
        Err(error) => error,
    };
    let above = match (place.parent(), place.file_name()) {
        (Some(above), Some(of_place)) => entry::open_root(above)
            .and_then(|opened| entry::disable(&opened, of_place))
            .map(|new| above.join(new)),
        _ => Err(failure),
    };
    found.push(match above {
        Ok(new) => Leftover::disabled(place.to_owned(), new, reason),
        Err(_) => Leftover::armed(path, reason, &failure.to_string()),
    });
}
