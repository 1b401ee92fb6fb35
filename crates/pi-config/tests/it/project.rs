//! An opened project: what is read when, and who decides about trust.

use pi_config::{Project, Trust};
use serde_json::json;

use crate::env::TestEnv;

const SETTINGS: &str = ".pi/settings.json";

/// A project with a setting of its own, and a user with another one.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("home/.pi/agent/settings.json", r#"{"shellPath": "/bin/user", "theme": "light"}"#);
    env.write(&format!("home/proj/{SETTINGS}"), r#"{"shellPath": "/bin/project"}"#);
    env
}

fn shell(project: &Project) -> Option<&str> {
    project.settings().shell_path.as_deref()
}

#[test]
fn decisions_apply_without_reading_the_files_again() {
    let env = env();
    let mut project = Project::open(env.environment("home/proj"));
    assert_eq!((project.trust(), shell(&project)), (Trust::Ask, Some("/bin/user")));
    assert!(project.is_trust_open());
    env.write(&format!("home/proj/{SETTINGS}"), r#"{"shellPath": "/bin/later"}"#);
    project.set_extension_decision(Some(true));
    assert_eq!((project.trust(), shell(&project)), (Trust::Trusted, Some("/bin/project")));
    project.set_approval(Some(false));
    assert_eq!((project.trust(), shell(&project)), (Trust::Untrusted, Some("/bin/user")));
    assert!(!project.is_trust_open(), "the program has decided");
    project.set_approval(None);
    assert_eq!(shell(&project), Some("/bin/project"));
    assert_eq!(shell(&project.reopened()), Some("/bin/later"), "the decision stays");
}

#[test]
fn overrides_take_precedence_and_survive_another_directory() {
    let env = env();
    let mut project = Project::open(env.environment("home/proj"));
    let original = project.clone();
    project.change_overrides(|all| all.insert("shellPath".to_owned(), json!("/bin/option")));
    assert_eq!((shell(&project), shell(&original)), (Some("/bin/option"), Some("/bin/user")));
    let other = project.in_directory(&env.environment("home/other").cwd);
    assert_eq!(shell(&other), Some("/bin/option"));
    assert!(other.is_trusted(), "a directory without files needs no trust");
}

#[test]
fn the_same_directory_is_not_read_again() {
    let env = env();
    let project = Project::open(env.environment("home/proj"));
    env.write("home/.pi/agent/settings.json", r#"{"shellPath": "/bin/later"}"#);
    assert_eq!(shell(&project.in_directory(&project.environment().cwd)), Some("/bin/user"));
}

#[test]
fn problems_of_all_files_are_kept() {
    let env = env();
    env.write("home/.pi/agent/settings.json", r#"{"shellPath": 7}"#);
    env.write("home/.pi/agent/trust.json", "{");
    let mut project = Project::open(env.environment("home/proj"));
    assert_eq!(project.trust_problems().len(), 1);
    assert_eq!(project.problems().len(), 2);
    env.write(&format!("home/proj/{SETTINGS}"), r#"{"theme": 7}"#);
    project = project.reopened();
    assert_eq!(project.problems().len(), 2, "the file of an untrusted project is not reported");
    project.set_approval(Some(true));
    assert_eq!(project.problems().len(), 3);
}
