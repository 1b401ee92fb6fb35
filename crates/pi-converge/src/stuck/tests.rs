//! Tests of the signals, without a session.

use serde_json::json;

use super::*;

fn call(script: &str, result: &str) -> CallRecord {
    let arguments = json!({ "command": script });
    CallRecord {
        tool: "bash".to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
        scripts: vec![script.to_owned()],
        result: result.to_owned(),
        is_error: false,
    }
}

fn failing(script: &str, result: &str) -> CallRecord {
    CallRecord { is_error: true, ..call(script, result) }
}

fn change(path: &str, before: &str, after: &str) -> FileChange {
    let content = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    FileChange { path: path.to_owned(), before: content(before), after: content(after) }
}

/// Runs turns until the agent is stuck. Returns the turns with notes, and the end.
fn turns(
    turn: impl Fn(u32) -> (Vec<CallRecord>, Vec<FileChange>),
) -> (Vec<u32>, Option<(u32, StuckSignal)>) {
    let mut detector = Detector::new(StuckLimits::default());
    let mut noted = Vec::new();
    for number in 1..=100 {
        let (calls, changes) = turn(number);
        match detector.turn(&calls, &changes) {
            Judgment::Progress => {}
            Judgment::Note(_) => noted.push(number),
            Judgment::Stuck(evidence) => return (noted, Some((number, evidence.signal))),
        }
    }
    (noted, None)
}

#[test]
fn every_repetition_is_noted_and_then_ends_the_run() {
    let same = turns(|_| (vec![call("cat a", "text")], vec![]));
    assert_eq!(same, (vec![3], Some((5, StuckSignal::IdenticalCalls))));

    let spelled = turns(|n| {
        let script = format!("{}cat a; echo try-{n}", " ".repeat(n as usize));
        (vec![call(&script, &format!("text\ntry-{n}"))], vec![])
    });
    assert_eq!(spelled, (vec![3], Some((5, StuckSignal::IdenticalCalls))));

    let error = turns(|n| (vec![failing(&format!("make v{n}"), "error: no rule 17")], vec![]));
    assert_eq!(error, (vec![3], Some((4, StuckSignal::SameError))));

    let edits = turns(|n| {
        let contents = ["a", "b"];
        let (old, new) = (contents[(n as usize + 1) % 2], contents[n as usize % 2]);
        (
            vec![call(&format!("edit {n}"), &format!("changed {old} {new}"))],
            vec![change("f", old, new)],
        )
    });
    assert_eq!(edits, (vec![3], Some((4, StuckSignal::OscillatingEdits))));

    // Four different calls in turn, and numbers that vary.
    let stale = turns(|n| (vec![call(&format!("ls {}", n % 4), "total 0")], vec![]));
    assert_eq!(stale, (vec![12], Some((16, StuckSignal::NoProgress))));
}

#[test]
fn exploring_has_a_limit_of_its_own() {
    // The first result is new, the others differ in numbers only, or not at all.
    let counting = |n| (vec![call(&format!("run --seed {n}"), &format!("{n} failed"))], vec![]);
    assert_eq!(turns(counting), (vec![37], Some((61, StuckSignal::NoProgress))));
    let searching = |n| {
        (
            vec![failing(&format!("grep name{n} ."), "(no output)\n\nCommand exited with code 1")],
            vec![],
        )
    };
    let (noted, stuck) = turns(searching);
    assert_eq!((noted.first(), stuck), (Some(&37), Some((61, StuckSignal::NoProgress))));
    // Half of the calls are not new.
    let half = |n: u32| {
        let name = if n.is_multiple_of(2) { n } else { 1 };
        (vec![call(&format!("ls {name}"), "total 0")], vec![])
    };
    assert_eq!(turns(half), (vec![37], Some((61, StuckSignal::NoProgress))));
}

#[test]
fn work_and_waiting_are_no_repetition() {
    let none = (vec![], None);
    let write = |n: u32| {
        let path = format!("file-{n}");
        (vec![call(&format!("write {path}"), "written")], vec![change(&path, "", "text")])
    };
    assert_eq!(turns(write), none, "each turn has a new file");
    let polling = |_| (vec![call("sleep 1; cat status", "pending")], vec![]);
    assert_eq!(turns(polling), none);
    let reading =
        |n: u32| (vec![call("next", &format!("page {}", "abcdefghij".repeat(n as usize)))], vec![]);
    assert_eq!(turns(reading), none);
    let fixing = |n: u32| {
        let (old, new) = (format!("v{}", n - 1), format!("v{n}"));
        (vec![failing("make test", "1 failed")], vec![change("f", &old, &new)])
    };
    assert_eq!(turns(fixing), none, "each turn has a new content");
    // A test is broken on purpose and restored, each time in another way.
    let mutating = |n: u32| {
        let text = format!("mutation {n}");
        let changes = vec![change("f", "right", &text), change("f", &text, "right")];
        (vec![call(&format!("mutate {n}"), &"x".repeat(n as usize))], changes)
    };
    assert_eq!(turns(mutating), none);
}

#[test]
fn checks_that_fail_in_the_same_way_end_the_run() {
    let failed = |name: &str, output: &str| CheckReport {
        name: name.to_owned(),
        failures: vec!["exit code 101, expected 0".to_owned()],
        output: Some(output.to_owned()),
        ..CheckReport::default()
    };
    let mut detector = Detector::new(StuckLimits::default());
    let first = [failed("test", "panicked at src/lib.rs:7 after 0.1s in /tmp/x1")];
    let again = [failed("test", "panicked at src/lib.rs:9 after 0.2s in /tmp/y2")];
    assert_eq!(detector.round(&first), Judgment::Progress);
    assert!(matches!(detector.round(&again), Judgment::Note(_)));
    let Judgment::Stuck(evidence) = detector.round(&first) else { panic!("not stuck") };
    assert_eq!(
        serde_json::to_value(evidence).unwrap_or_default(),
        json!({
            "signal": "same-failure", "count": 3, "limit": 3, "what": ["test"],
            "result": "panicked at src/lib.rs:7 after 0.1s in /tmp/x1",
        })
    );
    let mut detector = Detector::new(StuckLimits::default());
    for output in ["one failed", "two failed", "one failed", "two failed"] {
        assert_eq!(detector.round(&[failed("test", output)]), Judgment::Progress);
    }
}
