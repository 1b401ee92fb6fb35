//! Commands that try to evade the rules, and ordinary commands that must stay allowed, each with
//! its decision.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use pi_guard::Decision;
use pi_guard::policy::{
    Defaults, Layer, PathAccess, Policy, PolicyContext, RuleFile, UnknownEffects,
};
use proptest::prelude::*;

const RULES: &str = include_str!("evasion/rules.toml");
const TABLES: &[(&str, &str)] = &[
    ("spellings.txt", include_str!("evasion/spellings.txt")),
    ("ordinary.txt", include_str!("evasion/ordinary.txt")),
    ("further.txt", include_str!("evasion/further.txt")),
];

/// Resolves programs on a machine with a few of them in /usr/bin, to which /bin is a link.
fn resolve(name: &str) -> Option<PathBuf> {
    const PROGRAMS: &[&str] = &["cat", "ls", "git", "cargo", "sh", "bash", "wc", "env", "time"];
    if matches!(name, "mycat" | "/tmp/mycat") {
        return Some("/usr/bin/cat".into());
    }
    let base = name.strip_prefix("/usr/bin/").or(name.strip_prefix("/bin/")).unwrap_or(name);
    PROGRAMS.contains(&base).then(|| Path::new("/usr/bin").join(base))
}

pub(crate) fn context() -> PolicyContext<'static> {
    PolicyContext::new(Path::new("/w/p"))
        .with_home(Some(Path::new("/home/u")))
        .with_program_resolver(&resolve)
}

fn policy(defaults: Defaults) -> Policy {
    let mut policy = Policy::new(defaults);
    policy.add(RuleFile::parse("rules.toml", RULES, Layer::User).unwrap());
    policy
}

/// A row of a table: the decisions of two profiles about a script.
struct Case {
    line: String,
    careful: Decision,
    unattended: Option<Expected>,
    script: String,
}

/// The decision of a profile.
#[derive(Debug, PartialEq)]
struct Expected {
    decision: Decision,
    /// The decision applies in the sandbox only.
    sandboxed: bool,
}

/// The cases of all tables.
fn cases() -> impl Iterator<Item = Case> {
    TABLES.iter().flat_map(|(file, table)| {
        let lines = table.lines().enumerate();
        let cases = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        cases.map(move |(number, line)| {
            let position = format!("{file}:{}", number + 1);
            let (careful, mut rest) = line.split_once(' ').unwrap();
            let mut unattended = None;
            if *file == "further.txt" {
                let (word, script) = rest.split_once(' ').unwrap();
                let sandboxed = word == "confined";
                let word = if sandboxed { "allow" } else { word };
                unattended = Some(Expected { decision: decision(word, &position), sandboxed });
                rest = script;
            }
            let (careful, script) = (decision(careful, &position), unescape(rest));
            Case { line: position, careful, unattended, script }
        })
    })
}

pub(crate) fn decision(word: &str, line: &str) -> Decision {
    match word {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        "forbid" => Decision::Forbid,
        other => panic!("{line}: {other}"),
    }
}

/// The scripts that are forbidden.
fn forbidden() -> &'static [String] {
    static FORBIDDEN: OnceLock<Vec<String>> = OnceLock::new();
    FORBIDDEN.get_or_init(|| {
        let forbidden = cases().filter(|case| case.careful == Decision::Forbid);
        forbidden.map(|case| case.script).collect()
    })
}

pub(crate) fn unescape(script: &str) -> String {
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
    let (careful, unattended) = (policy(Defaults::careful()), policy(Defaults::unattended()));
    let mut wrong = Vec::new();
    for case in cases() {
        let verdict = careful.check(&case.script, &context());
        let explained = verdict.explain();
        if verdict.decision != case.careful {
            let expected = case.careful;
            let (line, script) = (&case.line, &case.script);
            wrong.push(format!("{line}: {script}\n  expected {expected:?}: {explained}"));
        }
        let Some(expected) = case.unattended else { continue };
        let verdict = unattended.check(&case.script, &context());
        let sandboxed = verdict.confined && verdict.decision == Decision::Allow;
        if (Expected { decision: verdict.decision, sandboxed }) != expected {
            let (line, script) = (&case.line, &case.script);
            let explained = verdict.explain();
            wrong.push(format!("{line}: {script}\n  unattended {expected:?}: {explained}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases().count() >= 1000);
}

/// The profile that never asks refuses what is forbidden, and allows unknown effects in the sandbox
/// only.
#[test]
fn explore_allows_nothing_forbidden_outside_of_the_sandbox() {
    let policy = policy(Defaults::explore());
    for Case { line, careful, script, .. } in cases() {
        let verdict = policy.check(&script, &context());
        match careful {
            Decision::Forbid => assert_eq!(verdict.decision, Decision::Forbid, "{line}: {script}"),
            Decision::Allow => assert!(!verdict.confined, "{line}: {script}"),
            Decision::Ask => assert_ne!(verdict.decision, Decision::Forbid, "{line}: {script}"),
        }
    }
}

/// A forbidden command stays forbidden in every construct, function, wrapper and quoting.
#[test]
fn forbidden_commands_are_not_allowed_inside_others() {
    let policies = [policy(Defaults::careful()), policy(Defaults::explore())];
    let quoted = |script: &str| format!("'{}'", script.replace('\'', "'\\''"));
    let constructs = [
        "(X)",
        "( X\n)",
        "{ X\n}",
        "if true; then X\nfi",
        "if X\nthen ls; fi",
        "if false; then ls; else X\nfi",
        "while X\ndo ls; done",
        "for i in 1; do X\ndone",
        "case a in a) X\n;; esac",
        "f() { X\n}; f",
        "function f { X\n}",
        "echo $(X\n)",
        "echo \"$(X\n)\"",
        "wc <(X\n)",
        "ls && { X\n}",
        "ls || (X\n)",
        "! { X\n}",
        "time { X\n}",
        "coproc { X\n}",
        "wc <<END\n$(X\n)\nEND",
        "bash <<'END'\nX\nEND",
    ];
    let quotings = [
        "sh -c X",
        "bash -c X",
        "bash -lc X",
        "eval X",
        "env bash -c X",
        "sudo sh -c X",
        "nohup bash -c X &",
        "timeout 5 bash -c X",
        "nice -n 5 sh -c X",
        "setsid sh -c X",
        "xargs sh -c X",
        "find . -exec sh -c X \\;",
        "trap X EXIT",
        "echo X | sh",
        "sh <<< X",
        "watch X",
        "flock f -c X",
        "script -c X",
        "su -c X",
        "ssh h X",
        "git rebase --exec X main",
        "git submodule foreach X",
        "parallel X",
        "docker run x sh -c X",
        "PROMPT_COMMAND=X",
        "alias ls=X\nls",
        "setarch x86_64 sh -c X",
        "busybox sh -c X",
        "stdbuf -oL sh -c X",
        "command eval X",
        "strace -f sh -c X",
        "source <(echo X)",
    ];
    let mut allowed = Vec::new();
    // A script with unbalanced parentheses would end the construct.
    let whole = |s: &&String| s.matches(')').count() <= s.matches('(').count();
    for (turn, script) in forbidden().iter().filter(whole).enumerate() {
        let inside = constructs.iter().map(|c| c.replace('X', script));
        let as_text = quotings.iter().map(|q| q.replace('X', &quoted(script)));
        let all: Vec<String> = inside.chain(as_text).collect();
        // All combinations take minutes; in turns, each script still meets many constructs.
        for longer in all.iter().cycle().skip(turn * 5).take(5) {
            for policy in &policies {
                let verdict = policy.check(longer, &context());
                if verdict.decision == Decision::Allow && !verdict.confined {
                    allowed.push(longer.clone());
                }
            }
        }
    }
    assert!(allowed.is_empty(), "{} allowed\n{}", allowed.len(), allowed.join("\n"));
}

/// A link is judged by its name and by its target.
#[test]
fn links_are_resolved() {
    let real = |path: &Path| -> Option<PathBuf> {
        match path.to_str()? {
            "/w/p/harmless" => Some("/home/u/.ssh/id_rsa".into()),
            "/w/p/dir" => Some("/w/p/locked".into()),
            "/w/p/src" => Some("/w/p/src".into()),
            "/w/p/hook" => Some("/w/p/.git/hooks/pre-commit".into()),
            "/w/p/out/x" => Some("/etc/x".into()),
            "/w/p/out/objects" => Some("/w/p/.git/objects".into()),
            "/w/p/src/link" => Some("/w/p/locked/inside".into()),
            _ => None,
        }
    };
    let context = context().with_real_paths(&real);
    let policy = policy(Defaults::careful());
    for (script, expected) in [
        ("head harmless", Decision::Forbid),
        ("head < ./harmless", Decision::Forbid),
        ("cd sub; head ../harmless", Decision::Forbid),
        ("head dir/x", Decision::Allow),
        ("touch dir/new/file", Decision::Forbid),
        ("ls > dir/new", Decision::Forbid),
        ("ls > hook", Decision::Ask),
        ("ls > out/x", Decision::Ask),
        ("ls > out/y", Decision::Allow),
        ("head src/a.rs", Decision::Allow),
        ("ls > out/objects/../config", Decision::Ask),
        ("ls > out/objects/../out/y", Decision::Ask),
        ("cd out/objects && ls > ../config", Decision::Ask),
        ("touch src/link/../f", Decision::Forbid),
        ("ls > src/link/../f", Decision::Forbid),
        ("cp x src/link/../f", Decision::Forbid),
        ("ls > out/../out/y", Decision::Allow),
    ] {
        assert_eq!(policy.check(script, &context).decision, expected, "{script}");
    }
    let unattended = self::policy(Defaults::unattended());
    assert_eq!(unattended.check("cp x hook", &context).decision, Decision::Forbid);
    let path = policy.check_path(Path::new("harmless"), PathAccess::Read, &context);
    assert_eq!(path.decision, Decision::Forbid);
}

/// A rule that allows a command does not allow it to change protected files.
#[test]
fn rules_on_commands_do_not_allow_protected_files() {
    let mut policy = policy(Defaults::unattended());
    let rules = "[[command]]\nprefix = [[\"cp\", \"tee\", \"sed\", \"ln\", \"git\", \"tool\"]]\n\
        decision = \"allow\"\n[[path]]\npaths = [\".pi/notes\"]\naccess = \"write\"\n\
        decision = \"allow\"";
    policy.add(RuleFile::parse("more.toml", rules, Layer::Run).unwrap());
    for (script, expected) in [
        ("cp x .git/hooks/pre-commit", Decision::Forbid),
        ("tee -a ~/.bashrc", Decision::Forbid),
        ("sed -i s/a/b/ .git/config", Decision::Forbid),
        ("ln -sf x .pi/settings.json", Decision::Forbid),
        ("git -C x config core.pager y", Decision::Forbid),
        ("tool --write .git/config", Decision::Forbid),
        ("cp x .pi/notes/y", Decision::Allow),
        ("cp .git/config x", Decision::Allow),
        ("git commit -m x", Decision::Allow),
        ("sed s/a/b/ .git/config", Decision::Allow),
        ("tool /usr/share/x", Decision::Allow),
    ] {
        assert_eq!(policy.check(script, &context()).decision, expected, "{script}");
    }
}

#[test]
fn unknown_effects_are_never_allowed_by_default() {
    let mut permissive = Defaults::explore();
    permissive.unknown_effects = UnknownEffects::Forbid;
    let policy = Policy::new(permissive);
    for script in ["$X", "eval x", "make", "python3 -c x", "x | sh", "PATH=x ls", "ls (", "ssh h"] {
        assert_eq!(policy.check(script, &context()).decision, Decision::Forbid, "{script}");
    }
}

/// Prints the time of a decision and asserts nothing. `cargo test --release -- --nocapture`.
#[test]
fn time_of_a_decision() {
    let policy = policy(Defaults::careful());
    let cases: Vec<_> = cases().collect();
    let started = Instant::now();
    for case in &cases {
        std::hint::black_box(policy.check(&case.script, &context()));
    }
    let each = started.elapsed() / u32::try_from(cases.len()).unwrap();
    println!("{each:?} per decision, {} scripts", cases.len());
}

/// Random text of tokens that occur in scripts.
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

    /// Text after a forbidden command does not allow it.
    #[test]
    fn text_after_a_forbidden_command_does_not_allow_it(
        index in any::<prop::sample::Index>(),
        more in fragment(),
        separator in prop::sample::select(vec![";", "\n", " && ", " || ", " | ", " & ", " "]),
    ) {
        let forbidden: Vec<&String> = forbidden().iter().filter(|s| !s.contains("<<")).collect();
        let script = index.get(&forbidden);
        let policy = policy(Defaults::careful());
        let longer = format!("{script}{separator}{more}");
        prop_assert_ne!(policy.check(&longer, &context()).decision, Decision::Allow, "{}", longer);
    }

    /// Neither does a command before it or another word in it.
    #[test]
    fn text_before_or_inside_a_forbidden_command_does_not_allow_it(
        index in any::<prop::sample::Index>(),
        before in prop::sample::select(vec![
            "ls;", "true &&", "echo 'a b' |", "x=1;", "x=1", "ls # y\n", "if true; then ls; fi;",
            "f() { ls; };", "echo $(ls) ||", "for i in 1; do ls; done;", "wc <<E\nx\nE\n", "2>&1",
        ]),
        word in prop::sample::select(vec!["-v", "x", "--", "'a b'", "\"$y\"", "*.txt", "-n 5"]),
    ) {
        let script = index.get(forbidden());
        let policy = policy(Defaults::careful());
        let longer = format!("{before} {script}");
        let verdict = policy.check(&longer, &context());
        prop_assert_ne!(verdict.decision, Decision::Allow, "{}", longer);
        let longer = format!("{script} {word}");
        if !script.contains(['\n', '#', '(']) {
            let verdict = policy.check(&longer, &context());
            prop_assert_ne!(verdict.decision, Decision::Allow, "{}", longer);
        }
    }

    #[test]
    fn every_text_has_a_decision(script in fragment()) {
        let verdict = policy(Defaults::careful()).check(&script, &context());
        let strictest = verdict.parts.iter().map(|part| part.decision).max();
        prop_assert_eq!(verdict.decision, strictest.unwrap_or(Decision::Allow));
    }
}

/// Texts on which the analysis once failed.
#[test]
fn past_failures_have_a_decision() {
    let policy = policy(Defaults::careful());
    for script in ["a=(1 $\u{31e}\u{6e6}ce", "x=$é; echo $((x))", "x=1$\u{10FFFF}; let x"] {
        assert!(policy.check(script, &context()).decision > Decision::Allow, "{script}");
    }
}
