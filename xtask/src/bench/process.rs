//! What the system tells about this process: time, memory, and what it holds.

use std::fs;
use std::time::Duration;

/// The system's unit of CPU time.
const TICK: Duration = Duration::from_millis(10);
/// Below this, a time in ticks says little.
const ENOUGH: Duration = Duration::from_millis(500);

/// Whose CPU time counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose {
    /// This process, all its threads.
    Own,
    /// Children that have ended and were waited for, and theirs.
    Children,
}

/// CPU time so far, where the system tells it.
pub(super) fn on_cpu(whose: Whose) -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may contain anything: this process in two fields, its children in
    // the two that follow.
    let skip = match whose {
        Whose::Own => 11,
        Whose::Children => 13,
    };
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(skip);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}

/// What one run takes, of at least `runs`, and of more if it takes but a moment; after one that
/// nobody counts. `None` where the system does not tell.
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

/// The most memory this process ever had, in megabytes.
pub(super) fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

/// Descriptors, threads, children that run and children that nobody has waited for.
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
    fn work_is_repeated_and_errors_are_told() {
        let mut runs = 0;
        let took = cpu_of(3, Whose::Own, || {
            runs += 1;
            Ok::<_, ()>(())
        });
        assert!(took.unwrap().is_none_or(|took| took < ENOUGH) && runs > 3, "{runs}");
        assert_eq!(cpu_of(3, Whose::Children, || Err("no")), Err("no"));
    }
}
