//! Files as they are found in the wild: broken, endless, not text. Each is reported, with what to
//! do, and the rest still loads.

use std::fmt::Write as _;

use pi_coding_agent::Severity;
use pi_coding_agent::resources::Resources;

use crate::env::{TestEnv, link};

fn messages(resources: &Resources, env: &TestEnv) -> Vec<String> {
    resources.diagnostics.iter().map(|problem| env.placeholder(&problem.to_string())).collect()
}

/// What is said about one skill, by what its file has.
#[test]
fn says_what_is_wrong_with_a_skill() {
    let long = "x".repeat(65);
    let cases: [(&str, &[&str]); 8] = [
        ("name: ok\ndescription: fine", &[]),
        (
            "name: a\ndescription: Use when: asked",
            &["line 3, column", "needs quotes", "this skill is not used"],
        ),
        ("name: a\nname: b\ndescription: d", &["line 3, column 1", "`name` is there twice"]),
        ("name: a\ndescription: 5", &["it has no description; add `description: …`"]),
        ("name: -A--b\ndescription: d", &["may only have", "starts or ends", "two hyphens"]),
        (&format!("name: {long}\ndescription: d"), &["has 65 characters, more than 64"]),
        (
            &format!("description: {}", "d".repeat(1025)),
            &["the description has 1025 characters; keep it within 1024"],
        ),
        ("name: a\n...\ndescription: d", &["line 4, column 1", "a second document", "not used"]),
    ];
    for (yaml, expected) in cases {
        let env = TestEnv::new();
        env.write("home/.pi/agent/skills/ok/SKILL.md", format!("---\n{yaml}\n---\nbody"));
        let said = messages(&Resources::load(&env.options()), &env).join("\n");
        assert_eq!(said.is_empty(), expected.is_empty(), "{yaml}: {said}");
        for part in expected {
            assert!(said.contains(part), "{yaml}: {said}");
        }
    }
}

#[test]
fn a_name_that_is_taken_says_by_what() {
    let env = TestEnv::new();
    env.write("home/.pi/agent/prompts/p.md", "user");
    env.write("home/proj/.pi/prompts/p.md", "project");
    let resources = Resources::load(&env.options());
    assert_eq!(
        messages(&resources, &env),
        ["$ROOT/home/.pi/agent/prompts/p.md: the name \"p\" is taken by \
          $ROOT/home/proj/.pi/prompts/p.md, so this one is not used; rename one of them"]
    );
    assert_eq!(resources.prompts[0].description, "project");
}

#[test]
fn what_was_named_and_is_missing_is_said() {
    let env = TestEnv::new();
    env.write("home/note.txt", "x");
    env.write("home/plain.md", "no front matter");
    let mut options = env.options();
    options.user.skills = vec!["gone".to_owned(), "![".to_owned()];
    options.flags.skills = vec!["~/note.txt".to_owned(), "~/plain.md".to_owned()];
    options.flags.prompts = vec!["../gone.md".to_owned()];
    let resources = Resources::load(&options);
    let severities: Vec<Severity> = resources.diagnostics.iter().map(|p| p.severity).collect();
    let said = messages(&resources, &env);
    let expected = [
        "the settings entry `![` is not a usable pattern",
        "$ROOT/home/.pi/agent/gone: the settings name the skill `gone`, but there is no such file",
        "$ROOT/home/note.txt: the skill `~/note.txt` is not used: it is not a Markdown file",
        "$ROOT/home/plain.md: this skill is not used: it has no description",
        "the prompt template `../gone.md` is not used: there is no such file or directory",
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said}");
    }
    use Severity::{Error, Warning};
    assert_eq!(severities, [Warning, Warning, Error, Warning, Error]);
}

#[test]
fn instructions_that_are_not_text_are_used_as_far_as_they_are() {
    let env = TestEnv::new();
    env.write("home/proj/AGENTS.md", b"one\ntwo \xff\nthree");
    env.write("home/proj/.pi/SYSTEM.md", b"\xffsystem");
    let resources = Resources::load(&env.options());
    assert_eq!(resources.context_files[0].content, "one\ntwo \u{fffd}\nthree");
    assert_eq!(resources.system_prompt.as_ref().unwrap().text, "\u{fffd}system");
    let said = messages(&resources, &env);
    let (first, second) = (&said[0], &said[1]);
    let start = "$ROOT/home/proj/AGENTS.md: this file is not UTF-8 (first at line 2)";
    assert!(first.starts_with(start), "{first}");
    assert!(
        second.starts_with("$ROOT/home/proj/.pi/SYSTEM.md: this file is not UTF-8"),
        "{second}"
    );
    assert_eq!(said.len(), 2);
}

/// A file that opens and cannot be read, also by root.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_read_is_said() {
    let env = TestEnv::new();
    for name in ["AGENTS.md", ".pi/SYSTEM.md", ".pi/skills/s/SKILL.md", ".pi/prompts/p.md"] {
        link("/proc/self/mem", &env.path("home/proj").join(name));
    }
    env.write("home/AGENTS.md", "still here");
    let resources = Resources::load(&env.options());
    let said = messages(&resources, &env);
    let expected = [
        "$ROOT/home/proj/AGENTS.md: these instructions are not used",
        "$ROOT/home/proj/.pi/skills/s/SKILL.md: this skill cannot be read",
        "$ROOT/home/proj/.pi/prompts/p.md: this prompt template is not used: it cannot be read",
        "$ROOT/home/proj/.pi/SYSTEM.md: this part of the system prompt cannot be read",
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(resources.context_files.len(), 1);
}

#[test]
fn links_in_circles_end() {
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

/// Blocks that are long, deep or never end cost what they cost once and break nothing.
#[test]
fn hostile_front_matter() {
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
        ("---\nx: &a d\ndescription: *a\n---\n".to_owned(), false),
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
fn nothing_there_is_nothing_wrong() {
    let env = TestEnv::new();
    let mut options = env.options();
    options.environment.home = None;
    options.environment.cwd = env.path("gone");
    options.environment.agent_directory = env.path("gone too");
    let resources = Resources::load(&options);
    assert_eq!(resources.diagnostics, []);
    assert!(resources.skills.is_empty() && resources.context_files.is_empty());
}
