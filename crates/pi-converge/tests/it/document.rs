//! Files of the user as values, and messages about their mistakes.

use pi_converge::{Contract, Document};
use proptest::prelude::*;
use serde_json::json;

fn parse(text: &str) -> Document {
    Document::parse("task.yaml", text).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn yaml_is_read_as_the_core_schema_says() {
    let cases = [
        ("a: 1", json!({"a": 1})),
        ("a: 0x1f", json!({"a": 31})),
        ("a: 1.5", json!({"a": 1.5})),
        ("a: .5", json!({"a": 0.5})),
        ("a: -3", json!({"a": -3})),
        ("a: 18446744073709551615", json!({"a": 18_446_744_073_709_551_615u64})),
        ("a: 1.0.0", json!({"a": "1.0.0"})),
        ("a: 2026-11-16", json!({"a": "2026-11-16"})),
        ("a: yes", json!({"a": "yes"})),
        ("a: true", json!({"a": true})),
        ("a: ~\nb:", json!({"a": null, "b": null})),
        ("a: '1'", json!({"a": "1"})),
        ("a: !!str 1", json!({"a": "1"})),
        ("a: |\n  x\n   y\n", json!({"a": "x\n y\n"})),
        ("a: >-\n  x\n  y\n", json!({"a": "x y"})),
        ("- 1\n- [a, {b: c}]", json!([1, ["a", {"b": "c"}]])),
        ("a: &x {n: 1}\nb: *x", json!({"a": {"n": 1}, "b": {"n": 1}})),
        ("1: a", json!({"1": "a"})),
        ("{\"a\": \"\\ud83d\\ude00\",\t\"b\":[1]}", json!({"a": "😀", "b": [1]})),
        ("", json!(null)),
        ("# only a comment", json!(null)),
        ("\u{feff}a: 1", json!({"a": 1})),
    ];
    for (text, value) in cases {
        assert_eq!(parse(text).value, value, "{text:?}");
    }
}

#[test]
fn every_value_has_a_place() {
    let yaml = "goal: x\nlimits:\n  turns: 5\nverify:\n  - command: a\n  - command: b\n    expect: {exit: 1}\n";
    let json = "{\n  \"goal\": \"x\",\n  \"limits\": {\"turns\": 5},\n  \"verify\": [\n    {\"command\": \"}\\\"[\"},\n    {\"command\": \"b\"}\n  ]\n}";
    let cases = [
        (yaml, "/limits/turns", Some((3, 3))),
        (yaml, "/verify/1/command", Some((6, 5))),
        (yaml, "/verify/1/expect/exit", Some((7, 14))),
        (yaml, "/verify/1/absent", Some((6, 5))),
        (yaml, "/absent", None),
        (json, "/goal", Some((2, 3))),
        (json, "/limits/turns", Some((3, 14))),
        (json, "/verify/0", Some((5, 5))),
        (json, "/verify/1/command", Some((6, 6))),
    ];
    for (text, pointer, place) in cases {
        let found = parse(text).place(pointer).map(|place| (place.line, place.column));
        assert_eq!(found, place, "{pointer}");
    }
}

#[test]
fn unreadable_files_name_the_place() {
    let deep = format!("a: {}1{}", "[".repeat(100), "]".repeat(100));
    let bomb = (1..12).fold("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned(), |text, n| {
        let alias = format!("*a{}", n - 1);
        format!("{text}a{n}: &a{n} [{}]\n", vec![alias; 10].join(","))
    });
    let cases = [
        ("t.yaml", "a: 1\na: 2", "t.yaml:2:1: invalid YAML: duplicate key `a`"),
        ("t.yaml", "a: *b", "t.yaml:1:4: invalid YAML: while parsing node, found unknown anchor"),
        (
            "t.yaml",
            "a: &x [*x]",
            "t.yaml:1:8: invalid YAML: an alias refers to a value that contains it",
        ),
        (
            "t.yaml",
            "a: 1\n---\nb: 2",
            "t.yaml:2:1: invalid YAML: a second document starts; only one is allowed",
        ),
        ("t.yaml", "a: !foo 1", "t.yaml:1:4: invalid YAML: tags are not supported"),
        ("t.yaml", "<<: {a: 1}", "t.yaml:1:1: invalid YAML: merge keys (<<) are not supported"),
        ("t.yaml", "? [a]\n: b", "t.yaml:1:3: invalid YAML: a key must be a plain text"),
        ("t.json", "{\"a\": 1,}", "t.json:1:9: invalid JSON: trailing comma"),
        ("t.json", "{\"a\": 1,\n \"a\": 2}", "t.json:2:2: invalid JSON: duplicate key `a`"),
        ("t.yaml", &deep, "t.yaml:1:67: invalid YAML: the nesting is too deep"),
        ("t.yaml", &bomb, "t.yaml:5:34: invalid YAML: the document has too many values"),
    ];
    for (name, text, message) in cases {
        let problem = Document::parse(name, text).map(|document| document.value).unwrap_err();
        assert_eq!(problem.to_string(), message, "{text:.60}");
    }
}

#[test]
fn mistakes_in_a_task_name_the_field() {
    let cases: &[(&str, &[&str])] = &[
        (
            "goal: x\nlimits:\n  turns: many",
            &["task.yaml:3:3: limits.turns: expected a whole number"],
        ),
        (
            "goal: x\nlimits:\n  turns: -1",
            &["task.yaml:3:3: limits.turns: expected a whole number"],
        ),
        (
            "goal: x\nlimits:\n  turns: 5000000000",
            &["task.yaml:3:3: limits.turns: the number is too large"],
        ),
        ("goal: x\nlimts: {}", &["task.yaml:2:1: limts: unknown field; did you mean `limits`?"]),
        ("name: x", &["task.yaml: the field `goal` is required"]),
        (
            "goal:\nname: 5",
            &["task.yaml:2:1: name: expected a text", "task.yaml: the field `goal` is required"],
        ),
        (
            "goal: x\nworkspace: {mode: cloud}",
            &[
                "task.yaml:2:13: workspace.mode: invalid value \"cloud\": expected in-place, worktree or copy",
            ],
        ),
        (
            "goal: x\nverify:\n  - comand: a",
            &["task.yaml:3:5: verify[0].comand: unknown field; did you mean `command`?"],
        ),
        (
            "goal: x\nverify:\n  - test: a",
            &[
                "task.yaml:3:5: verify[0]: expected one of the fields command, files, json or review",
            ],
        ),
        ("goal: x\nverify:\n  - cargo test", &["task.yaml:3:5: verify[0]: expected a mapping"]),
        (
            "goal: x\nverify:\n  - command: a\n    expect: {exitt: 1}",
            &["task.yaml:4:14: verify[0].expect.exitt: unknown field; did you mean `exit`?"],
        ),
        (
            "goal: x\nlimits: {wall: soon}",
            &[
                "task.yaml:2:10: limits.wall: invalid value \"soon\": expected a duration: seconds, or a text such as 90s, 30m or 1h30m",
            ],
        ),
        ("- a", &["task.yaml: expected a mapping"]),
    ];
    for (text, messages) in cases {
        let problems = parse(text).decode::<Contract>().unwrap_err();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, *messages, "{text}");
    }
}

#[test]
fn empty_fields_count_as_absent() {
    let contract: Contract = parse("goal: x\nlimits:\nmodel:\nverify:").decode().unwrap();
    assert_eq!(contract.model, None);
    assert!(contract.verify.is_empty());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = Document::parse("task.yaml", &text);
    }

    #[test]
    fn texts_made_of_yaml_are_read_or_refused(parts in proptest::collection::vec(
        proptest::sample::select(vec!["- ", "a: ", "\n", "  ", "[", "]", "{", "}", ", ", "&x ", "*x", "|\n", "'", "\"", "#", "? ", "---\n", "1", "!!str "]),
        0..40,
    )) {
        let _ = Document::parse("task.yaml", &parts.concat());
    }
}
