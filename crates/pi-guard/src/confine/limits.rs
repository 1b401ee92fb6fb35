//! Limits on the resources of a command.
//!
//! The helper sets limits of processes here. A caller that can create control groups enforces the
//! limits of the command as a whole.

use std::fs;

use serde::{Deserialize, Serialize};

/// Limits on the resources of a command. The default has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// Processes and threads of a command at a time. Without a control group, the kernel counts
    /// those of the user, and none of root.
    pub processes: Option<u64>,
    /// Memory of all processes of a command together, in bytes. Only a control group enforces it.
    pub memory: Option<u64>,
    /// Memory of each process, in bytes. Programs that reserve much more memory than they use do
    /// not work with it, such as those built with a sanitizer.
    pub process_memory: Option<u64>,
    /// Size of each file that a command writes, in bytes.
    pub file_size: Option<u64>,
}

impl Limits {
    /// Returns generous limits for this machine: what exceeds them is an accident or an attack.
    pub fn usual() -> Self {
        Self {
            processes: Some(4096),
            memory: machine_memory().map(|bytes| bytes / 5 * 4),
            process_memory: None,
            file_size: Some(16 << 30),
        }
    }
}

/// Returns the memory of this machine in bytes.
fn machine_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Limits this process and all programs that it starts or becomes.
#[cfg(target_os = "linux")]
pub(super) fn apply(limits: &Limits) -> Result<(), rustix::io::Errno> {
    use rustix::process::Resource;
    // Tasks of all users: at least those of this user, and cheap to find out.
    let tasks = || -> Option<u64> {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        text.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
    };
    let processes = limits.processes.map(|processes| processes + tasks().unwrap_or(0));
    let limits = [
        (Resource::Nproc, processes),
        (Resource::Data, limits.process_memory),
        (Resource::Fsize, limits.file_size),
    ];
    for (resource, limit) in limits {
        let Some(limit) = limit else { continue };
        let mut limits = rustix::process::getrlimit(resource);
        let lower = |old: Option<u64>| Some(old.map_or(limit, |old| old.min(limit)));
        (limits.current, limits.maximum) = (lower(limits.current), lower(limits.maximum));
        rustix::process::setrlimit(resource, limits)?;
    }
    // If the machine runs out of memory, the command ends before the programs of the user do. The
    // kernel may have no such file.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    Ok(())
}
