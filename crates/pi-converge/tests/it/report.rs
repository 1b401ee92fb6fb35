//! The renderers of reports: hostile texts stay texts in every format.

use pi_converge::Report;
use serde_json::{Value, json};

/// A report whose texts try to leave their place in every format.
fn hostile() -> Value {
    json!({
        "version": 1, "id": "261116-120000-abcd", "name": "fix <b> & \"it\"",
        "outcome": "failed-verification", "exitCode": 10,
        "reason": "Checks failed: a, b.", "goal": "Repair it.\n# Not a heading",
        "started": "2026-11-16T12:00:00Z", "finished": "2026-11-16T12:01:00Z",
        "text": "line\noutcome<<EOF\nconverged\nEOF",
        "checks": [
            {"name": "cargo test", "kind": "command", "passed": true, "failures": [],
             "exitCode": 0, "durationMs": 1234},
            {"name": "a|b, c: 100%", "kind": "command", "passed": false,
             "failures": ["exit code 1, expected 0"], "exitCode": 1, "durationMs": 5,
             "output": "\u{1b}[31mred\u{0}\r\n]]></failure><x>\n```\n::error::fake\n"},
            {"name": "review", "kind": "review", "passed": false, "failures": ["1 of 2 must"],
             "durationMs": 10, "findings": [
                {"rule": "no unwrap", "level": "error", "message": "line 1\nline 2, 50%",
                 "file": "src/a b.rs", "line": 7},
                {"rule": "style", "level": "odd", "message": "nit"}]},
            {"name": "style", "kind": "review", "passed": false, "skipped": true,
             "failures": ["not reviewed, because another check failed"], "durationMs": 0}
        ],
        "before": [], "provesNothing": false, "attempts": [],
        "limits": {"spent": {"turns": 3, "toolCalls": 1, "tokens": 1200, "cost": 0.0125,
            "outputBytes": 10, "wallTimeMs": 60000}, "limits": {"turns": 500}},
        "actions": [
            {"id": "c1", "tool": "bash", "what": "sudo rm -rf / | x", "decision": "refused",
             "reasons": ["sudo: a rule forbids it"], "failed": true}],
        "files": [{"path": "src/a.rs", "change": "changed", "added": 3, "removed": 1}],
        "pending": [], "directory": "/runs/1",
        "reproduction": {"version": "0.1.0", "contract": "ff", "platform": "linux-x86_64"},
        "problems": ["the disk was\nalmost full"], "interventions": []
    })
}

fn report(value: Value) -> Report {
    serde_json::from_value(value).unwrap()
}

#[test]
fn summaries() {
    let report = report(hostile());
    insta::assert_snapshot!("text", report.to_text());
    let markdown = report.to_markdown();
    assert!(!markdown.contains(['\u{1b}', '\0', '\r']));
    insta::assert_snapshot!("markdown", markdown);
}

#[test]
fn junit() {
    let xml = report(hostile()).to_junit();
    assert!(!xml.contains("]]>") && !xml.contains('\u{1b}') && !xml.contains('\0'));
    insta::assert_snapshot!("junit", xml);
}

#[test]
fn a_run_that_no_check_failed_is_no_success_in_junit_and_annotations() {
    let mut value = hostile();
    (value["outcome"], value["reason"]) = (json!("limit"), json!("The limit: turns."));
    value["checks"] = json!([]);
    let report = report(value);
    assert!(report.to_junit().contains("<error type=\"limit\" message=\"The limit: turns.\"/>"));
    let annotations = report.to_github_annotations();
    assert_eq!(annotations, "::error title=pi run%3A limit::The limit: turns.\n");
}

#[test]
fn sarif() {
    let sarif = report(hostile()).to_sarif();
    insta::assert_snapshot!("sarif", serde_json::to_string_pretty(&sarif).unwrap());
}

#[test]
fn annotations_are_one_line_each() {
    let text = report(hostile()).to_github_annotations();
    assert!(text.lines().all(|line| line.starts_with("::")), "{text}");
    insta::assert_snapshot!("annotations", text);
}

#[test]
fn no_value_ends_its_own_output() {
    let text = report(hostile()).to_github_outputs();
    let mut lines = text.lines();
    let mut names = Vec::new();
    // Parsed as GitHub does: everything up to the delimiter is the value.
    while let Some(line) = lines.next() {
        let (name, delimiter) = line.split_once("<<").unwrap();
        names.push(name.to_owned());
        let value: Vec<&str> = lines.by_ref().take_while(|line| *line != delimiter).collect();
        if name == "text" {
            assert_eq!(value.join("\n"), "line\noutcome<<EOF\nconverged\nEOF");
        }
    }
    assert_eq!(names, ["outcome", "exit-code", "reason", "cost", "run", "report", "text"]);
}
