//! Every recorded screen of pi 1.5.0, reached in this program with the same keys.
//!
//! With `PI_RECORD_OURS=200`, our frames are written anew, each when no output has come for 200
//! milliseconds, and new differences are listed: read the diff, and give each one its reason. `PI_SCREENS` selects runs by parts of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use super::compare::{self, Differences, WORDING};
use super::frame::Frame;
use super::runs::{self, Expected, Run};

/// The begin of the reason of a difference that is a known defect.
const PENDING: &str = "pending: ";

/// Runs at the same time. They wait more than they compute.
const PARALLEL: usize = 6;

fn selected() -> Vec<Run> {
    let words = std::env::var_os("PI_SCREENS").unwrap_or_default();
    let words = words.to_string_lossy().into_owned();
    let words: Vec<&str> = words.split(',').collect();
    let mut runs = runs::load();
    runs.retain(|run| words.iter().any(|word| run.name.contains(word)));
    runs
}

/// Plays runs in parallel and returns the frames that were reached, and the problems.
fn play(runs: Vec<Run>, record: Option<Duration>) -> (BTreeMap<String, Frame>, Vec<String>) {
    let queue = Mutex::new(runs);
    let results = Mutex::new((BTreeMap::new(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                loop {
                    let Some(run) = queue.lock().unwrap().pop() else { return };
                    let expected = |name: &str| match record {
                        Some(quiet) => Expected::Quiet(quiet),
                        None => Expected::Frame(compare::frame("ours", name).unwrap_or_default()),
                    };
                    let played = run.play(expected);
                    let (frames, problems) = &mut *results.lock().unwrap();
                    problems.extend(played.problem.map(|one| format!("{}: {one}", run.name)));
                    for seen in played.seen {
                        problems.extend(seen.problem.map(|one| format!("{}:\n{one}", seen.name)));
                        frames.insert(seen.name, seen.frame);
                    }
                }
            });
        }
    });
    results.into_inner().unwrap()
}

#[test]
fn screens_are_as_expected() {
    let record = std::env::var_os("PI_RECORD_OURS").map(|quiet| {
        let quiet: u64 = quiet.to_string_lossy().parse().expect("PI_RECORD_OURS: milliseconds");
        Duration::from_millis(quiet)
    });
    let mut runs = selected();
    runs.retain(|run| run.pending.is_none());
    let (frames, mut problems) = play(runs, record);
    if record.is_some() {
        for (name, frame) in &frames {
            let path = compare::directory().join("ours").join(format!("{name}.txt"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, frame.text()).unwrap();
        }
        compare::save(&all_differences(true));
    }
    problems.sort();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// Returns the differences of all our frames. With reasons: those that are listed keep them.
fn all_differences(with_reasons: bool) -> Differences {
    let listed = compare::listed();
    let mut all = Differences::default();
    for name in runs::load().iter().filter(|run| run.pending.is_none()).flat_map(Run::frames) {
        let (Some(theirs), Some(ours)) =
            (compare::frame("theirs", name), compare::frame("ours", name))
        else {
            continue;
        };
        let found = compare::differences(&theirs, &ours);
        all.rows.extend(found.rows);
        all.styles.extend(found.styles);
    }
    if with_reasons {
        for one in &mut all.rows {
            let same =
                |other: &&compare::Difference| other.theirs == one.theirs && other.ours == one.ours;
            one.why =
                listed.rows.iter().find(same).map(|other| other.why.clone()).unwrap_or_default();
        }
        for one in &mut all.styles {
            let same = |other: &&compare::StyleDifference| {
                other.theirs == one.theirs && other.ours == one.ours
            };
            let found = listed.styles.iter().find(same);
            one.why = found.map(|other| other.why.clone()).unwrap_or_default();
        }
    }
    all.rows.sort();
    all.rows.dedup();
    all.styles.sort();
    all.styles.dedup_by(|a, b| a.theirs == b.theirs && a.ours == b.ours);
    all
}

#[test]
fn differences_from_pi_are_listed_with_reasons() {
    let found = all_differences(true);
    let listed = compare::listed();
    let mut problems = Vec::new();
    for one in &found.rows {
        let rows = format!("  theirs: {:?}\n  ours:   {:?}", one.theirs, one.ours);
        match one.why.as_str() {
            why if why.starts_with(PENDING) => not_tested(&one.ours.join(" "), why),
            "" => problems.push(format!("not listed\n{rows}")),
            WORDING => problems.extend(
                compare::beyond_wording(one)
                    .map(|facts| format!("{facts}: not only wording\n{rows}")),
            ),
            _ => {}
        }
    }
    for one in found.styles.iter().filter(|one| one.why.is_empty()) {
        problems.push(format!("style: {} became {} in {:?}", one.theirs, one.ours, one.example));
    }
    let stale = listed.rows.iter().filter(|one| !found.rows.contains(one));
    problems.extend(stale.map(|one| format!("no frame has this difference: {:?}", one.ours)));
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn reasons_of_different_layouts_are_documented() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = fs::read_to_string(format!("{root}/docs/compat.md")).unwrap();
    let listed = compare::listed();
    let rows = listed.rows.iter().map(|one| one.why.as_str());
    let styles = listed.styles.iter().map(|one| one.why.as_str());
    let reasons = rows.chain(styles).filter(|why| *why != WORDING && !why.starts_with(PENDING));
    let reasons: BTreeSet<&str> = reasons.collect();
    let missing: Vec<&&str> = reasons.iter().filter(|why| !page.contains(**why)).collect();
    assert!(missing.is_empty(), "not in docs/compat.md: {missing:#?}");
}

#[test]
fn every_recorded_screen_has_a_run() {
    let recorded: BTreeSet<String> = fs::read_dir(compare::directory().join("theirs"))
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(recorded.len(), 125);
    let runs = runs::load();
    let mut reached = BTreeSet::new();
    let mut pending = Vec::new();
    for run in &runs {
        for frame in run.frames() {
            assert!(recorded.contains(frame), "{}: no recorded screen {frame}", run.name);
            assert!(reached.insert(frame.to_owned()), "{frame}: in two runs");
            let ours = compare::frame("ours", frame);
            if let Some(why) = &run.pending {
                assert_eq!(ours, None, "{frame}: recorded, but of a pending run");
                pending.push(format!("{frame}: {why}"));
            } else {
                assert!(ours.is_some(), "{frame}: not recorded");
            }
        }
    }
    let missing: Vec<&String> = recorded.difference(&reached).collect();
    assert!(missing.is_empty(), "without a run: {missing:?}");
    for frame in &pending {
        not_tested(frame, "pending");
    }
}

/// Reports a part that is not tested. Written directly, since the test harness hides the output of
/// macros in passing tests.
fn not_tested(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {}: {why}", what.trim());
}

/// Prints the frames of both programs side by side.
#[test]
#[ignore = "a report, not a test; PI_SCREENS selects runs"]
fn screens_side_by_side() {
    for name in selected().iter().flat_map(Run::frames) {
        let theirs = compare::frame("theirs", name).unwrap();
        let ours = compare::frame("ours", name).unwrap_or_default();
        println!("=== {name}\n{}", compare::side_by_side(&theirs, &ours));
    }
}
