//! The explained task is a task file that gives the same contract.

use pi_converge::{Document, OptionValue, Task, TaskInput, TaskSource};
use proptest::prelude::*;
use serde_json::{Value, json};

fn load(text: &str, options: Vec<OptionValue>) -> Task {
    let source = TaskSource::File {
        name: "task.yaml".to_owned(),
        text: text.to_owned(),
        directory: "/tasks".into(),
    };
    let mut input = TaskInput::new(source, "/work");
    input.options = options;
    Task::load(&input).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

#[test]
fn each_value_has_its_origin() {
    let text = "goal: |\n  Repair the parser.\n  Keep the \\{{ braces }}.\n\
                limits:\n  turns: 40\nverify:\n  - command: cargo test\n    expect: {exit: 0}\n";
    let task = load(
        text,
        vec![
            OptionValue::new("--max-cost", "/limits/cost_usd", json!(2.5)),
            OptionValue::new("--check", "/verify/-", json!({"command": "make: \"x\""})),
        ],
    );
    insta::assert_snapshot!(task.explain());
}

#[test]
fn a_value_with_any_text_survives() {
    let texts = [
        "",
        " ",
        "a: b",
        "- a",
        "#x",
        "true",
        "1.5",
        "null",
        "~",
        "a #b",
        "\u{85}x\u{2028}\u{feff}",
        "tab\tx",
        "a\nb",
        "a\nb\n",
        "a\n\n",
        "\na\nb",
        " a\nb",
        "a\n  b\n\nc",
        "a\n \nb",
        "x\r\ny",
        "'",
        "\"",
        "\\",
        "{{ x }}",
        "\\{{ x }}",
        "{{{",
        "%",
        "@x",
        "`",
        "!t",
        "&a",
        "*a",
        "| x",
        "> y",
        "? k",
        "---",
        "...",
        "a:",
        "ü€😀",
        "\u{7f}\u{0}",
        "[a",
        "{a",
        "0x1f",
        "-",
    ];
    for text in texts {
        let goal = format!("g{text}");
        let contract = json!({"goal": goal, "name": text, "tools": [text],
            "output": {"schema": {"enum": [text, {"k": [text, [], {}]}], text: true}}});
        let escaped = json!({"goal": goal.replace("{{", "\\{{"), "name": text.replace("{{", "\\{{"),
            "tools": [text.replace("{{", "\\{{")], "output": contract["output"]});
        let first = load(&escaped.to_string(), Vec::new());
        assert_eq!(first.contract.goal, goal);
        let explained = first.explain();
        let second = load(&explained, Vec::new());
        assert_eq!(second.contract, first.effective(), "{text:?}\n{explained}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[a-c \n:#-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c :#]{0,4}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn explained_tasks_give_the_same_contract(
        goal in "[a-z]\\PC{0,20}\n?[ -~\n]{0,30}",
        turns in proptest::option::of(0u32..9),
        wall in proptest::option::of(0u32..9_999),
        free in values(),
        command in "[a-z][ -z|~]{0,20}",
    ) {
        let mut contract = json!({
            "goal": goal.replace("{{", "\\{{"),
            "inputs": {"parameters": {"p": {"default": "v", "options": ["v"]}}},
            "verify": [{"command": command}, {"json": [{"pointer": "/a", "equals": 1, "min": 0.5}], "file": "r.json"}],
            "output": {"schema": {"const": free}},
            "limits": {},
        });
        if let Some(turns) = turns { contract["limits"]["turns"] = json!(turns); }
        if let Some(wall) = wall { contract["limits"]["wall"] = json!(wall); }
        let first = load(&contract.to_string(), Vec::new());
        let explained = first.explain();
        let second = load(&explained, Vec::new());
        prop_assert_eq!(second.contract, first.effective(), "{}", explained);
    }
}

#[test]
fn the_json_form_names_every_origin() {
    let task = load("goal: x\nlimits: {turns: 3}", Vec::new());
    let explained = task.explain_json();
    assert_eq!(explained["contract"]["limits"]["turns"], 3);
    assert_eq!(explained["origins"]["/limits/turns"], "task.yaml:2");
    assert_eq!(explained["origins"]["/limits/tool_calls"], "default");
    assert!(Document::parse("e.json", &explained.to_string()).is_ok());
}
