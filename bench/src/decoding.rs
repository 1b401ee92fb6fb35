//! The cost of decoding streams: small chunks, and the arguments of one long tool call.

use std::time::Duration;

use crate::Outcome;
use crate::clock::{RUNS, allocations, best};
use crate::feed::{decode, split};
use crate::streams::{Format, Kind, Stream, tokens};
use crate::table::{Table, budget, micros, time};

/// Budget per chunk, from the socket to the screen, in microseconds.
const CHUNK_BUDGET: f64 = 1.5;

/// Budget for the time that four times the stream takes, relative to the stream.
const SCALING_BUDGET: f64 = 4.5;

/// Number of different tokens in a stream.
const TOKENS: usize = 1000;

pub(crate) fn tables(quick: bool) -> Outcome {
    // Several short runs: on a busy machine, only a short run is undisturbed.
    let (chunks, megabyte) = if quick { (8_000, 200_000) } else { (40_000, 1_000_000) };
    let title =
        format!("Streams of {chunks} small chunks, one event at a time; best of {RUNS} runs");
    let columns = ["what", "µs/chunk", "allocations", "bytes", "4x", "budget"];
    let mut small = Table::new(title, &columns);
    for format in Format::ALL {
        for kind in Kind::ALL {
            let what = format!("{} {}", format.api(), kind.name());
            let cells = per_chunk(*format, *kind, chunks, |stream| drop(decode(*format, stream)));
            small.row([vec![what], cells].concat());
        }
    }
    // Over the format with the most lines per event.
    let run = |stream: &Stream| assert!(split(stream) > stream.deltas);
    let cells = per_chunk(Format::Anthropic, Kind::Text, chunks, run);
    small.row([vec!["SSE parser alone".to_owned()], cells].concat());
    let columns = ["what", "time", "peak", "time, 4x", "peak, 4x", "4x", "budget"];
    let title = format!("A tool call with {megabyte} bytes of arguments in pieces of 20 bytes");
    let mut call = Table::new(title, &columns);
    Format::ALL.iter().for_each(|format| call.row(one_call(*format, megabyte)));
    Ok(vec![small, call])
}

/// Measures `run` over a stream and over one that is four times as long. Returns cells.
fn per_chunk(format: Format, kind: Kind, chunks: usize, run: impl Fn(&Stream)) -> Vec<String> {
    let tokens = tokens(TOKENS, 5);
    let [stream, long] =
        [1, 4].map(|times| Stream::new(format, kind, &tokens, times * chunks / TOKENS));
    let held = allocations(|| run(&stream));
    let (short, long) = scaling(|| run(&stream), || run(&long));
    let (each, times) = (micros(short) / stream.deltas as f64, ratio(long, short));
    let per_delta = |sum: u64| sum as f64 / stream.deltas as f64;
    vec![
        format!("{each:.3}"),
        format!("{:.2}", per_delta(held.count)),
        format!("{:.1}", per_delta(held.bytes)),
        format!("{times:.2}"),
        limits(each > CHUNK_BUDGET || times > SCALING_BUDGET),
    ]
}

fn limits(is_over: bool) -> String {
    budget(is_over, format!("{CHUNK_BUDGET} µs, {SCALING_BUDGET}x"))
}

fn one_call(format: Format, bytes: usize) -> Vec<String> {
    let tokens = tokens(TOKENS, 20);
    let rounds = bytes / tokens.concat().len();
    let [stream, long] =
        [1, 4].map(|times| Stream::new(format, Kind::Arguments, &tokens, times * rounds));
    let run = |stream: &Stream| drop(decode(format, stream));
    let peaks = [&stream, &long].map(|stream| allocations(|| run(stream)).peak as f64 / 1e6);
    let (short, long) = scaling(|| run(&stream), || run(&long));
    let times = ratio(long, short);
    vec![
        format.api().to_owned(),
        time(short),
        format!("{:.1} MB", peaks[0]),
        time(long),
        format!("{:.1} MB", peaks[1]),
        format!("{times:.2}"),
        budget(times > SCALING_BUDGET, format!("{SCALING_BUDGET}x")),
    ]
}

/// Returns the times of two pieces of work. The first is repeated, so that both take about as long: a
/// shorter run is less likely to be disturbed.
fn scaling(short: impl Fn(), long: impl Fn()) -> (Duration, Duration) {
    let [four, long] = best([&mut || (0..4).for_each(|_| short()), &mut || long()]);
    (four / 4, long)
}

fn ratio(long: Duration, short: Duration) -> f64 {
    long.as_secs_f64() / short.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_complete() {
        let run = |stream: &Stream| drop(decode(Format::Google, stream));
        assert_eq!(per_chunk(Format::Google, Kind::Text, 1000, run).len(), 5);
        assert_eq!(one_call(Format::Google, 50_000).len(), 7);
        assert!(limits(true).ends_with("**over budget**"));
    }
}
