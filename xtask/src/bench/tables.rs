//! Decoding of streams, measured: two tables.

use std::fmt::Write as _;
use std::time::Duration;

use super::clock::{Clock, RUNS, allocations};
use super::feed::{decode, split};
use super::streams::{Format, Kind, Stream, tokens};

/// Budget per chunk, from the socket to the screen, in microseconds.
const CHUNK_BUDGET: f64 = 1.5;

/// Budget for the time that four times the stream takes, relative to the stream.
const SCALING_BUDGET: f64 = 4.5;

/// Number of different tokens in a stream.
const TOKENS: usize = 1000;

/// Measures everything and prints each row when it is known.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(clock: Clock, quick: bool) {
    // Several short runs: on a busy machine, only a short run is undisturbed.
    let chunks = if quick { 8_000 } else { 40_000 };
    println!("{}; the best of {RUNS} runs; one thread", clock.name());
    println!("\nStreams of small chunks, one event at a time:\n");
    println!("{}", Row::heading());
    for format in Format::ALL {
        for kind in Kind::ALL {
            println!("{}", decoding(clock, *format, *kind, chunks));
        }
    }
    println!("{}", splitting(clock, chunks));
    println!("\nOne tool call whose arguments arrive in pieces of 20 bytes:\n");
    println!("{}", call_heading());
    let megabyte = if quick { 200_000 } else { 1_000_000 };
    for format in Format::ALL {
        println!("{}", one_call(clock, *format, megabyte));
    }
    println!(
        "\nBudgets: {CHUNK_BUDGET} us per chunk; {SCALING_BUDGET} times as long for 4 times as much."
    );
}

/// A line of the first table.
struct Row {
    what: String,
    chunks: usize,
    time: Duration,
    four_times: Duration,
    allocations: f64,
    allocated: f64,
}

fn decoding(clock: Clock, format: Format, kind: Kind, chunks: usize) -> String {
    let tokens = tokens(TOKENS, 5);
    let stream = Stream::new(format, kind, &tokens, chunks / TOKENS);
    let long = Stream::new(format, kind, &tokens, 4 * chunks / TOKENS);
    let what = format!("{} {}", format.api(), kind.name());
    row(clock, what, [&stream, &long], |stream| drop(decode(format, stream)))
}

/// The SSE parser alone, over the format with the most lines per event.
fn splitting(clock: Clock, chunks: usize) -> String {
    let tokens = tokens(TOKENS, 5);
    let stream = Stream::new(Format::Anthropic, Kind::Text, &tokens, chunks / TOKENS);
    let long = Stream::new(Format::Anthropic, Kind::Text, &tokens, 4 * chunks / TOKENS);
    let run = |stream: &Stream| assert!(split(stream) > stream.deltas);
    row(clock, "SSE parser alone".to_owned(), [&stream, &long], run)
}

/// Measures `run` over a stream and over one that is four times as long.
fn row(clock: Clock, what: String, [stream, long]: [&Stream; 2], run: impl Fn(&Stream)) -> String {
    let chunks = stream.deltas;
    let held = allocations(|| run(stream));
    let [time, four_times] =
        clock.time([&mut || repeat_four_times(|| run(stream)), &mut || run(long)]);
    Row {
        what,
        chunks,
        time: time / 4,
        four_times,
        allocations: ratio(held.count, chunks),
        allocated: ratio(held.bytes, chunks),
    }
    .line()
}

impl Row {
    fn heading() -> String {
        format!(
            "{:<36} {:>8} {:>8} {:>8} {:>8} {:>6}",
            "", "chunks", "us/chunk", "allocs/d", "bytes/d", "4x"
        )
    }

    fn line(&self) -> String {
        let per_chunk = micros(self.time) / self.chunks as f64;
        let scaling = times(self.four_times, self.time);
        let mut line = format!(
            "{:<36} {:>8} {per_chunk:>8.3} {:>8.2} {:>8.1} {scaling:>6.2}",
            self.what, self.chunks, self.allocations, self.allocated,
        );
        mark(&mut line, per_chunk > CHUNK_BUDGET, scaling);
        line
    }
}

fn call_heading() -> String {
    format!(
        "{:<36} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}",
        "", "MB", "ms", "peak MB", "ms, 4x", "peak, 4x", "4x"
    )
}

/// A line of the second table.
fn one_call(clock: Clock, format: Format, bytes: usize) -> String {
    let tokens = tokens(TOKENS, 20);
    let rounds = bytes / tokens.concat().len();
    let stream = Stream::new(format, Kind::Arguments, &tokens, rounds);
    let long = Stream::new(format, Kind::Arguments, &tokens, 4 * rounds);
    let run = |stream: &Stream| drop(decode(format, stream));
    let [short_peak, long_peak] = [&stream, &long].map(|stream| allocations(|| run(stream)).peak);
    let [short, long] =
        clock.time([&mut || repeat_four_times(|| run(&stream)), &mut || run(&long)]);
    let short = short / 4;
    let scaling = times(long, short);
    let mut line = format!(
        "{:<36} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>6.2}",
        format.api(),
        bytes as f64 / 1e6,
        micros(short) / 1e3,
        short_peak as f64 / 1e6,
        micros(long) / 1e3,
        long_peak as f64 / 1e6,
        scaling,
    );
    mark(&mut line, false, scaling);
    line
}

/// Repeats work, so that both sides of a comparison take about as long: a shorter run is less likely
/// to be disturbed.
fn repeat_four_times(work: impl Fn()) {
    for _ in 0..4 {
        work();
    }
}

fn mark(line: &mut String, slow: bool, scaling: f64) {
    if slow {
        let _ = write!(line, "  over budget: time");
    }
    if scaling > SCALING_BUDGET {
        let _ = write!(line, "  over budget: scaling");
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn times(long: Duration, short: Duration) -> f64 {
    long.as_secs_f64() / short.as_secs_f64().max(1e-9)
}

fn ratio(sum: u64, count: usize) -> f64 {
    sum as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_over_budget_are_marked() {
        let row = |event: u64, four: u64| {
            let row = Row {
                what: "x".to_owned(),
                chunks: 1000,
                time: Duration::from_micros(event),
                four_times: Duration::from_micros(four),
                allocations: 1.0,
                allocated: 5.0,
            };
            row.line()
        };
        assert!(!row(1000, 4100).contains("over budget"), "{}", row(1000, 4100));
        assert!(row(2000, 8000).ends_with("  over budget: time"));
        assert!(row(1000, 5000).ends_with("  over budget: scaling"));
    }

    #[test]
    fn tables_are_complete() {
        assert!(decoding(Clock::Wall, Format::Google, Kind::Text, 1000).contains("google"));
        assert!(splitting(Clock::Wall, 1000).contains("alone"));
        assert!(one_call(Clock::Wall, Format::Google, 50_000).contains("google"));
    }
}
