//! CPU time and allocations.
//!
//! Allocations are counted by the crate `allocation-counter`: a counting allocator needs `unsafe`,
//! which this workspace forbids. It turns a reallocation into an allocation, a copy and a release, so
//! growing strings look a little worse here, in time and in peak, than they are in the program.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::time::{ClockId, clock_gettime};

/// Number of runs of a piece of work. The best time counts, since nothing makes a run too fast.
pub(crate) const RUNS: usize = 8;

/// The allocations of a piece of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocations {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// The highest number of bytes held at once, beyond those held before.
    pub(crate) peak: u64,
}

/// Returns the CPU time of this thread so far.
fn thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of this process with all its threads so far.
pub(crate) fn own() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}

/// Returns the CPU time of all children that were waited for, with their own children.
pub(crate) fn children() -> Duration {
    let micros = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
    });
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// Returns the shortest time of each piece of work on this thread: a busy machine can slow down any
/// run, but hardly all of them. The pieces take turns, so that a change of speed affects all of them.
pub(crate) fn best<const N: usize>(mut work: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..RUNS {
        for (best, work) in best.iter_mut().zip(&mut work) {
            *best = once(work).min(*best);
        }
    }
    best
}

/// Returns the time of one run on this thread.
pub(crate) fn once(work: &mut dyn FnMut()) -> Duration {
    let before = thread();
    // Counting costs time.
    allocation_counter::opt_out(work);
    thread().saturating_sub(before)
}

/// Returns the median time of several runs by a clock, after a run that does not count.
pub(crate) fn typical<E>(
    runs: usize,
    clock: fn() -> Duration,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<Duration, E> {
    work()?;
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let before = clock();
        work()?;
        times.push(clock().saturating_sub(before));
    }
    Ok(median(times).unwrap_or_default())
}

/// Returns the value in the middle.
pub(crate) fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

/// Measures the allocations of `work`.
pub(crate) fn allocations(work: impl FnOnce()) -> Allocations {
    let info = allocation_counter::measure(work);
    Allocations { count: info.count_total, bytes: info.bytes_total, peak: info.bytes_max }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::process::Command;

    use super::*;

    fn spin(turns: u64) {
        (0..turns).for_each(|turn| {
            black_box(turn);
        });
    }

    #[test]
    fn allocations_are_counted() {
        let info = allocations(|| {
            drop(black_box(vec![0_u8; 1000]));
            drop(black_box(vec![0_u8; 500]));
        });
        assert_eq!((info.count, info.bytes, info.peak), (2, 1500, 1000));
    }

    #[test]
    fn more_work_takes_more_time() {
        let [short, long] = best([&mut || spin(10_000), &mut || spin(1_000_000)]);
        assert!(short < long, "{short:?} {long:?}");
        let mut runs = 0;
        best([&mut || runs += 1]);
        assert_eq!(runs, RUNS);
    }

    #[test]
    fn work_is_repeated_and_errors_are_returned() {
        let mut runs = 0;
        let took = typical(3, own, || {
            runs += 1;
            spin(100_000);
            Ok::<_, ()>(())
        });
        assert!(took.unwrap() > Duration::ZERO && runs == 4, "{runs}");
        assert_eq!(typical(3, own, || Err("no")), Err("no"));
    }

    #[test]
    fn children_count_when_they_have_ended() {
        let before = children();
        Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done"])
            .status()
            .unwrap();
        assert!(children() > before);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::<u8>::new()), None);
    }
}
