//! A killed process loses no acknowledged entry.
//!
//! A writer process appends and acknowledges each append on its standard output until it is killed.
//! Then the file must open, contain every acknowledged entry, and accept appends. A few runs are
//! part of the ordinary tests; `cargo xtask crash` does a thousand, on a full disk too.

mod disk;
mod scenario;
mod writer;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::peer::Peer;
use crate::script::Rng;
use disk::SmallDisk;
use scenario::{SCENARIOS, Scenario, run_scenario};

/// The sums over many runs.
#[derive(Debug, Default)]
struct Summary {
    runs: usize,
    acknowledged: usize,
    /// Writers that ended before they were killed, or whose writes all failed.
    survivors: usize,
    torn: usize,
    refused: usize,
    by_scenario: BTreeMap<&'static str, usize>,
    /// Files for the peer, and the number of their entries.
    files: Vec<(PathBuf, usize)>,
}

fn run_many(runs: usize, seed: u64, disk: Option<&SmallDisk>, keep: Option<&TempDir>) -> Summary {
    let mut summary = Summary::default();
    let scenarios: Vec<&Scenario> =
        SCENARIOS.iter().filter(|scenario| scenario.is_possible(disk)).collect();
    for run in 0..runs {
        let mut rng = Rng(seed.wrapping_add(run as u64));
        let scenario = scenarios[run % scenarios.len()];
        let outcome = run_scenario(scenario, &mut rng, disk);
        summary.runs += 1;
        summary.acknowledged += outcome.acknowledged;
        summary.survivors += usize::from(outcome.survived);
        summary.torn += outcome.problems;
        summary.refused += outcome.refused;
        *summary.by_scenario.entry(scenario.name()).or_default() += 1;
        if let Some(keep) = keep {
            for (number, (file, count)) in outcome.files.iter().enumerate() {
                let copy = keep.path().join(format!("{run}-{number}.jsonl"));
                std::fs::copy(file, &copy).unwrap();
                summary.files.push((copy, *count));
            }
        }
    }
    summary
}

#[test]
fn acknowledged_entries_survive_a_kill() {
    let summary = run_many(21, 7, None, None);
    assert!(summary.acknowledged > 100, "{summary:?}");
    assert!(summary.survivors < summary.runs, "no writer was killed: {summary:?}");
}

#[test]
#[ignore = "long; run by `cargo xtask crash`"]
fn many_runs() {
    let number = |name| std::env::var_os(name)?.to_str()?.parse::<u64>().ok();
    let runs = number("PI_CRASH_RUNS").unwrap_or(1000) as usize;
    let seed = number("PI_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let mut peer = Peer::from_env();
    let disk = SmallDisk::mount();
    let keep = TempDir::new().unwrap();
    let mut summary = run_many(runs, seed, disk.as_ref(), peer.is_some().then_some(&keep));
    let mut seen = 0;
    for (file, count) in std::mem::take(&mut summary.files) {
        if let Some(peer) = &mut peer {
            let answer = peer.ask(&serde_json::json!({ "count": file }));
            assert_eq!(answer["count"], count, "{} in the other pi: {answer}", file.display());
            seen += 1;
        }
    }
    let disk = if disk.is_some() {
        "a full tmpfs and a file size limit"
    } else {
        "a file size limit (no right to mount)"
    };
    println!(
        "crash: {} runs, seed {seed}: {} acknowledged entries, none lost; {} torn lines, {} writes refused ({disk}), {} writers ended by themselves; {:?}; {seen} files seen alike by the TypeScript pi",
        summary.runs,
        summary.acknowledged,
        summary.torn,
        summary.refused,
        summary.survivors,
        summary.by_scenario,
    );
}
