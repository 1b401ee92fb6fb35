//! Commands that try to get past the rules, and ordinary ones that must not be hindered, each
//! with the decision it gets.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pi_guard::Decision;
use pi_guard::policy::{Defaults, Layer, Policy, RuleFile, Scene, Unanalysable};
use proptest::prelude::*;

const RULES: &str = include_str!("evasion/rules.toml");
const TABLES: &[(&str, &str)] = &[
    ("spellings.txt", include_str!("evasion/spellings.txt")),
    ("ordinary.txt", include_str!("evasion/ordinary.txt")),
];

/// A machine with a few programs, all in /usr/bin, to which /bin is a link.
fn resolve(name: &str) -> Option<PathBuf> {
    const PROGRAMS: &[&str] = &["cat", "ls", "git", "cargo", "sh", "bash", "wc", "env"];
    if matches!(name, "mycat" | "/tmp/mycat") {
        return Some("/usr/bin/cat".into());
    }
    let base = name.strip_prefix("/usr/bin/").or(name.strip_prefix("/bin/")).unwrap_or(name);
    PROGRAMS.contains(&base).then(|| Path::new("/usr/bin").join(base))
}

fn scene() -> Scene<'static> {
    Scene {
        cwd: Path::new("/w/p"),
        home: Some(Path::new("/home/u")),
        resolve: &resolve,
        real: &|_| None,
    }
}

fn policy(defaults: Defaults) -> Policy {
    let mut policy = Policy::new(defaults);
    policy.add(RuleFile::parse("rules.toml", RULES, Layer::User).unwrap());
    policy
}

/// The cases of all tables: where, decision, script.
fn cases() -> impl Iterator<Item = (String, Decision, String)> {
    TABLES.iter().flat_map(|(file, table)| {
        let lines = table.lines().enumerate();
        let cases = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        cases.map(move |(number, line)| {
            let (decision, script) = line.split_once(' ').unwrap();
            let decision = match decision {
                "allow" => Decision::Allow,
                "ask" => Decision::Ask,
                "forbid" => Decision::Forbid,
                other => panic!("{file}:{}: {other}", number + 1),
            };
            (format!("{file}:{}", number + 1), decision, unescape(script))
        })
    })
}

fn unescape(script: &str) -> String {
    let mut text = String::new();
    let mut rest = script;
    while let Some((before, after)) = rest.split_once("<U+") {
        let (code, after) = after.split_once('>').unwrap();
        text.push_str(before);
        text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = after;
    }
    text.push_str(rest);
    text.replace('⏎', "\n")
}

#[test]
fn every_command_gets_its_decision() {
    let policy = policy(Defaults::careful());
    let wrong: Vec<String> = cases()
        .filter_map(|(place, expected, script)| {
            let verdict = policy.check(&script, &scene());
            (verdict.decision != expected).then(|| {
                format!("{place}: {script}\n  expected {expected:?}: {}", verdict.explain())
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases().count() >= 250);
}

/// The profile that asks nothing still never runs what is forbidden, and says of everything that
/// is not understood that it must be confined.
#[test]
fn without_questions_nothing_forbidden_is_allowed_unconfined() {
    let policy = policy(Defaults::explore());
    for (place, expected, script) in cases() {
        let verdict = policy.check(&script, &scene());
        match expected {
            Decision::Forbid => assert_eq!(verdict.decision, Decision::Forbid, "{place}: {script}"),
            Decision::Allow => assert!(!verdict.confined, "{place}: {script}"),
            Decision::Ask => assert_ne!(verdict.decision, Decision::Forbid, "{place}: {script}"),
        }
    }
}

#[test]
fn what_is_not_understood_is_never_allowed_by_a_default() {
    let permissive = Defaults {
        unmatched: Decision::Allow,
        destructive: Decision::Allow,
        unanalysable: Unanalysable::Forbid,
    };
    let policy = Policy::new(permissive);
    for script in ["$X", "eval x", "make", "python3 -c x", "x | sh", "PATH=x ls", "ls (", "ssh h"] {
        assert_eq!(policy.check(script, &scene()).decision, Decision::Forbid, "{script}");
    }
}

/// Not asserted: a number for those who change the analysis. `cargo test --release -- --nocapture`.
#[test]
fn how_long_a_decision_takes() {
    let policy = policy(Defaults::careful());
    let cases: Vec<_> = cases().collect();
    let started = Instant::now();
    for (_, _, script) in &cases {
        std::hint::black_box(policy.check(script, &scene()));
    }
    let each = started.elapsed() / u32::try_from(cases.len()).unwrap();
    println!("{each:?} per decision, {} scripts", cases.len());
}

/// Text as it occurs in scripts, so that random scripts are not only noise.
fn fragment() -> impl Strategy<Value = String> {
    let tokens = "cat|ls|;|&&| |\n|'|\"|\\|$(|)|`|{|}|(|<<E|E|<|>|#|if|then|fi|do|done|for|case|esac|\
        |$X|${|=|[[|]]|eval|sh -c|xargs|env|a.txt|!|*|?|\u{200B}|é|\r|-|--|[|]|$'|0";
    let tokens: Vec<&'static str> = tokens.split('|').chain(["|", "||"]).collect();
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(tokens), 0..24).prop_map(|t| t.concat()),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A forbidden command stays so with anything before or after it as a command of its own.
    #[test]
    fn adding_text_never_turns_forbid_into_allow(
        index in any::<prop::sample::Index>(),
        more in fragment(),
        separator in prop::sample::select(vec![";", "\n", " && ", " || ", " | ", " & ", " "]),
    ) {
        let forbidden: Vec<String> = cases()
            .filter(|(_, decision, script)| *decision == Decision::Forbid && !script.contains("<<"))
            .map(|(_, _, script)| script)
            .collect();
        let script = index.get(&forbidden);
        let policy = policy(Defaults::careful());
        let longer = format!("{script}{separator}{more}");
        prop_assert_ne!(policy.check(&longer, &scene()).decision, Decision::Allow, "{}", longer);
    }

    #[test]
    fn any_text_gets_a_decision(script in fragment()) {
        let verdict = policy(Defaults::careful()).check(&script, &scene());
        let strictest = verdict.parts.iter().map(|part| part.decision).max();
        prop_assert_eq!(verdict.decision, strictest.unwrap_or(Decision::Allow));
    }
}
