//! The numbers, as two tables.

use std::fmt::Write as _;
use std::time::Duration;

use super::clock::{Clock, RUNS, allocations};
use super::feed::{Pieces, decode, split};
use super::streams::{Format, Kind, Stream, tokens};

/// Of the time a chunk may take from the socket to the screen, in microseconds.
const CHUNK_BUDGET: f64 = 1.5;

/// Four times the stream may take this many times as long.
const SCALING_BUDGET: f64 = 4.5;

/// How many different tokens a stream is made of.
const TOKENS: usize = 1000;

/// Measures everything and prints it as it comes.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(clock: Clock, quick: bool) {
    // Short runs, and several of them: on a busy machine only a short run is ever undisturbed.
    let chunks = if quick { 8_000 } else { 40_000 };
    println!("{}; the best of {RUNS} runs; one thread", clock.name());
    println!("\nStreams of small chunks, by the event and in pieces of 16 KiB:\n");
    println!("{}", Row::heading());
    for format in Format::ALL {
        for kind in Kind::ALL {
            println!("{}", decoding(clock, *format, *kind, chunks));
        }
    }
    println!("{}", splitting(clock, chunks));
    println!("\nOne tool call whose arguments come 20 bytes at a time:\n");
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
    bytes: usize,
    by_event: Duration,
    by_record: Duration,
    four_times: Duration,
    allocations: f64,
    allocated: f64,
}

fn decoding(clock: Clock, format: Format, kind: Kind, chunks: usize) -> String {
    let tokens = tokens(TOKENS, 5);
    let stream = Stream::new(format, kind, &tokens, chunks / TOKENS);
    let long = Stream::new(format, kind, &tokens, 4 * chunks / TOKENS);
    let what = format!("{} {}", format.api(), kind.name());
    row(clock, what, [&stream, &long], |stream, pieces| drop(decode(format, stream, pieces)))
}

/// The SSE parser alone, over the format with the most lines per event.
fn splitting(clock: Clock, chunks: usize) -> String {
    let tokens = tokens(TOKENS, 5);
    let stream = Stream::new(Format::Anthropic, Kind::Text, &tokens, chunks / TOKENS);
    let long = Stream::new(Format::Anthropic, Kind::Text, &tokens, 4 * chunks / TOKENS);
    let run = |stream: &Stream, pieces| assert!(split(stream, pieces) > stream.deltas);
    row(clock, "SSE parser alone".to_owned(), [&stream, &long], run)
}

/// Measures `run` over a stream and over one that is four times as long.
fn row(
    clock: Clock,
    what: String,
    [stream, long]: [&Stream; 2],
    run: impl Fn(&Stream, Pieces),
) -> String {
    let chunks = stream.deltas;
    let held = allocations(|| run(stream, Pieces::Events));
    let [by_event, by_record, four_times] = clock.time([
        &mut || four_times_over(|| run(stream, Pieces::Events)),
        &mut || run(stream, Pieces::Records),
        &mut || run(long, Pieces::Events),
    ]);
    Row {
        what,
        chunks,
        bytes: stream.bytes(),
        by_event: by_event / 4,
        by_record,
        four_times,
        allocations: ratio(held.count, chunks),
        allocated: ratio(held.bytes, chunks),
    }
    .line()
}

impl Row {
    fn heading() -> String {
        format!(
            "{:<36} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6}",
            "", "chunks", "us/chunk", "(16 KiB)", "allocs/d", "bytes/d", "MB/s", "4x"
        )
    }

    fn line(&self) -> String {
        let per_chunk = |time: Duration| micros(time) / self.chunks as f64;
        let scaling = times(self.four_times, self.by_event);
        let mut line = format!(
            "{:<36} {:>8} {:>8.3} {:>8.3} {:>8.2} {:>8.1} {:>6.0} {:>6.2}",
            self.what,
            self.chunks,
            per_chunk(self.by_event),
            per_chunk(self.by_record),
            self.allocations,
            self.allocated,
            // Bytes per microsecond are megabytes per second.
            self.bytes as f64 / micros(self.by_event),
            scaling,
        );
        let slow = per_chunk(self.by_event.max(self.by_record)) > CHUNK_BUDGET;
        mark(&mut line, slow, scaling);
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
    let run = |stream: &Stream| drop(decode(format, stream, Pieces::Events));
    let [short_peak, long_peak] = [&stream, &long].map(|stream| allocations(|| run(stream)).peak);
    let [short, long] = clock.time([&mut || four_times_over(|| run(&stream)), &mut || run(&long)]);
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

/// What is compared must take about as long, or the shorter one has the better chance of not
/// being disturbed.
fn four_times_over(work: impl Fn()) {
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
    fn what_is_over_budget_is_marked() {
        let row = |event: u64, four: u64| {
            let row = Row {
                what: "x".to_owned(),
                chunks: 1000,
                bytes: 100_000,
                by_event: Duration::from_micros(event),
                by_record: Duration::from_micros(event),
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
    fn the_tables_can_be_made() {
        assert!(decoding(Clock::Wall, Format::Google, Kind::Text, 1000).contains("google"));
        assert!(splitting(Clock::Wall, 1000).contains("alone"));
        assert!(one_call(Clock::Wall, Format::Google, 50_000).contains("google"));
    }
}
