//! Loading tasks: files, options, parameters and recipes.

use std::path::{Path, PathBuf};

use pi_converge::{Check, Contract, OptionValue, Task, TaskInput, TaskSource};
use proptest::prelude::*;
use serde_json::{Value, json};

fn file(text: &str) -> TaskInput {
    let source = TaskSource::File {
        name: "task.yaml".to_owned(),
        text: text.to_owned(),
        directory: PathBuf::from("/tasks"),
    };
    TaskInput::new(source, "/work")
}

fn with(
    mut input: TaskInput,
    options: &[(&str, &str, Value)],
    parameters: &[(&str, &str)],
) -> TaskInput {
    for (option, pointer, value) in options {
        input.options.push(OptionValue::new(*option, *pointer, value.clone()));
    }
    for (name, value) in parameters {
        input.parameters.push(((*name).to_owned(), (*value).to_owned()));
    }
    input
}

fn load(input: &TaskInput) -> Task {
    Task::load(input).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn problems(input: &TaskInput) -> Vec<String> {
    match Task::load(input) {
        Ok(task) => panic!("the task was accepted: {:?}", task.contract),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn command(contract: &Contract, index: usize) -> &str {
    match contract.verify.get(index) {
        Some(Check::Command(check)) => &check.command,
        other => panic!("no command: {other:?}"),
    }
}

#[test]
fn options_come_before_the_file_and_lists_grow() {
    let input = with(
        file(
            "goal: x\nlimits: {turns: 5, tokens: 9}\nverify: [{command: a}]\npolicy: {rules: [r.toml]}",
        ),
        &[
            ("--max-turns", "/limits/turns", json!(7)),
            ("--check", "/verify/-", json!({"command": "b"})),
            ("--rules", "/policy/rules/-", json!("mine.toml")),
            ("--set verify[0].name", "/verify/0/name", json!("first")),
            ("--output", "/output/file", json!("out.json")),
        ],
        &[],
    );
    let task = load(&input);
    let contract = task.contract.clone();
    assert_eq!((contract.limits.turns, contract.limits.tokens), (Some(7), Some(9)));
    assert_eq!((command(&contract, 0), command(&contract, 1)), ("a", "b"));
    assert_eq!(contract.verify[0].name(), "first");
    assert_eq!(contract.policy.rules, [Path::new("/tasks/r.toml"), Path::new("/work/mine.toml")]);
    assert_eq!(contract.output.unwrap().file.unwrap(), Path::new("/work/out.json"));
    let cases = [
        ("/goal", "task.yaml:1"),
        ("/limits/turns", "--max-turns"),
        ("/limits/tokens", "task.yaml:2"),
        ("/verify/0/command", "task.yaml:3"),
        ("/verify/1/command", "--check"),
        ("/verify/0/name", "--set verify[0].name"),
        ("/attempts/count", "default"),
    ];
    for (pointer, origin) in cases {
        assert_eq!(task.origin(pointer).to_string(), origin, "{pointer}");
    }
}

#[test]
fn mistakes_name_their_line_or_option() {
    let inputs = [
        with(file("goal: x"), &[("--max-turns", "/limits/turns", json!("many"))], &[]),
        with(file("goal: x"), &[("--set limts.turns", "/limts/turns", json!(1))], &[]),
        file("goal: ' '"),
        file("version: 2\ngoal: x"),
        file("goal: x\nthinking: deep\npolicy:\n  profile: wild\n  sandbox: glass"),
        file(
            "goal: x\nverify:\n- command: ' '\n  expect: {output_matches: '('}\n\
             - files: {protected: ['a{']}\n- files: {}",
        ),
        file(
            "goal: x\nverify:\n- json: [{pointer: a, equals: 1}]\n- json: [{pointer: /a}]\n  \
             file: r.json\n- json: []\n  file: r.json\n- review: {}",
        ),
        file("goal: x\nworkspace: {base: main}\nattempts: {count: 0}\nlimits: {cost_usd: -1}"),
        file("goal: x\noutput: {schema: none.json}"),
        file("goal: x\ntools: [+read, bash]"),
    ];
    let found: Vec<String> = inputs.iter().map(|input| problems(input).join("\n")).collect();
    insta::assert_snapshot!(found.join("\n\n"));
}

#[test]
fn invalid_schemas_are_named() {
    let found = problems(&file("goal: x\noutput:\n  schema: {type: objekt}"));
    assert!(
        found.len() == 1
            && found[0].starts_with("task.yaml:3:3: output.schema: the schema is invalid at /type"),
        "{found:?}"
    );
}

const PARAMETERS: &str = "
goal: 'Repair {{ name }} ({{count}}) on \\{{ day }}'
inputs:
  parameters:
    name: {}
    count: {type: number, default: 3}
    day: {type: date, default: 2026-11-16}
    size: {options: [small, large], default: small}
verify:
- command: make {{ name }} N={{ count }}
  expect: {output_matches: 'ok {{ name }}$'}
- files: {allowed: ['{{ name }}/*']}
";

#[test]
fn parameters_fill_texts_and_are_quoted_for_their_place() {
    let task = load(&with(file(PARAMETERS), &[], &[("name", "it's (a) *")]));
    let contract = task.contract;
    assert_eq!(contract.goal, "Repair it's (a) * (3) on {{ day }}");
    assert_eq!(command(&contract, 0), r"make 'it'\''s (a) *' N='3'");
    let value = serde_json::to_value(&contract).unwrap();
    assert_eq!(value.pointer("/verify/0/expect/output_matches").unwrap(), r"ok it's \(a\) \*$");
    assert_eq!(value.pointer("/verify/1/files/allowed/0").unwrap(), "it's (a) [*]/*");
    assert_eq!(value.pointer("/inputs/parameters/count/value").unwrap(), 3);
}

#[test]
fn mistakes_in_parameters_are_named() {
    let cases: &[(&[(&str, &str)], &[&str])] = &[
        (
            &[],
            &[
                "task.yaml:5:5: inputs.parameters.name: a value is required; give it with --param name=VALUE",
            ],
        ),
        (
            &[("name", "a"), ("cuont", "1")],
            &["--param cuont: the task has no such parameter; did you mean `count`?"],
        ),
        (&[("name", "a"), ("count", "x")], &["--param count: \"x\" is not a number"]),
        (
            &[("name", "a"), ("day", "2026-02-30")],
            &["--param day: invalid value \"2026-02-30\": expected a date such as 2026-12-31"],
        ),
        (
            &[("name", "a"), ("size", "huge")],
            &["--param size: invalid value \"huge\": expected one of small, large"],
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(problems(&with(file(PARAMETERS), &[], given)), *expected);
    }
}

#[test]
fn templates_that_cannot_be_filled_in_are_mistakes() {
    let cases = [
        (
            "goal: Fix {{ x }}",
            "task.yaml:1:1: goal: `{{ x }}`: there is no such parameter; declare it in inputs.parameters, or write \\{{ for literal braces",
        ),
        (
            "goal: Fix {{ x",
            "task.yaml:1:1: goal: `{{` is not closed; write \\{{ for literal braces",
        ),
        (
            "goal: Fix {{ x|y }}",
            "task.yaml:1:1: goal: `{{ x|y }}` is not the name of a parameter; write \\{{ for literal braces",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(problems(&file(text)), [expected]);
    }
}

#[test]
fn templates_stand_only_where_quotes_hold() {
    let refused = [
        ("echo \"{{ x }}\"", "inside of quotes"),
        ("echo '{{ x }}'", "inside of quotes"),
        ("echo $'a\\'{{ x }}'", "inside of quotes"),
        ("echo \"$(cat {{ x }})\"", "inside of quotes"),
        ("cat <<EOF\n{{ x }}\nEOF", "after <<"),
        ("echo `cat {{ x }}`", "after a backquote"),
        ("echo $(( {{ x }} ))", "after (("),
        ("echo ${y:-{{ x }}}", "after ${"),
        ("true # {{ x }}", "in a comment"),
        ("echo \\\\\\a{{ x }} \\ # '\n\"{{ x }}", "inside of quotes"),
    ];
    for (command, place) in refused {
        let text = json!({"goal": "g", "inputs": {"parameters": {"x": {"default": "v"}}}, "verify": [{"command": command}]});
        let found = problems(&file(&text.to_string()));
        assert!(
            found[0].contains("`{{ x }}` cannot stand") && found[0].contains(place),
            "{command}: {found:?}"
        );
    }
    let accepted = [
        ("echo {{ x }}", "echo 'v'"),
        ("echo 'a' \"b\"{{ x }}", "echo 'a' \"b\"'v'"),
        ("echo $(cat {{ x }})", "echo $(cat 'v')"),
        ("cat <<< {{ x }}", "cat <<< 'v'"),
        ("echo a#b {{ x }} # it's", "echo a#b 'v' # it's"),
        ("# it's\necho {{ x }}", "# it's\necho 'v'"),
    ];
    for (given, expected) in accepted {
        let text = json!({"goal": "g", "inputs": {"parameters": {"x": {"default": "v"}}}, "verify": [{"command": given}]});
        assert_eq!(command(&load(&file(&text.to_string())).contract, 0), expected);
    }
}

#[test]
fn a_goal_is_literal_unless_it_has_parameters() {
    let goal = |text: &str| TaskInput::new(TaskSource::Goal(text.to_owned()), "/work");
    assert_eq!(load(&goal("Fix {{ x }} ${{ y }}")).contract.goal, "Fix {{ x }} ${{ y }}");
    let input = with(goal("Fix {{ x }}"), &[], &[("x", "the bug")]);
    assert_eq!(load(&input).contract.goal, "Fix the bug");
}

#[test]
fn file_parameters_insert_the_content() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("issue.txt"), "It {{ crashes }}.\n").unwrap();
    let text = "goal: 'Fix: {{ issue }}'\ninputs: {parameters: {issue: {type: file}}}";
    let mut input = with(file(text), &[], &[("issue", "issue.txt")]);
    input.directory = directory.path().to_owned();
    assert_eq!(load(&input).contract.goal, "Fix: It {{ crashes }}.\n");
    let missing = with(file(text), &[], &[("issue", "none.txt")]);
    assert_eq!(
        problems(&missing),
        ["--param issue: cannot read /work/none.txt: No such file or directory (os error 2)"]
    );
}

fn recipe(name: &str) -> TaskInput {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recipes");
    let text = std::fs::read_to_string(directory.join(name)).unwrap();
    TaskInput::new(
        TaskSource::File { name: name.to_owned(), text, directory: directory.clone() },
        directory,
    )
}

#[test]
fn recipes_of_goose_are_tasks() {
    let task = load(&with(recipe("changelog.yaml"), &[], &[("tag", "v1")]));
    assert_eq!(
        task.contract.goal,
        "You write release notes for people who use the program. The style is short.\n\n\
         Read the commits since v1 and write at most 20 entries to NOTES.md."
    );
    assert_eq!(task.contract.name.as_deref(), Some("Write release notes"));
    assert_eq!(task.contract.model.as_deref(), Some("anthropic/claude-sonnet-4-5"));
    assert_eq!(task.contract.limits.turns, Some(40));
    assert!(task.contract.output.as_ref().unwrap().schema.as_ref().unwrap().is_object());
    assert_eq!(
        task.notes,
        ["recipe fields without effect: activities, author", "settings.temperature has no effect"]
    );
    assert_eq!(task.origin("/limits/turns").to_string(), "changelog.yaml:36");

    let task = load(&with(recipe("repair.yaml"), &[], &[("package", "a b")]));
    assert_eq!(command(&task.contract, 0), "cargo test -p 'a b'");
    assert_eq!((task.contract.attempts.count(), task.contract.attempts.rounds()), (3, 0));
    assert_eq!(serde_json::to_value(task.contract.on_failure).unwrap(), "rollback");

    let input = with(recipe("review.json"), &[], &[("file", "repair.yaml")]);
    let task = load(&input);
    assert!(
        task.contract.goal.contains("Makes a failing test suite pass"),
        "{}",
        task.contract.goal
    );
    assert_eq!(task.notes.len(), 2, "{:?}", task.notes);
}

#[test]
fn mistakes_in_recipes_are_named() {
    let cases: &[(&str, &[&str])] = &[
        (
            "title: t\nprompt: p\nretires: {}",
            &["task.yaml:3:1: retires: unknown field of a recipe; did you mean `retry`?"],
        ),
        (
            "title: t\nprompt: '{% if x %}'",
            &["task.yaml:2:1: prompt: template blocks ({% …) are not supported; only {{ key }} is"],
        ),
        (
            "title: t\nprompt: p\nparameters:\n- {key: a, input_type: color}",
            &["task.yaml:4:12: parameters[0].input_type: unknown input type `color`"],
        ),
        (
            "title: t\nprompt: p\nretry: {max_retries: 1, checks: [{type: judge}]}",
            &[
                "task.yaml:3:34: retry.checks[0]: expected a check of the type shell, with a command",
            ],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(problems(&file(text)), *expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// The shell sees exactly the value, as one word.
    #[test]
    fn a_parameter_is_one_word_of_the_shell(value in "[^\0]{0,40}") {
        let text = "goal: g\ninputs: {parameters: {x: {}}}\nverify: [{command: 'printf \"[%s]\" a{{ x }}b {{ x }}; true'}]";
        let contract = load(&with(file(text), &[], &[("x", &value)])).contract;
        let output = std::process::Command::new("sh").arg("-c").arg(command(&contract, 0)).output().unwrap();
        prop_assert!(output.status.success());
        prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("[a{value}b][{value}]"));
    }
}
