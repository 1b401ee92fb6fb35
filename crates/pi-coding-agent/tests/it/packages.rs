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
    options.session = SessionSelector::InMemory;
    options.custom_model = Some(CustomModel::new(Arc::new(Faux::new()), Arc::new(Faux::model())));
    let created = create_agent_session(options).await.unwrap();
    let commands = created.runtime.session().commands();
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["review", "skill:greet"]);
    let messages: Vec<String> = created.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("npm:missing is not installed"), "{messages:?}");
}
