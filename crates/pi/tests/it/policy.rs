//! `pi policy check` and `pi policy test`, with real rule files.

use pi_guard::confine::{ConfinementLevel, Machine};
use serde_json::Value;

use crate::world::World;

const RULES: &str = r#"[[command]]
prefix = ["git", "push"]
decision = "forbid"
justification = "Nothing leaves this machine."
match = ["git push", "git -C x push"]
not_match = ["git status"]

[[command]]
prefix = ["make"]
decision = "ask"

[[path]]
paths = ["secret"]
access = "read"
decision = "forbid"

[[host]]
hosts = ["*.bad.example"]
decision = "forbid"

[[tool]]
name = "mcp__*"
arguments = { path = "a*" }
decision = "forbid"
"#;

fn world() -> World {
    let world = World::new();
    std::fs::write(world.project().join("r.toml"), RULES).unwrap();
    world
}

/// The code and the line that is printed.
fn check(world: &World, arguments: &[&str]) -> (Option<i32>, String) {
    let output = world.pi(&[&["policy", "check", "--rules", "r.toml"], arguments].concat());
    (output.status.code(), world.stable(&String::from_utf8(output.stdout).unwrap()))
}

#[test]
fn a_line_says_what_happens_and_why() {
    let world = world();
    let alone = "; where nobody can be asked, it is refused";
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--", "ls", "-la"], 0, "allow: ls -la: it only reads"),
        // Several words are one command: nothing in them is a second one.
        (&["--", "echo", "a; git push"], 0, "allow: echo 'a; git push': it only reads"),
        (
            &["--", "echo a; git push"],
            1,
            "forbid: git push: Nothing leaves this machine. [[ROOT]/project/r.toml:1]",
        ),
        (
            &["--", "git", "-C", "x y", "push"],
            1,
            "forbid: git -C 'x y' push: Nothing leaves this machine. [[ROOT]/project/r.toml:1]",
        ),
        (
            &["--approval", "never", "--", "make"],
            1,
            "forbid: make: a rule says to ask [[ROOT]/project/r.toml:8]; this needs \
             approval, and the approval policy is `never`; allow it with a rule",
        ),
        (&["--", ""], 0, "allow: nothing in it would run"),
        (
            &["--path", "secret/x", "--access", "read"],
            1,
            "forbid: [ROOT]/project/secret/x: a rule forbids it [[ROOT]/project/r.toml:12]",
        ),
        (&["--path", "other"], 0, "allow: [ROOT]/project/other: no rule speaks of this file"),
        (
            &["--host", "good.example"],
            0,
            "allow: good.example: no rule for this host, and the network is on",
        ),
        (
            &["--host", "x.bad.example"],
            1,
            "forbid: x.bad.example: a rule forbids it [[ROOT]/project/r.toml:17]; the network is \
             on, so this applies only to commands that name the host",
        ),
        (
            &["--tool", "mcp__x", "--arguments", r#"{"path": "abc"}"#],
            1,
            "forbid: mcp__x: a rule forbids it [[ROOT]/project/r.toml:21]",
        ),
        (
            &["--tool", "read", "--arguments", r#"{"path": "secret"}"#],
            1,
            "forbid: [ROOT]/project/secret: a rule forbids it [[ROOT]/project/r.toml:12]",
        ),
    ];
    for (arguments, code, expected) in cases {
        assert_eq!(
            check(&world, arguments),
            (Some(*code), format!("{expected}\n")),
            "{arguments:?}"
        );
    }
    let asked = "ask: make: a rule says to ask [[ROOT]/project/r.toml:8]";
    assert_eq!(check(&world, &["--", "make"]), (Some(1), format!("{asked}{alone}\n")));
}

#[test]
fn explains_every_part() {
    let world = world();
    let (code, text) = check(&world, &["--explain", "--", "ls | git push"]);
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[1], "  allow  ls: it only reads");
    assert!(lines[2].starts_with("  forbid git push: Nothing leaves"), "{text}");
    assert_eq!(lines[3], "  it does not happen");
    let (_, text) = check(&world, &["-e", "--", "ls"]);
    assert!(text.ends_with("\n  it runs with all your rights\n"), "{text}");
    let (_, text) = check(&world, &["-e", "--", "make"]);
    assert!(text.ends_with("\n  you are asked\n"), "{text}");
    let (_, text) = check(&world, &["-e", "--approval=review", "--", "make"]);
    assert!(text.ends_with("\n  a model is asked\n"), "{text}");
}

#[test]
fn programs_get_the_whole_judgement() {
    let world = world();
    let (code, text) = check(&world, &["--json", "--", "git push"]);
    assert_eq!(code, Some(1));
    let judgement: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(judgement["outcome"], "refuse");
    assert_eq!(judgement["decision"], "forbid");
    assert_eq!(judgement["parts"][0]["rule"], "[ROOT]/project/r.toml:1");
}

#[test]
fn the_profile_decides_where_no_rule_speaks() {
    let world = world();
    let word = |arguments: &[&str]| {
        let (_, text) = check(&world, arguments);
        text.split(':').next().unwrap().to_owned()
    };
    assert_eq!(word(&["--", "unheard-of"]), "allow");
    assert_eq!(word(&["--profile", "careful", "--", "unheard-of"]), "ask");
    assert_eq!(word(&["--profile=careful", "--approval=never", "--", "unheard-of"]), "forbid");
    assert_eq!(word(&["--", "rm -rf /"]), "forbid");
    let settings = r#"{ "guard": { "profile": "careful" } }"#;
    std::fs::create_dir_all(world.agent()).unwrap();
    std::fs::write(world.agent().join("settings.json"), settings).unwrap();
    assert_eq!(word(&["--", "unheard-of"]), "ask", "the settings count");
    assert_eq!(word(&["--profile", "explore", "--", "unheard-of"]), "allow");
}

#[test]
fn what_the_sandbox_denies_is_asked_about() {
    let world = world();
    let cases: &[(&[&str], &str)] = &[
        (&["--network=off", "--host", "a.example"], "ask: a.example: the network is off"),
        (&["--sandbox=read-only", "--path", "x"], "ask: [ROOT]/project/x: the sandbox does not"),
        (&["--profile=unattended", "--path", "../x"], "forbid: [ROOT]/x: the sandbox does not"),
        (&["--profile=unattended", "--path", "x"], "allow: "),
    ];
    for (arguments, expected) in cases {
        let (code, text) = check(&world, arguments);
        if Machine::detect().level() == ConfinementLevel::None {
            assert_eq!(code, Some(8), "{arguments:?}");
        } else {
            assert!(text.starts_with(expected), "{arguments:?}: {text}");
        }
    }
}

#[test]
fn rules_of_the_settings_count_besides_those_of_the_run() {
    let world = world();
    let always = "[[command]]\nprefix = [\"touch\"]\ndecision = \"forbid\"\n";
    std::fs::create_dir_all(world.agent()).unwrap();
    std::fs::write(world.agent().join("always.toml"), always).unwrap();
    let settings = r#"{ "guard": { "rules": ["~/.pi/agent/always.toml"] } }"#;
    std::fs::write(world.agent().join("settings.json"), settings).unwrap();
    assert_eq!(check(&world, &["--", "touch", "x"]).0, Some(1));
    assert_eq!(check(&world, &["--", "git", "push"]).0, Some(1));
}

#[test]
fn rules_of_a_project_count_if_it_is_trusted() {
    let world = World::new();
    let rules = world.project().join(".pi/rules");
    std::fs::create_dir_all(&rules).unwrap();
    std::fs::write(rules.join("r.toml"), RULES).unwrap();
    let code = |more: &[&str]| {
        let line = [&["policy", "check"], more, &["--", "git push"]].concat();
        world.pi(&line).status.code()
    };
    assert_eq!(code(&["--no-approve"]), Some(0));
    assert_eq!(code(&["--approve"]), Some(1));
    assert_eq!(code(&["--approve", "--no-approve"]), Some(2));
}

#[test]
fn what_cannot_be_used_is_said_with_a_code() {
    let world = world();
    let broken = "[[command]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = [\"b\"]\n";
    std::fs::write(world.project().join("broken.toml"), broken).unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--rules", "broken.toml", "--", "ls"], 6, "broken.toml:4: the rule does not match"),
        (&["--rules", "none.toml", "--", "ls"], 6, "none.toml cannot be read"),
        (&[], 2, "name one thing"),
        (&["--host", "a", "--", "ls"], 2, "name one thing"),
        (&["--access", "read", "--", "ls"], 2, "--access needs --path"),
        (&["--tool", "a", "--arguments", "[]"], 2, "--arguments is no JSON object"),
        (&["--arguments", "{}", "--", "ls"], 2, "--arguments needs --tool"),
        (&["--profile", "brave", "--", "ls"], 2, "\"brave\" is none of"),
        (&["--require", "none"], 2, "Unknown option"),
    ];
    for (arguments, code, expected) in cases {
        let (found, message) = world.failure(&[&["policy", "check"], *arguments].concat());
        assert_eq!(found, Some(*code), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn tests_files_and_their_examples() {
    let world = world();
    let write = |name: &str, text: &str| std::fs::write(world.project().join(name), text).unwrap();
    write("empty.toml", "");
    let one = "[[command]]\nprefix = [\"a\", \"b\"]\ndecision = \"allow\"\nmatch = [\"a b c\"]\n";
    write("one.toml", one);
    write("wrong.toml", "[[command]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = [\"b\"]\n");
    let out = world.out(&["policy", "test", "r.toml", "empty.toml", "one.toml"]);
    assert_eq!(
        out,
        "r.toml: 2 command rules, 1 path rule, 1 host rule, 1 tool rule; all 3 examples hold\n\
         empty.toml: no rules; no examples\n\
         one.toml: 1 command rule; its example holds\n"
    );
    let output = world.pi(&["policy", "test", "wrong.toml", "none.toml", "empty.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"empty.toml: no rules; no examples\n", "the others are looked at");
    let said = world.stable(&String::from_utf8(output.stderr).unwrap());
    assert!(said.starts_with("pi: [ROOT]/project/wrong.toml:4: the rule does not match"), "{said}");
    assert!(said.contains("none.toml cannot be read"), "{said}");
    let output = world.pi(&["policy", "test", "--json", "wrong.toml", "r.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&list[0]["line"], &list[1]["examples"]), (&Value::from(4), &Value::from(3)));
    // A project may not say everything that its user may.
    std::fs::create_dir_all(world.project().join(".pi/rules")).unwrap();
    let text = "unanalysable = \"allow-confined\"\n";
    write("mine.toml", text);
    write(".pi/rules/its.toml", text);
    world.out(&["policy", "test", "mine.toml"]);
    assert_eq!(world.failure(&["policy", "test", ".pi/rules/its.toml"]).0, Some(1));
}
