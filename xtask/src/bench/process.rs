//! CPU time, memory and resources of this process, from the operating system.

use std::fs;
use std::time::Duration;

/// The system's unit of CPU time.
const TICK: Duration = Duration::from_millis(10);
/// Shorter times are too imprecise in ticks.
const ENOUGH: Duration = Duration::from_millis(500);

/// The processes whose CPU time counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose {
    /// This process with all its threads.
    Own,
    /// Children that were waited for, with their own children.
    Children,
}

/// Returns the CPU time so far, if the system reports it.
pub(super) fn on_cpu(whose: Whose) -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name may contain any character. After it, two fields are of this process, the next two of
    // its children.
    let skip = match whose {
        Whose::Own => 11,
        Whose::Children => 13,
    };
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(skip);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}

/// Returns the CPU time of one run: the mean of at least `runs`, and of more if a run is short, after
/// one that does not count. `None` if the system does not report CPU time.
pub(super) fn cpu_of<E>(
    runs: u32,
    whose: Whose,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<Option<Duration>, E> {
    work()?;
    let Some(before) = on_cpu(whose) else { return Ok(None) };
    let (mut done, mut taken) = (0, Duration::ZERO);
    while done < runs || (taken < ENOUGH && done < 40 * runs) {
        work()?;
        done += 1;
        taken = on_cpu(whose).unwrap_or(before).saturating_sub(before);
    }
    Ok(Some(taken / done))
}

/// Returns the peak memory of this process, in megabytes.
pub(super) fn peak_memory() -> Option<f64> {
    peak_memory_of("self")
}

/// Returns the peak memory of a process, in megabytes.
pub(super) fn peak_memory_of(process: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

/// Counts the descriptors, threads, running children and zombies of this process.
pub(super) fn holdings() -> [usize; 4] {
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
    fn work_is_repeated_and_errors_are_returned() {
        let mut runs = 0;
        let took = cpu_of(3, Whose::Own, || {
            runs += 1;
            Ok::<_, ()>(())
        });
        assert!(took.unwrap().is_none_or(|took| took < ENOUGH) && runs > 3, "{runs}");
        assert_eq!(cpu_of(3, Whose::Children, || Err("no")), Err("no"));
    }
}
