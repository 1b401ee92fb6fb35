//! CPU time and allocations of this thread.
//!
//! Allocations are counted by the crate `allocation-counter`: a counting allocator needs `unsafe`,
//! which this workspace forbids. Of the small crates for it, this one has no dependencies, counts
//! per thread, and reports the peak; `stats_alloc` has no peak and `peak_alloc` no count of
//! allocations. It turns a reallocation into an allocation, a copy and a release, so growing
//! strings look a little worse here, in time and in peak, than they are in the program.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The allocations of a piece of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allocations {
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// The highest number of bytes held at once, beyond those held before.
    pub(super) peak: u64,
}

/// Number of runs. The best time counts, since nothing makes a run too fast.
pub(super) const RUNS: usize = 8;

/// The source of CPU times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// The accounts of the scheduler, in nanoseconds.
    Scheduler,
    /// Wall time, if there are no such accounts.
    Wall,
}

impl Clock {
    /// Returns the best clock of this machine. Some containers have the file of the scheduler, but
    /// it does not advance, so it is tested.
    pub(super) fn choose() -> Self {
        let before = on_cpu();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(40) {
            black_box(start.elapsed());
        }
        let advanced = before.zip(on_cpu()).is_some_and(|(before, after)| after > before);
        if advanced { Self::Scheduler } else { Self::Wall }
    }

    /// The name of the clock in a report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "CPU time",
            Self::Wall => "wall time: this system has no CPU time per thread",
        }
    }

    /// Returns the shortest time of each piece of work in `RUNS` runs: a busy machine can slow down
    /// any run, but hardly all of them. The pieces take turns, so that a change of speed affects all
    /// of them.
    pub(super) fn time<const N: usize>(self, mut work: [&mut dyn FnMut(); N]) -> [Duration; N] {
        let mut best = [Duration::MAX; N];
        for _ in 0..RUNS {
            for (best, work) in best.iter_mut().zip(&mut work) {
                *best = self.time_once(work).min(*best);
            }
        }
        best
    }

    /// Returns the time of one run.
    pub(super) fn time_once(self, work: &mut dyn FnMut()) -> Duration {
        let start = Instant::now();
        let before = on_cpu();
        // Counting costs time.
        allocation_counter::opt_out(work);
        match (self, before.zip(on_cpu())) {
            (Self::Scheduler, Some((before, after))) => after.saturating_sub(before),
            _ => start.elapsed(),
        }
    }
}

/// Returns the time that this thread has spent on a CPU.
fn on_cpu() -> Option<Duration> {
    // The accounts are updated when the thread leaves the CPU, otherwise only with every tick of
    // some milliseconds.
    std::thread::sleep(Duration::from_micros(1));
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Measures the allocations of `work`.
pub(super) fn allocations(work: impl FnOnce()) -> Allocations {
    let info = allocation_counter::measure(work);
    Allocations { count: info.count_total, bytes: info.bytes_total, peak: info.bytes_max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_counted() {
        let info = allocations(|| {
            drop(black_box(vec![0_u8; 1000]));
            drop(black_box(vec![0_u8; 500]));
        });
        assert_eq!((info.count, info.bytes, info.peak), (2, 1500, 1000));
    }

    #[test]
    fn work_takes_time() {
        let start = Instant::now();
        let sleep = |millis| move || std::thread::sleep(Duration::from_millis(millis));
        let [short, long] = Clock::Wall.time([&mut sleep(1), &mut sleep(4)]);
        assert!(short >= Duration::from_millis(1) && long >= Duration::from_millis(4));
        assert!(start.elapsed() >= short + long);
        let mut runs = 0;
        Clock::Wall.time([&mut || runs += 1]);
        assert_eq!(runs, RUNS);
    }
}
