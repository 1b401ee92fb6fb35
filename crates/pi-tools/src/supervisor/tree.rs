//! The tree of processes, and killing parts of it.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The parent and the session of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessInfo {
    parent: u32,
    session: u32,
}

/// Kills all descendants of a process.
pub(super) fn kill_descendants(of: u32) {
    descendants(of, &processes()).into_iter().for_each(kill);
}

/// Asks all descendants of a process to exit. The launcher of a sandbox is left out: it would exit
/// at once, and the kernel would kill everything in its PID namespace.
pub(super) fn terminate_descendants(of: u32) {
    let processes = processes();
    let deeper = |id: &u32| {
        let parent = processes.get(id).map(|process| process.parent)?;
        (pid_namespaces(*id)? > pid_namespaces(parent)?).then_some(parent)
    };
    let found = descendants(of, &processes);
    let launchers: Vec<u32> = found.iter().filter_map(deeper).collect();
    for id in found.iter().filter(|id| !launchers.contains(id)) {
        signal(*id, Signal::TERM);
    }
}

/// Returns the number of nested PID namespaces that a process is in.
fn pid_namespaces(id: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(ids.split_ascii_whitespace().count())
}

/// Returns a process and all its descendants.
pub(crate) fn with_descendants(of: u32) -> Vec<u32> {
    let mut all = descendants(of, &processes());
    all.insert(0, of);
    all
}

/// Kills all processes of a session.
pub(crate) fn kill_session(session: u32) {
    let processes = processes();
    let members = processes.iter().filter(|(_, process)| process.session == session);
    members.for_each(|(id, _)| kill(*id));
}

fn kill(id: u32) {
    signal(id, Signal::KILL);
}

fn signal(id: u32, signal: Signal) {
    if let Some(id) = Pid::from_raw(id.cast_signed()) {
        // The process may just have ended.
        let _ = kill_process(id, signal);
    }
}

/// Returns the command lines of all descendants of a process that still run. Those in a PID
/// namespace of their own are left out: they end with the first process there. Cheaper than a list
/// of all processes: it is asked for after every command.
pub(crate) fn command_lines(of: u32) -> Vec<String> {
    let mut next: Vec<u32> = children(of);
    let mut lines = Vec::new();
    let namespaces = pid_namespaces(of);
    while let Some(id) = next.pop() {
        if pid_namespaces(id) != namespaces {
            continue;
        }
        next.extend(children(id));
        lines.extend(command_line(id));
    }
    lines
}

/// Returns the command line of a process, or its name while it has none: a process that becomes
/// another program has no arguments for a moment, and one that ended has none any more.
fn command_line(id: u32) -> Option<String> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let line = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
        if !words.is_empty() {
            return Some(words.join(" "));
        }
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        let state = stat.rsplit(|byte| *byte == b')').next()?.trim_ascii().first()?;
        if matches!(state, b'Z' | b'X') {
            return None;
        }
        std::thread::yield_now();
    }
    fs::read_to_string(format!("/proc/{id}/comm")).ok().map(|name| name.trim().to_owned())
}

/// Returns the children of all threads of a process.
fn children(of: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else { return Vec::new() };
    let texts =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let ids = texts.flat_map(|text| {
        text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
    });
    ids.collect()
}

/// Returns all visible processes; none without `/proc`.
fn processes() -> BTreeMap<u32, ProcessInfo> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let read = |id: u32| Some((id, parse(&fs::read(format!("/proc/{id}/stat")).ok()?)?));
    ids.filter_map(read).collect()
}

/// Parses a line of `/proc/*/stat`. The name in it may contain any characters.
fn parse(stat: &[u8]) -> Option<ProcessInfo> {
    let stat = String::from_utf8_lossy(stat);
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(ProcessInfo { parent, session })
}

/// Returns all descendants of a process, nearest first.
fn descendants(root: u32, processes: &BTreeMap<u32, ProcessInfo>) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (id, process) in processes {
        children.entry(process.parent).or_default().push(*id);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(id) = found.get(next) {
        found.extend(children.remove(id).unwrap_or_default());
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_are_parsed_with_any_name() {
        let process = Some(ProcessInfo { parent: 7, session: 5 });
        for name in ["sh", "a) S 1 2 3", "((", "a b\n"] {
            assert_eq!(parse(format!("12 ({name}) S 7 6 5 0 -1").as_bytes()), process, "{name}");
        }
        assert_eq!(parse(b"12 (sh"), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_cycles_end() {
        let process = |parent| ProcessInfo { parent, session: 1 };
        let processes = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (8, 9), (9, 8)];
        let processes = processes.into_iter().map(|(id, parent)| (id, process(parent))).collect();
        assert_eq!(descendants(2, &processes), [3, 4]);
        assert_eq!(descendants(1, &processes), [2, 5, 3, 4]);
        assert_eq!(descendants(8, &processes), [9, 8]);
    }
}
