//! The list of packages in the settings.

use pi_config::SettingsScope::User;
use serde_json::json;

use crate::env::TestEnv;

#[tokio::test]
async fn entries_of_other_programs_stay() {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    let mut manager = env.manager();
    // Another program adds a package meanwhile.
    env.settings(&json!({"unknown": {"a": 1}, "packages": ["npm:other"]}));
    manager.install("npm:pk", User).await.unwrap();
    let expected = json!({"unknown": {"a": 1}, "packages": ["npm:other", "npm:pk"]});
    assert_eq!(env.json("agent/settings.json"), expected);
}

#[tokio::test]
async fn invalid_names_are_refused_before_anything_happens() {
    let env = TestEnv::new();
    for source in ["npm:", "npm:../x", "npm:--prefix=/", "npm:@x"] {
        let error = env.manager().install(source, User).await.unwrap_err();
        assert!(error.to_string().contains("not a valid npm package name"), "{error}");
    }
    assert_eq!(env.tree("agent"), [] as [String; 0]);
}

#[tokio::test]
async fn a_package_is_listed_with_its_place() {
    let env = TestEnv::new();
    let filtered = json!({"source": "git:github.com/u/r", "skills": []});
    env.settings(&json!({"packages": ["npm:pk", filtered, "npm:../bad"]}));
    let listed = env.manager().configured();
    let rows: Vec<_> = listed
        .iter()
        .map(|one| (one.source.as_str(), one.is_filtered, one.location.is_ok()))
        .collect();
    assert_eq!(
        rows,
        [("npm:pk", false, true), ("git:github.com/u/r", true, true), ("npm:../bad", false, false)]
    );
    assert_eq!(listed[1].directory, env.path("agent/git/github.com/u/r"));
}
