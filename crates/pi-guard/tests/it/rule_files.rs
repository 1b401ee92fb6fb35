//! Rule files: their meaning, and the errors of invalid ones.

use std::path::Path;

use pi_guard::Decision;
use pi_guard::policy::{Defaults, Layer, PathAccess, Policy, PolicyContext, RuleFile};
use serde_json::{Map, Value};

fn context() -> PolicyContext<'static> {
    PolicyContext::new(Path::new("/w")).with_home(Some(Path::new("/home/u")))
}

fn decision(policy: &Policy, script: &str) -> Decision {
    policy.check(script, &context()).decision
}

#[test]
fn errors_name_the_line() {
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
        ("unanalysable = \"allow-confined\"", "r.toml:1: a project cannot allow"),
        ("unanalysable = \"perhaps\"", "r.toml:1: unknown variant `perhaps`"),
        ("[[command]]\ndecision = \"ask\"", "r.toml:1: missing field `prefix`; add it"),
        ("[[comand]]\nprefix = [\"a\"]", "r.toml:1: unknown field `comand`"),
        (
            "[[command]]\nprefix = [\"git push\"]\ndecision = \"ask\"",
            "r.toml:1: `git push` contains a space; write \"git\", \"push\"",
        ),
        ("[[command]]\nprefix = [\"a\", []]\ndecision = \"ask\"", "r.toml:1: a prefix needs"),
        (
            "[[command]]\nprefix = [\"a\", \"*\"]\ndecision = \"ask\"",
            "r.toml:1: words match exactly",
        ),
        ("[[command]]\nprefix = [\"-x\"]\ndecision = \"ask\"", "r.toml:1: `-x` is not the name"),
        (
            "[[command]]\nprefix = [[\"a\", \"a\"]]\ndecision = \"ask\"",
            "r.toml:1: `a` is listed twice",
        ),
        (
            "[[command]]\nprefix = [\"a\"]\ndecision = \"ask\"\nmatch = [\n  \"a\",\n  [\"a\"],\n]",
            "r.toml:6: the example `a` is listed twice",
        ),
        (
            "[[command]]\nprefix = [\"a\"]\ndecision = \"ask\"\nmatch = [\"a\"]\nnot_match = [\"a\"]",
            "r.toml:5: the example `a` is listed twice",
        ),
        (
            "\n[[path]]\npaths = []\naccess = \"any\"\ndecision = \"ask\"",
            "r.toml:2: `paths` is empty",
        ),
        (
            "[[path]]\npaths = [\"x\"]\naccess = \"all\"\ndecision = \"ask\"",
            "r.toml:3: unknown variant",
        ),
        (
            "[[path]]\npaths = [\"$HOME/x\"]\naccess = \"any\"\ndecision = \"ask\"",
            "r.toml:1: `$HOME/x` is not expanded",
        ),
        ("[[host]]\nhosts = [\"\"]\ndecision = \"ask\"", "r.toml:1: `hosts` is empty"),
        (
            "[[host]]\nhosts = [\"https://a.b/c\"]\ndecision = \"ask\"",
            "r.toml:1: `https://a.b/c` is not a host name; write `a.b`",
        ),
        (
            "[[host]]\nhosts = [\"a.b:80\"]\ndecision = \"ask\"",
            "r.toml:1: `a.b:80` is not a host name",
        ),
        ("[[tool]]\nname = \"\"\ndecision = \"ask\"", "r.toml:1: `name` is empty"),
        ("[[executable]]\nname = \"a\"\npaths = [\"b\"]", "r.toml:1: `b` must be an absolute"),
    ] {
        // With every kind of line ending, and with a byte order mark.
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{FEFF}{text}")] {
            let error = RuleFile::parse("r.toml", &text, Layer::Project).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}\n{error}");
        }
    }
}

#[test]
fn rules_name_their_line() {
    let text = "# rules\n\n[[command]]\nprefix = [\n  \"a\",\n  [\n    \"b\",\n  ],\n]\n\
        decision = \"forbid\"\n\n[[path]]\npaths = [\"x\"]\naccess = \"any\"\ndecision = \"ask\"\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{FEFF}{text}")] {
        let rules = RuleFile::parse("r.toml", &text, Layer::Administrator).unwrap();
        assert_eq!(rules.commands[0].origin, "r.toml:3");
        assert_eq!(rules.paths[0].origin, "r.toml:12");
    }
}

/// An administrator can be stricter about unknown effects, and no other layer can undo that.
#[test]
fn the_strictest_decision_about_unknown_effects_wins() {
    let mut policy = Policy::new(Defaults::explore());
    let file = |value: &str, layer| {
        RuleFile::parse("x.toml", &format!("unanalysable = \"{value}\""), layer).unwrap()
    };
    policy.add(file("forbid", Layer::Administrator));
    policy.add(file("allow-confined", Layer::User));
    assert_eq!(decision(&policy, "eval \"$x\""), Decision::Forbid);
}

#[test]
fn the_strictest_layer_wins_and_gives_its_reason() {
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
    let verdict = policy.check("ls; deploy now", &context());
    let part = verdict.decisive().unwrap();
    assert_eq!((part.reason.as_str(), part.rule.as_deref()), ("forbid!", Some("x.toml:1")));
    assert_eq!(
        verdict.explain(),
        "forbid\n  allow  ls: it only reads\n  forbid deploy now: forbid! [x.toml:1]"
    );
}

#[test]
fn rules_apply_to_files_hosts_and_tools() {
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
    for (path, access, expected) in [
        ("/home/u/.ssh/id", PathAccess::Read, Decision::Forbid),
        ("src/a.rs", PathAccess::Write, Decision::Allow),
        ("src/../b.rs", PathAccess::Write, Decision::Ask),
        ("b.rs", PathAccess::Read, Decision::Allow),
        (".git/hooks/x", PathAccess::Write, Decision::Ask),
    ] {
        assert_eq!(
            policy.check_path(Path::new(path), access, &context()).decision,
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

/// A rule on a bare name applies to the paths that an `[[executable]]` lists.
#[test]
fn executables_extend_allow_rules_to_paths() {
    let text = r#"
        [[command]]
        prefix = ["cargo", "build"]
        decision = "allow"
        [[executable]]
        name = "cargo"
        paths = ["/opt/rust/bin/cargo"]
    "#;
    let mut policy = Policy::new(Defaults::careful());
    policy.add(RuleFile::parse("r.toml", text, Layer::User).unwrap());
    for (script, expected) in [
        ("cargo build", Decision::Allow),
        ("/opt/rust/bin/cargo build", Decision::Allow),
        ("/tmp/cargo build", Decision::Ask),
    ] {
        assert_eq!(decision(&policy, script), expected, "{script}");
    }
}

/// A rule on an option or a subcommand matches all of its names.
#[test]
fn rules_match_synonyms() {
    let text = r#"
        [[command]]
        prefix = ["git", "push", "--force"]
        decision = "forbid"
        match = ["git push -f", "git push -uf x", "git push --forc", "git push origin +main"]
        not_match = ["git push", "git push origin main"]
        [[command]]
        prefix = ["rm", "-rf"]
        decision = "forbid"
        match = ["rm -fR x", "rm --recursive -f x", "rm --r --f x"]
        not_match = ["rm -r x", "rm -f x", "rm rf"]
        [[command]]
        prefix = [["npm", "pnpm"], ["publish", "install"]]
        decision = "ask"
        match = ["npm i x", "npm -w a publish", "pnpm add x", "npm publ"]
        not_match = ["npm p", "npm ls"]
        [[command]]
        prefix = ["cargo", "publish"]
        decision = "ask"
        match = ["cargo +nightly publish", "cargo --locked publish"]
    "#;
    assert_eq!(RuleFile::parse("rules.toml", text, Layer::User).map(|file| file.examples), Ok(20));
}
