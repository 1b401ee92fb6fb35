//! Broken files: each is reported with advice, and the rest still loads.

use std::fmt::Write as _;

use pi_config::Severity;
use pi_config::resources::Resources;

use crate::env::{TestEnv, link};

fn messages(resources: &Resources, env: &TestEnv) -> Vec<String> {
    resources.diagnostics.iter().map(|problem| env.placeholder(&problem.to_string())).collect()
}

#[test]
fn problems_of_a_skill_are_reported() {
    let long = "x".repeat(65);
    let cases: [(&str, &[&str]); 8] = [
        ("name: ok\ndescription: fine", &[]),
        (
            "name: a\ndescription: Use when: asked",
            &["line 3, column", "needs quotes", "this skill is ignored"],
        ),
        ("name: a\nname: b\ndescription: d", &["line 3, column 1", "duplicate key `name`"]),
        ("name: a\ndescription: 5", &["it has no description; add `description: …`"]),
        ("name: -A--b\ndescription: d", &["may only have", "starts or ends", "two hyphens"]),
        (&format!("name: {long}\ndescription: d"), &["has 65 characters, more than 64"]),
        (
            &format!("description: {}", "d".repeat(1025)),
            &["the description has 1025 characters; keep it within 1024"],
        ),
        ("name: a\n...\ndescription: d", &["line 4, column 1", "a second document", "ignored"]),
    ];
    for (yaml, expected) in cases {
        let env = TestEnv::new();
        env.write("home/.pi/agent/skills/ok/SKILL.md", format!("---\n{yaml}\n---\nbody"));
        let reported = messages(&Resources::load(&env.options()), &env).join("\n");
        assert_eq!(reported.is_empty(), expected.is_empty(), "{yaml}: {reported}");
        for part in expected {
            assert!(reported.contains(part), "{yaml}: {reported}");
        }
    }
}

#[test]
fn a_duplicate_name_is_reported_with_the_other_file() {
    let env = TestEnv::new();
    env.write("home/.pi/agent/prompts/p.md", "user");
    env.write("home/proj/.pi/prompts/p.md", "project");
    let resources = Resources::load(&env.options());
    assert_eq!(
        messages(&resources, &env),
        ["$ROOT/home/.pi/agent/prompts/p.md: the name \"p\" is already used by \
          $ROOT/home/proj/.pi/prompts/p.md, so this one is ignored; rename one of them"]
    );
    assert_eq!(resources.prompts[0].description, "project");
}

#[test]
fn missing_files_of_settings_and_flags_are_reported() {
    let env = TestEnv::new();
    env.write("home/note.txt", "x");
    env.write("home/plain.md", "no front matter");
    let mut options = env.options();
    options.user.skills = vec!["gone".to_owned(), "![".to_owned()];
    options.flags.skills = vec!["~/note.txt".to_owned(), "~/plain.md".to_owned()];
    options.flags.prompts = vec!["../gone.md".to_owned()];
    let resources = Resources::load(&options);
    let severities: Vec<Severity> = resources.diagnostics.iter().map(|p| p.severity).collect();
    let reported = messages(&resources, &env);
    let expected = [
        "invalid pattern `![` in the settings",
        "$ROOT/home/.pi/agent/gone: the skill `gone` of the settings is ignored: no such file",
        "$ROOT/home/note.txt: the skill `~/note.txt` cannot be loaded: not a Markdown file",
        "$ROOT/home/plain.md: this skill is ignored: it has no description",
        "the prompt template `../gone.md` cannot be loaded: no such file or directory",
    ];
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    for (reported, expected) in reported.iter().zip(expected) {
        assert!(reported.contains(expected), "{reported}");
    }
    use Severity::{Error, Warning};
    assert_eq!(severities, [Warning, Warning, Error, Warning, Error]);
}

#[test]
fn invalid_utf8_in_instructions_is_replaced_and_reported() {
    let env = TestEnv::new();
    env.write("home/proj/AGENTS.md", b"one\ntwo \xff\nthree");
    env.write("home/proj/.pi/SYSTEM.md", b"\xffsystem");
    let resources = Resources::load(&env.options());
    assert_eq!(resources.context_files[0].content, "one\ntwo \u{fffd}\nthree");
    assert_eq!(resources.system_prompt.as_ref().unwrap().text, "\u{fffd}system");
    let reported = messages(&resources, &env);
    let (first, second) = (&reported[0], &reported[1]);
    let start = "$ROOT/home/proj/AGENTS.md: this file is not UTF-8 (first at line 2)";
    assert!(first.starts_with(start), "{first}");
    assert!(
        second.starts_with("$ROOT/home/proj/.pi/SYSTEM.md: this file is not UTF-8"),
        "{second}"
    );
    assert_eq!(reported.len(), 2);
}

/// The file can be opened but not read, even by root.
#[cfg(target_os = "linux")]
#[test]
fn unreadable_files_are_reported() {
    let env = TestEnv::new();
    for name in ["AGENTS.md", ".pi/SYSTEM.md", ".pi/skills/s/SKILL.md", ".pi/prompts/p.md"] {
        link("/proc/self/mem", &env.path("home/proj").join(name));
    }
    env.write("home/AGENTS.md", "still here");
    let resources = Resources::load(&env.options());
    let reported = messages(&resources, &env);
    let expected = [
        "$ROOT/home/proj/AGENTS.md: these instructions are ignored",
        "$ROOT/home/proj/.pi/skills/s/SKILL.md: this skill cannot be read",
        "$ROOT/home/proj/.pi/prompts/p.md: this prompt template is ignored: it cannot be read",
        "$ROOT/home/proj/.pi/SYSTEM.md: this part of the system prompt cannot be read",
    ];
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    for (reported, expected) in reported.iter().zip(expected) {
        assert!(reported.starts_with(expected), "{reported}");
    }
    assert_eq!(resources.context_files.len(), 1);
}

#[test]
fn circular_links_are_followed_once() {
    let env = TestEnv::new();
    let skill = "---\ndescription: d\n---\n";
    env.write("home/.pi/agent/skills/group/deep/one/SKILL.md", skill);
    env.write("home/.pi/agent/skills/two/SKILL.md", skill);
    for (name, target) in [("a", ".."), ("b", "../.."), ("z", "../../skills"), ("self", "self")] {
        link(target, &env.path("home/.pi/agent/skills/group").join(name));
        link(target, &env.path("home/.pi/agent/skills/group/deep").join(name));
    }
    link(".", &env.path("home/.pi/agent/prompts"));
    let mut options = env.options();
    options.user.prompts = vec!["skills".to_owned()];
    let resources = Resources::load(&options);
    let mut names: Vec<&str> = resources.skills.iter().map(|s| s.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["one", "two"]);
}

/// Blocks that are long, deep or never closed are read once and break nothing.
#[test]
fn hostile_front_matter_is_harmless() {
    let deep_flow = format!("a: {}", "[".repeat(100_000));
    let mut deep_block = String::new();
    for level in 0..500 {
        let _ = writeln!(deep_block, "{}k:", " ".repeat(level));
    }
    let filler = "x".repeat(20_000);
    let cases = [
        (format!("---\n{deep_flow}\n---\n"), false),
        (format!("---\nfill: {filler}\ndescription: after\n---\n"), true),
        (format!("---\n{deep_block}\n---\n"), false),
        (format!("---\ndescription: d\n{filler}"), false),
        (format!("---\ndescription: d\n---\n{}", "y".repeat(3_000_000)), true),
        ("---\n? {a: [b]}\n: {c: d}\ndescription: d\n---\n".to_owned(), true),
        ("---\n- description: d\n---\n".to_owned(), false),
        ("---\nx: &a d\ndescription: *a\n---\n".to_owned(), true),
        ("---\ndescription: *none\n---\n".to_owned(), false),
        ("---\n\u{0}\u{1}\n---\n".to_owned(), false),
        ("---\ndescription: \"é".to_owned() + &"ü".repeat(5000) + "\"\n---\n", true),
    ];
    for (text, loads) in cases {
        let env = TestEnv::new();
        env.write("home/.pi/agent/skills/s/SKILL.md", &text);
        let resources = Resources::load(&env.options());
        let start: String = text.chars().take(60).collect();
        assert_eq!(resources.skills.len(), usize::from(loads), "{start}");
        assert!(loads || !resources.diagnostics.is_empty(), "{start}");
    }
}

#[test]
fn missing_directories_are_not_reported() {
    let env = TestEnv::new();
    let mut options = env.options();
    options.environment.home = None;
    options.environment.cwd = env.path("gone");
    options.environment.agent_directory = env.path("gone too");
    let resources = Resources::load(&options);
    assert_eq!(resources.diagnostics, []);
    assert!(resources.skills.is_empty() && resources.context_files.is_empty());
}
