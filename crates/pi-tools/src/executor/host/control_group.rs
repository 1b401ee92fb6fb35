//! Control groups: limits on the processes and the memory of a command as a whole.
//!
//! A group is created beside the one of this program (version 2, where systemd has delegated it to
//! the user), or below it (for root, also version 1). Where neither is possible, only the limits of
//! each process apply.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use pi_guard::confine::Limits;
use tokio::task::JoinHandle;

use crate::supervisor::tree;

const MOUNT: &str = "/sys/fs/cgroup";

/// Attempts to remove a group: the kernel needs a moment after the last process.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// Rounds of adding processes to a group.
const ROUNDS: usize = 50;

/// The time after which a command gets a control group. Adding a process to a group takes the
/// kernel up to 20 milliseconds, too much for the many short commands. Until then, the kernel limits
/// the processes of the user; only root gets a control group at once.
const YOUNG: Duration = Duration::from_millis(100);

/// The control group of a command as soon as it has one.
#[derive(Debug, Default)]
pub(super) struct Group {
    limits: Limits,
    group: Arc<Mutex<Option<ControlGroup>>>,
    adding: Option<JoinHandle<()>>,
}

impl Group {
    /// A group with these limits, which is created later.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, group: Arc::default(), adding: None }
    }

    /// Adds a process that has not started any other: at once if nothing else limits it.
    pub(super) async fn add(&mut self, process: Option<u32>) {
        if !rustix::process::geteuid().is_root() || process.is_none() {
            return self.add_later(process);
        }
        let limits = self.limits;
        let create = tokio::task::spawn_blocking(move || {
            let group = ControlGroup::create(&limits)?;
            group.add(process?).ok()?;
            Some(group)
        });
        // Without a group, the limits of each process apply.
        let group = create.await.unwrap_or_default();
        *lock(&self.group) = group;
    }

    /// Adds a process and its descendants if it still runs after a while.
    pub(super) fn add_later(&mut self, process: Option<u32>) {
        let (limits, group) = (self.limits, Arc::clone(&self.group));
        let Some(process) = process.filter(|_| limits != Limits::default()) else { return };
        self.adding = Some(tokio::spawn(async move {
            tokio::time::sleep(YOUNG).await;
            // A command that is waited for has no group while this fails.
            let _ = tokio::task::spawn_blocking(move || {
                let new = ControlGroup::create(&limits);
                if let Some(new) = &new {
                    new.add_all(process);
                }
                *lock(&group) = new;
            })
            .await;
        }));
    }

    /// Returns the limits that the command reached, as sentences, after it has ended.
    pub(super) fn reached(&self) -> Vec<String> {
        let group = lock(&self.group).take();
        group.map(|group| group.reached()).unwrap_or_default()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(adding) = &self.adding {
            adding.abort();
        }
    }
}

/// The groups of one command, which are removed on drop.
#[derive(Debug)]
struct ControlGroup {
    directories: Vec<PathBuf>,
    limits: Limits,
}

impl ControlGroup {
    /// Creates a group with these limits, if this user may.
    fn create(limits: &Limits) -> Option<Self> {
        if limits.processes.is_none() && limits.memory.is_none() {
            return None;
        }
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::create_in(Path::new(MOUNT), &own, limits)
    }

    fn create_in(mount: &Path, own: &str, limits: &Limits) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pi-{}-{number}", std::process::id());
        let mut group = Self { directories: Vec::new(), limits: *limits };
        for parent in parents(mount, own) {
            remove_stale(&parent, number);
            let directory = parent.join(&name);
            if fs::create_dir(&directory).is_ok() {
                group.directories.push(directory);
            }
        }
        // Dropping the group removes what was created.
        group.limit().then_some(group)
    }

    /// Writes the limits. Returns false if one cannot be enforced.
    fn limit(&self) -> bool {
        let write = |names: [&str; 2], limit: Option<u64>| {
            let Some(limit) = limit else { return true };
            let mut files = self.directories.iter().flat_map(|at| names.map(|name| at.join(name)));
            let file = files.find(|file| file.exists());
            file.is_some_and(|file| fs::write(file, limit.to_string()).is_ok())
        };
        write(["pids.max", "pids.max"], self.limits.processes)
            && write(["memory.max", "memory.limit_in_bytes"], self.limits.memory)
    }

    /// Adds a process and all its descendants, with all that they start from now on.
    fn add_all(&self, process: u32) {
        let mut added = BTreeSet::new();
        for _ in 0..ROUNDS {
            // Processes may have started others before they were added.
            let mut new = tree::with_descendants(process);
            new.retain(|process| added.insert(*process));
            if new.is_empty() {
                break;
            }
            for process in new {
                // The process may have ended.
                let _ = self.add(process);
            }
        }
    }

    /// Adds a process, with all that it starts from now on.
    fn add(&self, process: u32) -> io::Result<()> {
        let process = process.to_string();
        self.directories.iter().try_for_each(|at| fs::write(at.join("cgroup.procs"), &process))
    }

    /// Returns the limits that the command reached, as sentences.
    fn reached(&self) -> Vec<String> {
        let counted = |names: [&str; 2], event: &str| {
            let files = self.directories.iter().flat_map(|at| names.map(|name| at.join(name)));
            files.filter_map(|file| fs::read_to_string(file).ok()).any(|text| {
                let mut events = text.lines().filter_map(|line| line.split_once(' '));
                events.any(|(name, count)| name == event && count.trim() != "0")
            })
        };
        let mut reached = Vec::new();
        if let Some(limit) = self.limits.processes
            && counted(["pids.events", "pids.events"], "max")
        {
            reached.push(format!("The command reached its limit of {limit} processes."));
        }
        if let Some(limit) = self.limits.memory
            && counted(["memory.events", "memory.oom_control"], "oom_kill")
        {
            let limit = limit >> 20;
            reached.push(format!(
                "The command reached its limit of {limit} MB of memory, and a process was killed."
            ));
        }
        reached
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for directory in &self.directories {
            for _ in 0..ATTEMPTS {
                match fs::remove_dir(directory) {
                    // Processes that are just being killed; the next group removes it otherwise.
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(PAUSE);
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Returns the groups in which one can be created, by the text of `/proc/self/cgroup`: one of
/// version 2, or one of version 1 for each kind of limit.
fn parents(mount: &Path, own: &str) -> Vec<PathBuf> {
    let group = |controller: &str| {
        own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let matches = controllers.split(',').any(|name| name == controller);
            matches.then(|| path.trim_start_matches('/').to_owned())
        })
    };
    if mount.join("cgroup.controllers").exists() {
        let own = group("").map(|path| mount.join(path));
        let above = own.as_deref().and_then(Path::parent).filter(|above| above.starts_with(mount));
        // A group with processes has no groups with limits in it, unless it is the root.
        let candidates = above.map(Path::to_owned).into_iter().chain(own);
        return candidates.filter(|parent| delegates(parent)).take(1).collect();
    }
    let of = |controller: &str| {
        let group = group(controller)?;
        Some(mount.join(controller).join(group)).filter(|parent| parent.is_dir())
    };
    ["pids", "memory"].into_iter().filter_map(of).collect()
}

/// Returns true if groups in this one have limits of processes and memory.
fn delegates(parent: &Path) -> bool {
    let enabled = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
    ["pids", "memory"].iter().all(|name| enabled.split_ascii_whitespace().any(|on| on == *name))
}

/// Removes the groups of programs that were killed, and those of this one that still had processes
/// when their command ended.
fn remove_stale(parent: &Path, newest: u64) {
    const RECENT: u64 = 16;
    let own = std::process::id().to_string();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let program = name.to_str().and_then(|name| name.strip_prefix("pi-")?.split_once('-'));
        let Some((program, number)) = program else { continue };
        let (Ok(_), Ok(number)) = (program.parse::<u32>(), number.parse::<u64>()) else { continue };
        let is_old = if program == own {
            number + RECENT < newest
        } else {
            !Path::new("/proc").join(program).exists()
        };
        if is_old {
            // Fails for a group with processes.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_created_where_limits_are_delegated() {
        let mount = tempfile::tempdir().unwrap();
        let mount = mount.path();
        let on = |path: &str, controllers: &str| {
            fs::create_dir_all(mount.join(path)).unwrap();
            fs::write(mount.join(path).join("cgroup.subtree_control"), controllers).unwrap();
        };
        let own = "4:memory:/service\n3:pids,rdma:/\n0::/user/app/terminal.scope\n";
        // Version 1: a group in each hierarchy that is mounted.
        on("pids", "");
        assert_eq!(parents(mount, own), [mount.join("pids/")]);
        on("memory/service", "");
        assert_eq!(parents(mount, own), [mount.join("pids/"), mount.join("memory/service")]);
        // Version 2.
        fs::write(mount.join("cgroup.controllers"), "cpu memory pids").unwrap();
        assert_eq!(parents(mount, own), Vec::<PathBuf>::new());
        on("user/app/terminal.scope", "memory pids");
        assert_eq!(parents(mount, own), [mount.join("user/app/terminal.scope")]);
        on("user/app", "cpu memory pids");
        assert_eq!(parents(mount, own), [mount.join("user/app")]);
        on("user/app", "cpu memory");
        on("user/app/terminal.scope", "");
        assert_eq!(parents(mount, own), Vec::<PathBuf>::new());
        on("", "memory pids");
        assert_eq!(parents(mount, "0::/\n"), [mount.join("")]);
    }

    #[test]
    fn a_group_without_its_limits_is_not_used() {
        let mount = tempfile::tempdir().unwrap();
        fs::create_dir(mount.path().join("pids")).unwrap();
        let limits = Limits::usual();
        assert!(ControlGroup::create_in(mount.path(), "3:pids:/\n", &limits).is_none());
        let left = fs::read_dir(mount.path().join("pids")).unwrap().count();
        assert_eq!(left, 0);
    }
}
