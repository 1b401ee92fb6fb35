//! Rule files: what they mean, and what is said of those that are wrong.

use std::path::Path;

use pi_guard::Decision;
use pi_guard::policy::{Defaults, Layer, Policy, Reach, RuleFile, Scene};
use serde_json::{Map, Value};

fn scene() -> Scene<'static> {
    Scene {
        cwd: Path::new("/w"),
        home: Some(Path::new("/home/u")),
        resolve: &|_| None,
        real: &|_| None,
    }
}

fn decision(policy: &Policy, script: &str) -> Decision {
    policy.check(script, &scene()).decision
}

#[test]
fn wrong_files_are_reported_with_their_line() {
    for (text, expected) in [
        ("[[command]]\nprefix = [", "r.toml:2:"),
        ("[[command]]\nprefix = [\"a\"]\ndecision = \"maybe\"", "r.toml:3:"),
        ("\n[[command]]\nprefix = []\ndecision = \"allow\"", "r.toml:2: a prefix needs"),
        ("[[command]]\nprefix = [\"a\"]\ndecision = \"ask\"\nsurprise = 1", "r.toml:4:"),
        (
            "[[command]]\nprefix = [\"a\"]\ndecision = \"ask\"\nmatch = [\n  \"a x\",\n  \"b\",\n]",
            "r.toml:6: the rule does not match its example `b`",
        ),
        (
            "[[command]]\nprefix = [\"a\"]\ndecision = \"ask\"\nnot_match = [\"x; a\"]",
            "r.toml:4: the rule matches `x; a`",
        ),
        ("unanalysable = \"allow-confined\"", "r.toml:1: a project may not allow"),
    ] {
        let error = RuleFile::parse("r.toml", text, Layer::Project).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
}

#[test]
fn the_strictest_layer_wins_and_says_why() {
    let mut policy = Policy::new(Defaults::careful());
    let rule = |decision: &str| {
        format!(
            "[[command]]\nprefix = [\"deploy\"]\ndecision = \"{decision}\"\njustification = \"{decision}!\""
        )
    };
    for (layer, given, expected) in [
        (Layer::User, "allow", Decision::Allow),
        (Layer::Administrator, "forbid", Decision::Forbid),
        (Layer::Run, "allow", Decision::Forbid),
    ] {
        policy.add(RuleFile::parse("x.toml", &rule(given), layer).unwrap());
        assert_eq!(decision(&policy, "deploy now"), expected);
    }
    let verdict = policy.check("ls; deploy now", &scene());
    let part = verdict.decisive().unwrap();
    assert_eq!((part.reason.as_str(), part.rule.as_deref()), ("forbid!", Some("x.toml:1")));
    assert_eq!(
        verdict.explain(),
        "forbid\n  allow  ls: it only reads\n  forbid deploy now: forbid! [x.toml:1]"
    );
}

#[test]
fn files_hosts_and_tools_have_rules() {
    let text = r#"
        [[path]]
        paths = ["~/.ssh"]
        access = "any"
        decision = "forbid"
        [[path]]
        paths = ["src"]
        access = "write"
        decision = "allow"
        [[host]]
        hosts = ["*.example.com"]
        decision = "allow"
        [[host]]
        hosts = ["bad.example.com"]
        decision = "forbid"
        [[tool]]
        name = "mcp__*"
        decision = "ask"
        [[tool]]
        name = "mcp__db__query"
        arguments = { sql = "DROP *" }
        decision = "forbid"
    "#;
    let mut policy = Policy::new(Defaults::careful());
    policy.add(RuleFile::parse("r.toml", text, Layer::User).unwrap());
    for (path, reach, expected) in [
        ("/home/u/.ssh/id", Reach::Read, Decision::Forbid),
        ("src/a.rs", Reach::Write, Decision::Allow),
        ("src/../b.rs", Reach::Write, Decision::Ask),
        ("b.rs", Reach::Read, Decision::Allow),
        (".git/hooks/x", Reach::Write, Decision::Ask),
    ] {
        assert_eq!(
            policy.check_path(Path::new(path), reach, &scene()).decision,
            expected,
            "{path}"
        );
    }
    let host = |name| policy.check_host(name).map(|v| v.decision);
    assert_eq!(host("a.example.com"), Some(Decision::Allow));
    assert_eq!(host("BAD.example.com."), Some(Decision::Forbid));
    assert_eq!(host("example.org"), None);
    let tool = |name, sql: &str| {
        let arguments = Map::from_iter([("sql".to_owned(), Value::from(sql))]);
        policy.check_tool(name, &arguments).map(|v| v.decision)
    };
    assert_eq!(tool("mcp__db__query", "SELECT 1"), Some(Decision::Ask));
    assert_eq!(tool("mcp__db__query", "DROP x"), Some(Decision::Forbid));
    assert_eq!(tool("read", "x"), None);
}

#[test]
fn rule_files_of_codex_are_read() {
    let text = r#"
# Comment
prefix_rule(
    pattern = ["git", ["push", "fetch"]],
    decision = "forbidden",
    justification = "it's \"ours\"",
    match = ["git push origin", ["git", "fetch"]],
    not_match = ["git status", "git --no-pager push"],
)
prefix_rule(pattern=['cargo', 'build'])
prefix_rule(pattern=["deploy"], decision="prompt")
network_rule(host = "api.example.com", protocol = "https", decision = "allow")
host_executable(name = "cargo", paths = ["/opt/rust/bin/cargo"])
"#;
    let mut policy = Policy::new(Defaults::careful());
    policy.add(RuleFile::parse_codex("default.rules", text, Layer::User).unwrap());
    for (script, expected) in [
        ("git push", Decision::Forbid),
        ("git -C x fetch", Decision::Forbid),
        ("cargo build", Decision::Allow),
        ("/opt/rust/bin/cargo build", Decision::Allow),
        ("/tmp/cargo build", Decision::Ask),
        ("deploy", Decision::Ask),
    ] {
        assert_eq!(decision(&policy, script), expected, "{script}");
    }
    assert_eq!(policy.check_host("api.example.com").unwrap().decision, Decision::Allow);
    for (text, expected) in [
        ("\nload(\"x\")", "d.rules:2:"),
        ("prefix_rule(pattern = [])", "d.rules:1: a prefix needs"),
        ("prefix_rule(pattern = [\"a\"], match = [\n\"b\"])", "d.rules:2: the rule does not match"),
        ("prefix_rule(pattern = [\"a)", "d.rules:1: the string is not closed"),
        ("prefix_rule(pattern = a + b)", "d.rules:1:"),
        ("x = 1", "d.rules:1:"),
    ] {
        let error = RuleFile::parse_codex("d.rules", text, Layer::User).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
}
