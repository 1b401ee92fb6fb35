//! The assembled system prompt.

use pi_config::resources::{Resources, Section, SystemPromptOptions, ToolPrompt};
use serde_json::{Map, Value};

use crate::env::TestEnv;

/// Returns the options of a prompt of nothing but the defaults.
fn bare() -> SystemPromptOptions {
    SystemPromptOptions { cwd: "/work".into(), ..SystemPromptOptions::default() }
}

fn tool(name: &str, snippet: Option<&str>, guidelines: &[&str]) -> ToolPrompt {
    ToolPrompt {
        name: name.to_owned(),
        snippet: snippet.map(str::to_owned),
        guidelines: guidelines.iter().map(|&rule| rule.to_owned()).collect(),
    }
}

fn names(prompt: &Map<String, Value>) -> Vec<&str> {
    prompt.keys().map(String::as_str).collect()
}

fn text(prompt: &Map<String, Value>) -> String {
    prompt.values().map(|text| text.as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn the_whole_prompt() {
    let env = TestEnv::new();
    env.write("home/.pi/agent/AGENTS.md", "Prefer small <changes> & tests.\n\n");
    env.write("home/proj/CLAUDE.md", "Use `just test`.");
    env.write("home/AGENTS.md", "  \n");
    env.write("home/.pi/agent/APPEND_SYSTEM.md", "Speak French.\n");
    let skill = "---\ndescription: Makes <b> & \"c\" 'd'\n---\n";
    env.write("home/.pi/agent/skills/pdf/SKILL.md", skill);
    let hidden = "---\ndescription: d\ndisable-model-invocation: true\n---\n";
    env.write("home/.pi/agent/skills/hidden/SKILL.md", hidden);
    let options = env.options();
    let resources = Resources::load(&options);
    assert_eq!(resources.diagnostics, []);
    let mut input = bare();
    input.tools = vec![
        tool("read", Some("Read files"), &["Use read, not cat.", " Twice. "]),
        tool("bash", Some("Run commands"), &["Twice."]),
        tool("quiet", None, &[]),
    ];
    input.guidelines = vec!["Extra.".to_owned(), String::new()];
    input.append = resources.append_system_prompt.iter().map(|text| text.text.clone()).collect();
    input.context_files = resources.context_files.into();
    input.skills = resources.skills.into();
    input.cwd = options.environment.cwd;
    input.sections = vec![Section::new("mcp_servers", "- none yet").unwrap()];
    let prompt = input.build();
    insta::assert_snapshot!(env.placeholder(&text(&prompt)));
    let expected = [
        "preamble",
        "tools",
        "rules",
        "docs",
        "addendum",
        "project_context",
        "skills",
        "cwd",
        "mcp_servers",
    ];
    assert_eq!(names(&prompt), expected);
}

#[test]
fn empty_sections_are_left_out() {
    let env = TestEnv::new();
    env.write("home/.pi/agent/skills/s/SKILL.md", "---\ndescription: d\n---\n");
    let resources = Resources::load(&env.options());
    let [read, bash, power, grep] =
        ["read", "bash", "powershell", "grep"].map(|name| tool(name, Some("does"), &[]));
    // (custom prompt, tools, sections, contained texts, texts not contained)
    let cases: [(Option<&str>, &[ToolPrompt], &str, &[&str], &[&str]); 7] = [
        (None, &[], "preamble tools rules cwd", &["(none)"], &["pi --help"]),
        (None, &[read], "preamble tools rules skills cwd", &["with read before"], &["(none)"]),
        (
            None,
            std::slice::from_ref(&bash),
            "preamble tools rules docs skills cwd",
            &["with bash before", "List and search files with bash"],
            &[],
        ),
        (
            None,
            &[power],
            "preamble tools rules docs skills cwd",
            &["with powershell before", "files with powershell"],
            &[],
        ),
        (
            None,
            &[bash.clone(), grep],
            "preamble tools rules docs skills cwd",
            &[],
            &["List and search files"],
        ),
        (
            Some("I am Groot.\n"),
            std::slice::from_ref(&bash),
            "preamble skills cwd",
            &["I am Groot.\n\n<"],
            &["rules"],
        ),
        (Some(" "), &[], "preamble tools rules cwd", &["You are pi"], &[]),
    ];
    for (custom_prompt, tools, sections, contained, absent) in cases {
        let mut input = bare();
        input.custom_prompt = custom_prompt.map(str::to_owned);
        input.tools = tools.to_vec();
        input.skills = resources.skills.clone().into();
        let prompt = input.build();
        let text = text(&prompt);
        assert_eq!(names(&prompt).join(" "), sections, "{text}");
        for part in contained {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in absent {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn section_names_work_as_tags() {
    for name in ["a", "mcp_servers", "x-1"] {
        assert!(Section::new(name, "t").is_ok(), "{name}");
    }
    for name in ["", "A", "1a", "a b", "a>", "-a", "é", "preamble"] {
        let error = Section::new(name, "t").unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
    let mut input = bare();
    input.sections =
        vec![Section::new("cwd", "elsewhere").unwrap(), Section::new("empty", " \n").unwrap()];
    let prompt = input.build();
    assert_eq!(prompt["cwd"], "<cwd>\nelsewhere\n</cwd>");
    assert!(!prompt.contains_key("empty"));
}
