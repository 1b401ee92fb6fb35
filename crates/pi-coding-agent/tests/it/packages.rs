//! Resources of installed packages.

use std::sync::Arc;

use pi_ai::faux::Faux;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, create_agent_session,
};

#[tokio::test]
async fn installed_packages_are_used_and_missing_ones_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (project, agent) = (directory.path().join("project"), directory.path().join("agent"));
    let package = agent.join("npm/node_modules/@me/pack");
    std::fs::create_dir_all(package.join("skills/greet")).unwrap();
    std::fs::create_dir_all(package.join("prompts")).unwrap();
    std::fs::create_dir_all(&project).unwrap();
    let skill = "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n";
    std::fs::write(package.join("skills/greet/SKILL.md"), skill).unwrap();
    std::fs::write(package.join("prompts/review.md"), "Review $1.\n").unwrap();
    let settings = r#"{"packages": ["npm:@me/pack@1.0.0", "npm:missing"]}"#;
    std::fs::write(agent.join("settings.json"), settings).unwrap();
    let mut options = AgentOptions::new(Environment::new(&project, &agent));
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(Faux::new()), Arc::new(Faux::model())));
    let created = create_agent_session(options).await.unwrap();
    let commands = created.runtime.session().commands();
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["review", "skill:greet"]);
    let messages: Vec<String> = created.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("npm:missing is not installed"), "{messages:?}");
}

#[tokio::test]
async fn a_project_changes_the_selection_of_a_package_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let (project, agent) = (directory.path().join("project"), directory.path().join("agent"));
    let package = agent.join("npm/node_modules/pack");
    std::fs::create_dir_all(package.join("prompts")).unwrap();
    std::fs::create_dir_all(project.join(".pi")).unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(package.join(format!("prompts/{name}.md")), "Do.\n").unwrap();
    }
    for (user, delta, expected) in [
        (r#""npm:pack""#, r#"["-prompts/a.md"]"#, &["b", "c"][..]),
        (r#"{"source": "npm:pack", "prompts": ["-prompts/c.md"]}"#, r#"["-prompts/a.md"]"#, &["b"]),
        (r#"{"source": "npm:pack", "prompts": []}"#, r#"["+prompts/a.md"]"#, &["a"]),
        (r#""npm:pack""#, "[]", &["a", "b", "c"]),
    ] {
        std::fs::write(agent.join("settings.json"), format!(r#"{{"packages": [{user}]}}"#))
            .unwrap();
        let own = format!(
            r#"{{"packages": [{{"source": "npm:pack@1", "autoload": false, "prompts": {delta}}}]}}"#
        );
        std::fs::write(project.join(".pi/settings.json"), own).unwrap();
        let mut options = AgentOptions::new(Environment::new(&project, &agent));
        options.session.selector = SessionSelector::InMemory;
        options.project.set_approval(Some(true));
        let model = CustomModel::new(Arc::new(Faux::new()), Arc::new(Faux::model()));
        options.model.custom = Some(model);
        let created = create_agent_session(options).await.unwrap();
        let commands = created.runtime.session().commands();
        let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, expected, "{user} {delta}");
        assert!(created.diagnostics.is_empty(), "{:?}", created.diagnostics);
    }
}
