//! `pi policy check` and `pi policy test` with rule files.

use pi_guard::confine::{ConfinementLevel, Machine};
use serde_json::Value;

use crate::test_env::TestEnv;

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

fn setup() -> TestEnv {
    let env = TestEnv::new();
    std::fs::write(env.project().join("r.toml"), RULES).unwrap();
    env
}

/// Runs `pi policy check` with the rules. Returns the exit code and stdout.
fn check(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String) {
    let output = env.pi(&[&["policy", "check", "--rules", "r.toml"], arguments].concat());
    (output.status.code(), env.stable(&String::from_utf8(output.stdout).unwrap()))
}

#[test]
fn check_prints_the_decision_and_the_reason() {
    let env = setup();
    let unattended = "; refused if no one can be asked";
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--", "ls", "-la"], 0, "allow: ls -la: it only reads"),
        // Several words are one command, so a semicolon in them does not separate commands.
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
            "forbid: make: a rule requires approval [[ROOT]/project/r.toml:8]; this needs \
             approval, and the approval policy is `never`; allow it with a rule",
        ),
        (&["--", ""], 0, "allow: nothing to run"),
        (
            &["--path", "secret/x", "--access", "read"],
            1,
            "forbid: [ROOT]/project/secret/x: a rule forbids it [[ROOT]/project/r.toml:12]",
        ),
        (&["--path", "other"], 0, "allow: [ROOT]/project/other: no rule for this file"),
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
        assert_eq!(check(&env, arguments), (Some(*code), format!("{expected}\n")), "{arguments:?}");
    }
    let asked = "ask: make: a rule requires approval [[ROOT]/project/r.toml:8]";
    assert_eq!(check(&env, &["--", "make"]), (Some(1), format!("{asked}{unattended}\n")));
}

#[test]
fn explain_shows_every_part() {
    let env = setup();
    let (code, text) = check(&env, &["--explain", "--", "ls | git push"]);
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[1], "  allow  ls: it only reads");
    assert!(lines[2].starts_with("  forbid git push: Nothing leaves"), "{text}");
    assert_eq!(lines[3], "  it is refused");
    let (_, text) = check(&env, &["-e", "--", "ls"]);
    assert!(text.ends_with("\n  it runs without a sandbox\n"), "{text}");
    let (_, text) = check(&env, &["-e", "--", "make"]);
    assert!(text.ends_with("\n  you are asked\n"), "{text}");
    let (_, text) = check(&env, &["-e", "--approval=review", "--", "make"]);
    assert!(text.ends_with("\n  a model decides\n"), "{text}");
}

#[test]
fn json_contains_the_complete_judgement() {
    let env = setup();
    let (code, text) = check(&env, &["--json", "--", "git push"]);
    assert_eq!(code, Some(1));
    let judgement: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(judgement["outcome"], "refuse");
    assert_eq!(judgement["decision"], "forbid");
    assert_eq!(judgement["parts"][0]["rule"], "[ROOT]/project/r.toml:1");
}

#[test]
fn the_profile_decides_if_no_rule_matches() {
    let env = setup();
    let word = |arguments: &[&str]| {
        let (_, text) = check(&env, arguments);
        text.split(':').next().unwrap().to_owned()
    };
    // A program that is not known may do what a rule forbids.
    assert_eq!(word(&["--", "some-program"]), "allow (in the sandbox)");
    assert_eq!(word(&["--profile", "careful", "--", "some-program"]), "ask");
    assert_eq!(word(&["--profile=careful", "--approval=never", "--", "some-program"]), "forbid");
    assert_eq!(word(&["--", "rm -rf /"]), "forbid");
    let settings = r#"{ "guard": { "profile": "careful" } }"#;
    std::fs::create_dir_all(env.agent()).unwrap();
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    assert_eq!(word(&["--", "some-program"]), "ask", "the settings apply");
    assert_eq!(word(&["--profile", "explore", "--", "some-program"]), "allow (in the sandbox)");
}

#[test]
fn actions_that_the_sandbox_denies_need_approval() {
    let env = setup();
    let cases: &[(&[&str], &str)] = &[
        (&["--network=off", "--host", "a.example"], "ask: a.example: the network is off"),
        (&["--sandbox=read-only", "--path", "x"], "ask: [ROOT]/project/x: the sandbox does not"),
        (&["--profile=unattended", "--path", "../x"], "forbid: [ROOT]/x: the sandbox does not"),
        (&["--profile=unattended", "--path", "x"], "allow: "),
        (&["--profile=explore", "--path", "~/.bashrc"], "allow: [ROOT]/home/.bashrc: no rule"),
        (&["--profile=careful", "--path", "~/.bashrc"], "ask: [ROOT]/home/.bashrc: the file is"),
        (&["--profile=unattended", "--path", "~/.bashrc"], "forbid: [ROOT]/home/.bashrc: the"),
    ];
    for (arguments, expected) in cases {
        let (code, text) = check(&env, arguments);
        if Machine::detect().level() == ConfinementLevel::None {
            assert_eq!(code, Some(8), "{arguments:?}");
        } else {
            assert!(text.starts_with(expected), "{arguments:?}: {text}");
        }
    }
}

/// What `check` says about the sandbox is what a session does.
#[test]
fn check_shows_what_runs_in_the_sandbox() {
    if Machine::detect().level() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    let allow = "[[command]]\nprefix = [\"cargo\", \"test\"]\ndecision = \"allow\"\n";
    std::fs::write(env.project().join("allow.toml"), allow).unwrap();
    // Profile, command, outcome, confined.
    let cases: &[(&[&str], &str, &str, bool)] = &[
        (&["--profile=explore"], "cat x", "run", false),
        (&["--profile=explore"], "$(x) y", "run-confined", true),
        (&["--profile=unattended"], "cat x", "run-confined", true),
        (&["--profile=unattended"], "touch x", "run-confined", true),
        (&["--profile=unattended"], "git push", "refuse", false),
        (&["--profile=careful"], "cat x", "run-confined", true),
        (&["--profile=careful"], "cd y", "run-confined", true),
        (&["--profile=careful"], "X=1", "run-confined", true),
        (&["--profile=careful"], "touch x", "ask", false),
        // A rule approves its command, and nothing beside it.
        (&["--profile=careful"], "cargo test", "run", false),
        (&["--profile=careful"], "cd y && cargo test && echo done", "run", false),
        (&["--profile=careful"], "cargo test | tail -5", "run-confined", true),
        (&["--profile=careful"], "cat ~/.ssh/id_rsa; cargo test", "run-confined", true),
        (&["--profile=careful"], "cd $(cat x) && cargo test", "run-confined", true),
        (&["--profile=careful"], "echo $HOME; cargo test", "run-confined", true),
        (&["--profile=careful"], "timeout 5 cargo test", "run-confined", true),
        (&["--profile=careful"], "cargo test; some-program", "ask", false),
        // A sandbox that the user configured holds approved commands as well.
        (&["--profile=careful", "--network=off"], "cargo test", "run-confined", true),
        (&["--profile=careful", "--sandbox=read-only"], "touch x", "ask", true),
        // Without a sandbox, every command needs approval, unless a rule allows it.
        (&["--profile=careful", "--sandbox=off"], "cat x", "ask", false),
        (&["--profile=careful", "--sandbox=off"], "X=1", "ask", false),
        (&["--profile=careful", "--sandbox=off"], "echo x", "ask", false),
        (&["--profile=careful", "--sandbox=off"], "cd y && cargo test", "run", false),
        (&["--profile=careful", "--sandbox=off"], "cargo test | tail -5", "ask", false),
    ];
    for (profile, command, outcome, confined) in cases {
        let options = [*profile, &["--rules=allow.toml", "--json", "--", command]].concat();
        let judgement: Value = serde_json::from_str(&check(&env, &options).1).unwrap();
        assert_eq!(judgement["outcome"], *outcome, "{profile:?} {command}: {judgement}");
        assert_eq!(judgement["confined"], *confined, "{profile:?} {command}: {judgement}");
        let options = [*profile, &["--rules=allow.toml", "--explain", "--", command]].concat();
        let text = check(&env, &options).1;
        let allowed = outcome.starts_with("run");
        assert_eq!(text.starts_with("allow (in the sandbox): "), allowed && *confined, "{text}");
        assert_eq!(text.contains("  it runs in the sandbox"), allowed && *confined, "{text}");
        assert_eq!(text.contains("if approved, it runs in "), !allowed && *confined, "{text}");
    }
    let (_, text) = check(&env, &["--profile=careful", "--sandbox=off", "--", "cat x"]);
    let why = "ask: cat x: it only reads, but nothing enforces that: the sandbox is off";
    assert!(text.starts_with(why), "{text}");
}

#[test]
fn rules_of_the_settings_apply_in_addition_to_the_option() {
    let env = setup();
    let always = "[[command]]\nprefix = [\"touch\"]\ndecision = \"forbid\"\n";
    std::fs::create_dir_all(env.agent()).unwrap();
    std::fs::write(env.agent().join("always.toml"), always).unwrap();
    let settings = r#"{ "guard": { "rules": ["~/.pi/agent/always.toml"] } }"#;
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    assert_eq!(check(&env, &["--", "touch", "x"]).0, Some(1));
    assert_eq!(check(&env, &["--", "git", "push"]).0, Some(1));
}

#[test]
fn rules_of_a_project_apply_if_it_is_trusted() {
    let env = TestEnv::new();
    let rules = env.project().join(".pi/rules");
    std::fs::create_dir_all(&rules).unwrap();
    std::fs::write(rules.join("r.toml"), RULES).unwrap();
    let code = |more: &[&str]| {
        let line = [&["policy", "check"], more, &["--", "git push"]].concat();
        env.pi(&line).status.code()
    };
    assert_eq!(code(&["--no-approve"]), Some(0));
    assert_eq!(code(&["--approve"]), Some(1));
    assert_eq!(code(&["--approve", "--no-approve"]), Some(2));
}

#[test]
fn invalid_input_is_reported_with_its_exit_code() {
    let env = setup();
    let broken = "[[command]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = [\"b\"]\n";
    std::fs::write(env.project().join("broken.toml"), broken).unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--rules", "broken.toml", "--", "ls"], 6, "broken.toml:4: the rule does not match"),
        (&["--rules", "none.toml", "--", "ls"], 6, "none.toml cannot be read"),
        (&[], 2, "expected exactly one of"),
        (&["--host", "a", "--", "ls"], 2, "expected exactly one of"),
        (&["--access", "read", "--", "ls"], 2, "--access requires --path"),
        (&["--tool", "a", "--arguments", "[]"], 2, "--arguments is not a JSON object"),
        (&["--arguments", "{}", "--", "ls"], 2, "--arguments requires --tool"),
        (
            &["--profile", "brave", "--", "ls"],
            2,
            "invalid value \"brave\": expected explore, careful or unattended",
        ),
        (&["--require", "none"], 2, "Unknown option"),
    ];
    for (arguments, code, expected) in cases {
        let (found, message) = env.failure(&[&["policy", "check"], *arguments].concat());
        assert_eq!(found, Some(*code), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn test_checks_files_and_their_examples() {
    let env = setup();
    let write = |name: &str, text: &str| std::fs::write(env.project().join(name), text).unwrap();
    write("empty.toml", "");
    let one = "[[command]]\nprefix = [\"a\", \"b\"]\ndecision = \"allow\"\nmatch = [\"a b c\"]\n";
    write("one.toml", one);
    write("wrong.toml", "[[command]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = [\"b\"]\n");
    let out = env.out(&["policy", "test", "r.toml", "empty.toml"]);
    assert_eq!(
        out,
        "r.toml: 2 command rules, 1 path rule, 1 host rule, 1 tool rule; 3 examples passed\n\
         empty.toml: no rules; no examples\n"
    );
    let output = env.pi(&["policy", "test", "wrong.toml", "none.toml", "empty.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        output.stdout, b"empty.toml: no rules; no examples\n",
        "the other files are checked"
    );
    let stderr = env.stable(&String::from_utf8(output.stderr).unwrap());
    assert!(
        stderr.starts_with("pi: [ROOT]/project/wrong.toml:4: the rule does not match"),
        "{stderr}"
    );
    assert!(stderr.contains("none.toml cannot be read"), "{stderr}");
    let output = env.pi(&["policy", "test", "--json", "wrong.toml", "r.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&list[0]["line"], &list[1]["examples"]), (&Value::from(4), &Value::from(3)));
    // Some rules are not allowed in a project.
    std::fs::create_dir_all(env.project().join(".pi/rules")).unwrap();
    let text = "unanalysable = \"allow-confined\"\n";
    write("mine.toml", text);
    write(".pi/rules/its.toml", text);
    env.out(&["policy", "test", "mine.toml"]);
    assert_eq!(env.failure(&["policy", "test", ".pi/rules/its.toml"]).0, Some(1));
}
