//! The resources of a running process, from the operating system: CPU time in nanoseconds, memory,
//! wake-ups.
//!
//! The kernel counts some of these per thread. A thread that ended keeps the last value that was
//! seen.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// A process.
#[derive(Debug)]
pub(crate) struct Usage {
    process: u32,
    /// Nanoseconds on a CPU, by thread.
    threads: HashMap<String, u64>,
}

impl Usage {
    pub(crate) fn of(process: u32) -> Self {
        Self { process, threads: HashMap::new() }
    }

    /// Returns the CPU time of all threads so far. It is exact while the process sleeps; a running
    /// thread lags behind by up to a tick of the kernel.
    pub(crate) fn cpu(&mut self) -> Duration {
        for (thread, text) in self.read("schedstat") {
            let taken = text.split_whitespace().next().and_then(|field| field.parse().ok());
            if let Some(taken) = taken {
                self.threads.insert(thread, taken);
            }
        }
        Duration::from_nanos(self.threads.values().sum())
    }

    /// Returns true if a thread runs, waits for a CPU, or waits for a disk.
    pub(crate) fn is_busy(&self) -> bool {
        self.read("stat").iter().any(|(_, text)| {
            let state =
                text.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
            matches!(state, Some('R' | 'D'))
        })
    }

    /// Returns how often threads began to wait or were interrupted so far.
    pub(crate) fn switches(&self) -> u64 {
        let count = |text: &str| -> u64 {
            let lines = text.lines().filter(|line| line.contains("ctxt_switches:"));
            lines.filter_map(|line| line.rsplit_once(':')?.1.trim().parse::<u64>().ok()).sum()
        };
        self.read("status").iter().map(|(_, text)| count(text)).sum()
    }

    /// Returns the memory that is resident now, in megabytes.
    pub(crate) fn resident(&self) -> Option<f64> {
        self.memory("VmRSS:")
    }

    /// Returns the highest resident memory so far, in megabytes.
    pub(crate) fn peak(&self) -> Option<f64> {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
    }

    /// Reads a file of every thread.
    fn read(&self, file: &str) -> Vec<(String, String)> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process));
        let threads = threads.into_iter().flatten().flatten();
        let read = |entry: fs::DirEntry| {
            let text = fs::read_to_string(entry.path().join(file)).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), text))
        };
        threads.filter_map(read).collect()
    }
}

/// Counts the descriptors, threads, running children and zombies of this process.
pub(crate) fn holdings() -> [usize; 4] {
    let count = |path| fs::read_dir(path).map_or(0, Iterator::count);
    let own = std::process::id().to_string();
    let (mut running, mut dead) = (0, 0);
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields.split_whitespace());
        let Some(mut fields) = fields else { continue };
        let state = fields.next();
        if fields.next() == Some(&own) {
            *(if state == Some("Z") { &mut dead } else { &mut running }) += 1;
        }
    }
    [count("/proc/self/fd"), count("/proc/self/task"), running, dead]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_uses_something() {
        let mut usage = Usage::of(std::process::id());
        assert!(usage.cpu() > Duration::ZERO);
        assert!(usage.resident().unwrap() > 1.0 && usage.peak() >= usage.resident());
        assert!(usage.switches() > 0);
        assert!(usage.is_busy());
        assert!(holdings()[1] > 0);
    }
}
