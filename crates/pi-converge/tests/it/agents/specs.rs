//! Specs: formats, inheritance, pruning, problems with their places.

use pi_converge::agents::{AgentLibrary, AgentSet, HandoffContext, SandboxRestriction};

use super::{AgentEnv, fixture};

fn load_fixture(name: &str) -> AgentSet {
    AgentLibrary::default().load_file(&fixture(name)).unwrap()
}

#[test]
fn agents_of_kimi_are_read() {
    let set = load_fixture("kimi/agent.yaml");
    let root = set.root().unwrap();
    let tools = ["task", "bash", "read", "find", "grep", "write", "edit"];
    assert_eq!(root.tools.as_deref().unwrap(), tools);
    assert_eq!(root.subagents.keys().collect::<Vec<_>>(), ["coder", "explore"]);
    assert!(root.can_delegate());
    let of = |name: &str| set.spec(&root.subagents[name].file).unwrap();
    let coder = of("coder");
    assert_eq!(coder.name, "coder");
    assert_eq!(coder.tools.as_deref().unwrap(), &tools[1..]);
    assert!(!coder.can_delegate(), "the tool is excluded");
    assert!(coder.prompt.as_ref().unwrap().variables["ROLE_ADDITIONAL"].contains("another agent"));
    let explore = of("explore");
    assert_eq!(explore.tools.as_deref().unwrap(), ["bash", "read", "find", "grep"]);
    assert!(explore.subagents.is_empty(), "an empty mapping replaces the inherited one");
    assert!(set.warnings().is_empty(), "{:?}", set.warnings());
}

#[test]
fn agents_of_claude_are_read() {
    let set = load_fixture("claude/reviewer.md");
    let root = set.root().unwrap();
    assert_eq!(root.name, "code-reviewer");
    assert_eq!(root.tools.as_deref().unwrap(), ["read", "grep", "find", "bash"]);
    assert_eq!(root.model, None, "`inherit` is the model of the parent");
    assert!(root.prompt.as_ref().unwrap().text.starts_with("You review changes."));
    let warnings: Vec<String> = set
        .warnings()
        .iter()
        .map(|warning| warning.to_string().rsplit_once('/').unwrap().1.to_owned())
        .collect();
    assert_eq!(
        warnings,
        [
            "reviewer.md:6:1: color: this field has no effect here",
            "reviewer.md:4:1: tools: TodoWrite has no counterpart here and is left out",
        ]
    );
    let set = load_fixture("claude/writer.md");
    let writer = set.root().unwrap();
    assert_eq!(writer.tools, None);
    assert_eq!(writer.exclude_tools, ["bash"]);
    assert_eq!(writer.model.as_deref(), Some("sonnet"));
}

#[test]
fn absent_fields_are_inherited_and_lists_replaced() {
    let env = AgentEnv::new();
    env.write(
        "specs/base.yaml",
        "name: base\ndescription: Base\nsystem_prompt: 'Hello ${WHO}, ${HOW}'\n\
         variables: {WHO: you, HOW: well}\nmodel: a/b\nthinking: low\ntools: [read, bash, edit]\n\
         exclude_tools: [edit]\npolicy: {sandbox: read-only, hidden: [secret]}\n\
         limits: {turns: 3}\nmax_depth: 1\noutput: {min_length: 5}\n",
    );
    env.write(
        "specs/child.yaml",
        "extends: ./base.yaml\nvariables: {WHO: me}\ntools: [read, edit, grep]\n\
         policy: {sandbox: workspace-write, network: off, hidden: [other]}\n",
    );
    let set = env.load("child.yaml").unwrap();
    let spec = set.root().unwrap();
    assert_eq!(spec.name, "child", "a name is not inherited");
    assert_eq!(spec.description.as_deref(), Some("Base"));
    let prompt = spec.prompt.as_ref().unwrap();
    assert_eq!(prompt.text, "Hello ${WHO}, ${HOW}");
    assert_eq!(
        (prompt.variables["WHO"].as_str(), prompt.variables["HOW"].as_str()),
        ("me", "well")
    );
    assert_eq!(spec.model.as_deref(), Some("a/b"));
    assert_eq!(spec.tools.as_deref().unwrap(), ["read", "grep"], "the base excludes edit");
    assert_eq!(spec.policy.sandbox, Some(SandboxRestriction::ReadOnly), "policies only tighten");
    assert_eq!(spec.policy.hidden, ["secret", "other"]);
    assert!(spec.policy.network.is_some());
    assert_eq!(spec.limits.as_ref().unwrap().turns, Some(3));
    assert_eq!((spec.max_depth, spec.min_length), (1, Some(5)));
}

#[test]
fn specs_are_found_by_name_and_by_file() {
    let env = AgentEnv::new();
    env.write("installed/a.yaml", "name: Alpha\n");
    env.write("installed/b.md", "---\ndescription: B\n---\nBe b.\n");
    env.write("specs/own.yaml", "subagents: {a: Alpha, b: {path: b, description: Mine}}\n");
    let set = env.load("own.yaml").unwrap();
    let own = set.root().unwrap();
    assert_eq!(own.subagents["a"].file, env.path("installed/a.yaml"));
    assert_eq!(own.subagents["b"].description, "Mine");
    let library = AgentLibrary::new(vec![env.path("installed")]);
    let names: Vec<String> = library.list().into_iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["Alpha", "b"]);
    assert_eq!(env.load("b").unwrap().root().unwrap().description.as_deref(), Some("B"));
}

#[test]
fn agents_can_refer_to_each_other() {
    let env = AgentEnv::new();
    env.write(
        "specs/a.yaml",
        "subagents: {b: ./b.yaml}\nhandoffs: {b: {path: ./b.yaml, context: last, last: 3}}\n",
    );
    env.write("specs/b.yaml", "description: The other\nsubagents: {a: ./a.yaml}\n");
    let set = env.load("a.yaml").unwrap();
    assert_eq!(set.specs().count(), 2);
    let handoff = &set.root().unwrap().handoffs["b"];
    assert_eq!((handoff.context, handoff.last), (HandoffContext::Last, 3));
    assert_eq!(handoff.description, "The other", "the description of the spec is the default");
}

#[test]
fn problems_name_the_file_and_the_line() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "tools.yaml",
            "version: 1\nagent:\n  tools:\n    - kimi_cli.tools.shell:Shell\n    - kimi_cli.tools.web:FetchURL\n",
            "tools.yaml:5:7: agent.tools[1]: unknown tool kimi_cli.tools.web:FetchURL: this tool does not exist here; remove it or exclude it",
        ),
        (
            "pattern.yaml",
            "tools: ['Bash(git:*)']\n",
            "pattern.yaml:1:9: tools[0]: unknown tool Bash(git:*): patterns for arguments are not supported; name the tool, and restrict it with a rule file",
        ),
        (
            "field.yaml",
            "name: x\nmodle: y\n",
            "field.yaml:2:1: modle: unknown field; did you mean `model`?",
        ),
        (
            "type.yaml",
            "limits:\n  turns: many\n",
            "type.yaml:2:3: limits.turns: expected a whole number",
        ),
        (
            "version.yaml",
            "version: 2\n",
            "version.yaml:1:1: version: unsupported version; expected 1",
        ),
        (
            "prompts.yaml",
            "system_prompt: a\nsystem_prompt_path: b\n",
            "prompts.yaml:2:1: system_prompt_path: the system prompt is given twice; keep one of `system_prompt`, `system_prompt_path` and the text below the front matter",
        ),
        (
            "base.yaml",
            "name: x\nextends: ./none.yaml\n",
            "base.yaml:2:1: extends: there is no agent spec ./none.yaml",
        ),
        ("wider.yaml", "policy:\n  network: on\n", "wider.yaml:2:3: policy.network: "),
        (
            "level.yaml",
            "thinking: deep\n",
            "level.yaml:1:1: thinking: unknown thinking level \"deep\"",
        ),
        (
            "plain.md",
            "Just text.\n",
            "plain.md: an agent in Markdown begins with front matter between `---` lines",
        ),
        (
            "variable.md",
            "---\nname: v\n---\n\nFirst line.\nNow ${MISSING}.\n",
            "variable.md:6:1: unknown variable ${MISSING}; define it in `variables`",
        ),
        ("yaml.yaml", "name: [\n", "yaml.yaml:2:1: invalid YAML"),
        (
            "sub.yaml",
            "subagents:\n  a: ghost\n",
            "sub.yaml:2:3: subagents.a: there is no agent named ghost, and none is installed",
        ),
    ];
    for (name, text, expected) in cases {
        let env = AgentEnv::new();
        env.write(&format!("specs/{name}"), text);
        let problems = env.problems(name);
        assert!(problems.starts_with(expected), "{name}:\n{problems}\nexpected:\n{expected}");
    }
}

#[test]
fn excluded_tools_of_others_need_no_counterpart() {
    let env = AgentEnv::new();
    env.write(
        "specs/a.yaml",
        "version: 1\nagent:\n  extend: default\n  tools: ['kimi_cli.tools.web:FetchURL', 'kimi_cli.tools.file:ReadFile']\n  exclude_tools: ['kimi_cli.tools.web:FetchURL']\n",
    );
    let set = env.load("a.yaml").unwrap();
    assert_eq!(set.root().unwrap().tools.as_deref().unwrap(), ["read"]);
}

#[test]
fn a_cycle_of_inheritance_is_shown() {
    let env = AgentEnv::new();
    env.write("specs/a.yaml", "extends: ./b.yaml\n");
    env.write("specs/b.yaml", "extends: ./c.yaml\n");
    env.write("specs/c.yaml", "name: c\nextends: ./a.yaml\n");
    assert_eq!(
        env.problems("a.yaml"),
        "c.yaml:2:1: extends: the specs extend each other: a.yaml → b.yaml → c.yaml → a.yaml"
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let env = AgentEnv::new();
    env.write("specs/a.yaml", "thinking: deep\nsubagents: {b: ./b.yaml, c: ./c.yaml}\n");
    env.write("specs/b.yaml", "modell: x\n");
    let problems = env.problems("a.yaml");
    assert_eq!(problems.lines().count(), 2, "{problems}");
    env.write("specs/a.yaml", "subagents: {b: ./b.yaml}\n");
    assert!(env.problems("a.yaml").starts_with("b.yaml:1:1: modell: unknown field"));
}
