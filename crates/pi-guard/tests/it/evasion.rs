//! Commands that try to get past the rules, and ordinary ones that must not be hindered, each
//! with the decision it gets.

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

/// A machine with a few programs, all in /usr/bin, to which /bin is a link.
fn resolve(name: &str) -> Option<PathBuf> {
    const PROGRAMS: &[&str] = &["cat", "ls", "git", "cargo", "sh", "bash", "wc", "env"];
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

/// What two profiles say of a script.
struct Case {
    place: String,
    careful: Decision,
    /// Only in the table that has it. The second: whether only confined.
    unattended: Option<(Decision, bool)>,
    script: String,
}

/// The cases of all tables.
fn cases() -> impl Iterator<Item = Case> {
    TABLES.iter().flat_map(|(file, table)| {
        let lines = table.lines().enumerate();
        let cases = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        cases.map(move |(number, line)| {
            let place = format!("{file}:{}", number + 1);
            let (careful, mut rest) = line.split_once(' ').unwrap();
            let mut unattended = None;
            if *file == "further.txt" {
                let (word, script) = rest.split_once(' ').unwrap();
                let confined = word == "confined";
                let word = if confined { "allow" } else { word };
                unattended = Some((decision(word, &place), confined));
                rest = script;
            }
            let (careful, script) = (decision(careful, &place), unescape(rest));
            Case { place, careful, unattended, script }
        })
    })
}

pub(crate) fn decision(word: &str, place: &str) -> Decision {
    match word {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        "forbid" => Decision::Forbid,
        other => panic!("{place}: {other}"),
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
            let (place, script) = (&case.place, &case.script);
            wrong.push(format!("{place}: {script}\n  expected {expected:?}: {explained}"));
        }
        let Some(expected) = case.unattended else { continue };
        let verdict = unattended.check(&case.script, &context());
        let confined = verdict.confined && verdict.decision == Decision::Allow;
        if (verdict.decision, confined) != expected {
            let (place, script) = (&case.place, &case.script);
            let explained = verdict.explain();
            wrong.push(format!("{place}: {script}\n  unattended {expected:?}: {explained}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases().count() >= 1000);
}

/// The profile that asks nothing still never runs what is forbidden, and says of everything that
/// is not understood that it must be confined.
#[test]
fn without_questions_nothing_forbidden_is_allowed_unconfined() {
    let policy = policy(Defaults::explore());
    for Case { place, careful, script, .. } in cases() {
        let verdict = policy.check(&script, &context());
        match careful {
            Decision::Forbid => assert_eq!(verdict.decision, Decision::Forbid, "{place}: {script}"),
            Decision::Allow => assert!(!verdict.confined, "{place}: {script}"),
            Decision::Ask => assert_ne!(verdict.decision, Decision::Forbid, "{place}: {script}"),
        }
    }
}

/// What is forbidden stays so in every construct, function, wrapper and quoting.
#[test]
fn what_is_forbidden_is_not_allowed_inside_anything() {
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
    // One that closes what it did not open would end the construct.
    let whole = |s: &&String| s.matches(')').count() <= s.matches('(').count();
    for (turn, script) in forbidden().iter().filter(whole).enumerate() {
        let inside = constructs.iter().map(|c| c.replace('X', script));
        let as_text = quotings.iter().map(|q| q.replace('X', &quoted(script)));
        let all: Vec<String> = inside.chain(as_text).collect();
        // All with all takes minutes; in turns, each still meets many of the others.
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

/// A link is judged by its name and by what it leads to.
#[test]
fn links_are_seen_through() {
    let real = |path: &Path| -> Option<PathBuf> {
        match path.to_str()? {
            "/w/p/harmless" => Some("/home/u/.ssh/id_rsa".into()),
            "/w/p/dir" => Some("/w/p/locked".into()),
            "/w/p/src" => Some("/w/p/src".into()),
            "/w/p/hook" => Some("/w/p/.git/hooks/pre-commit".into()),
            "/w/p/out/x" => Some("/etc/x".into()),
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
    ] {
        assert_eq!(policy.check(script, &context).decision, expected, "{script}");
    }
    let unattended = self::policy(Defaults::unattended());
    assert_eq!(unattended.check("cp x hook", &context).decision, Decision::Forbid);
    let path = policy.check_path(Path::new("harmless"), PathAccess::Read, &context);
    assert_eq!(path.decision, Decision::Forbid);
}

/// Not even a rule that allows the command allows it to change what is protected.
#[test]
fn what_is_protected_needs_more_than_a_rule_on_commands() {
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
fn what_is_not_understood_is_never_allowed_by_a_default() {
    let mut permissive = Defaults::explore();
    permissive.unknown_effects = UnknownEffects::Forbid;
    let policy = Policy::new(permissive);
    for script in ["$X", "eval x", "make", "python3 -c x", "x | sh", "PATH=x ls", "ls (", "ssh h"] {
        assert_eq!(policy.check(script, &context()).decision, Decision::Forbid, "{script}");
    }
}

/// Not asserted: a number for those who change the analysis. `cargo test --release -- --nocapture`.
#[test]
fn how_long_a_decision_takes() {
    let policy = policy(Defaults::careful());
    let cases: Vec<_> = cases().collect();
    let started = Instant::now();
    for case in &cases {
        std::hint::black_box(policy.check(&case.script, &context()));
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

    /// A forbidden command stays so with anything after it.
    #[test]
    fn adding_text_never_turns_forbid_into_allow(
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

    /// Nor with a command before it, or with another word somewhere in it.
    #[test]
    fn text_before_or_inside_does_not_either(
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
        // Before a construct, an assignment or a redirection is an error to the shell.
        let verdict = policy.check(&longer, &context());
        prop_assert_ne!(verdict.decision, Decision::Allow, "{}", longer);
        let longer = format!("{script} {word}");
        if !script.contains(['\n', '#', '(']) {
            let verdict = policy.check(&longer, &context());
            prop_assert_ne!(verdict.decision, Decision::Allow, "{}", longer);
        }
    }

    #[test]
    fn any_text_gets_a_decision(script in fragment()) {
        let verdict = policy(Defaults::careful()).check(&script, &context());
        let strictest = verdict.parts.iter().map(|part| part.decision).max();
        prop_assert_eq!(verdict.decision, strictest.unwrap_or(Decision::Allow));
    }
}

/// Texts that were too odd once.
#[test]
fn odd_texts_get_a_decision() {
    let policy = policy(Defaults::careful());
    for script in ["a=(1 $\u{31e}\u{6e6}ce", "x=$é; echo $((x))", "x=1$\u{10FFFF}; let x"] {
        assert!(policy.check(script, &context()).decision > Decision::Allow, "{script}");
    }
}
