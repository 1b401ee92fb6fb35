//! Expanding commands to skills and templates.

use std::fs;

use pi_config::resources::Resources;
use serde::Deserialize;
use serde_json::json;

use crate::env::TestEnv;

#[derive(Deserialize)]
struct Line {
    line: String,
    text: String,
    /// Intended difference: the name of a skill ends at any white space, as that of a template does.
    ours: Option<String>,
}

/// Writes the files with which the lines were observed.
fn observed_files(env: &TestEnv) {
    let agent = |name: &str| format!("home/.pi/agent/{name}");
    let skill = "---\nname: sk\ndescription: a <b> & \"c\" 'd'\n---\n\n# Head\n\nbody <x> & y\n\n";
    env.write(&agent("skills/sk/SKILL.md"), skill);
    let hidden = "---\nname: hid\ndescription: hidden\ndisable-model-invocation: true\n---\n";
    env.write(&agent("skills/hid/SKILL.md"), hidden);
    let template = "---\ndescription: d\nargument-hint: \"<x>\"\n---\n\nHello $1\n\n";
    env.write(&agent("prompts/fm.md"), template);
    env.write(&agent("prompts/b c.md"), "BC [$1]");
    env.write(&agent("prompts/hello.md"), "\n\n[$1]");
}

#[test]
fn commands_are_expanded_as_by_pi() {
    let env = TestEnv::new();
    observed_files(&env);
    let resources = Resources::load(&env.options());
    assert_eq!(resources.diagnostics, []);
    for line in include_str!("../fixtures/resources/commands.jsonl").lines() {
        let case: Line = serde_json::from_str(line).unwrap();
        let expanded = resources.expand(&case.line).unwrap();
        let text = expanded.map_or(case.line.clone(), |expanded| expanded.text);
        assert_eq!(env.placeholder(&text), case.ours.unwrap_or(case.text), "{line}");
    }
}

#[test]
fn commands_are_listed_for_rpc() {
    let env = TestEnv::new();
    observed_files(&env);
    let commands = Resources::load(&env.options()).commands();
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["b c", "fm", "hello", "skill:hid", "skill:sk"]);
    let text = serde_json::to_string(&commands[4]).unwrap();
    let expected = json!({
        "name": "skill:sk", "description": "a <b> & \"c\" 'd'", "source": "skill",
        "sourceInfo": {
            "path": "$ROOT/home/.pi/agent/skills/sk/SKILL.md", "source": "auto", "scope": "user",
            "origin": "top-level", "baseDir": "$ROOT/home/.pi/agent"
        }
    });
    assert_eq!(env.placeholder(&text), expected.to_string());
}

#[test]
fn bodies_are_read_when_they_are_used() {
    let env = TestEnv::new();
    let skill = env.write("home/.pi/agent/skills/s/SKILL.md", "---\ndescription: d\n---\nold");
    let prompt = env.write("home/.pi/agent/prompts/p.md", "old");
    let resources = Resources::load(&env.options());
    fs::write(&skill, "\u{feff}---\r\ndescription: d\r\n---\r\nnew\r\nbody\r\n").unwrap();
    fs::write(&prompt, b"new \xff $1").unwrap();
    let text = |line: &str| resources.expand(line).unwrap().unwrap().text;
    assert!(text("/skill:s").ends_with("\n\nnew\nbody\n</skill>"), "{}", text("/skill:s"));
    assert_eq!(text("/p x"), "new \u{fffd} x");

    fs::remove_file(&skill).unwrap();
    let error = resources.expand("/skill:s").unwrap_err().to_string();
    assert!(error.starts_with("/skill:s cannot be used: "), "{error}");
    assert!(error.contains("SKILL.md") && error.ends_with("restore the file or reload"), "{error}");
}
