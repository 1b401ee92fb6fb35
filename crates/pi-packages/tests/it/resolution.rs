//! Dependencies: versions, places, optional and bundled ones.

use pi_config::SettingsScope::User;
use pi_packages::PackageError;
use serde_json::json;

use crate::archives::{Entry, archive};
use crate::env::TestEnv;
use crate::registry::package_json;

#[tokio::test]
async fn conflicts_are_nested_and_cycles_end() {
    let env = TestEnv::new();
    env.registry.publish("x", "1.0.0", json!({"dependencies": {"y": "*"}}));
    env.registry.publish("x", "2.0.0", json!({"dependencies": {"y": "*"}}));
    env.registry.publish("y", "1.0.0", json!({"dependencies": {"x": "1"}}));
    env.registry.publish("pk", "1.0.0", json!({"dependencies": {"x": "2", "y": "1"}}));
    env.manager().install("npm:pk", User).await.unwrap();
    assert_eq!(
        env.installed(),
        [
            "node_modules/pk pk@1.0.0",
            "node_modules/x x@2.0.0",
            "node_modules/y y@1.0.0",
            "node_modules/y/node_modules/x x@1.0.0",
        ]
    );
}

#[tokio::test]
async fn aliases_are_installed_under_their_own_name() {
    let env = TestEnv::new();
    env.registry.publish("real", "1.0.0", json!({}));
    env.registry.publish("real", "2.0.0", json!({}));
    let dependencies = json!({"old": "npm:real@1", "real": "^2.0.0"});
    env.registry.publish("pk", "1.0.0", json!({"dependencies": dependencies}));
    env.manager().install("npm:pk", User).await.unwrap();
    assert_eq!(
        env.installed(),
        ["node_modules/old real@1.0.0", "node_modules/pk pk@1.0.0", "node_modules/real real@2.0.0"]
    );
    let lock = env.json("agent/npm/package-lock.json");
    assert_eq!(lock["packages"]["node_modules/old"]["name"], "real");
}

#[tokio::test]
async fn optional_packages_may_fail() {
    let env = TestEnv::new();
    env.registry.publish("other-os", "1.0.0", json!({"os": ["plan9"]}));
    env.registry.publish("broken", "1.0.0", json!({"dependencies": {"missing": "1"}}));
    env.registry.publish("corrupt", "1.0.0", json!({}));
    env.registry.edit("corrupt", "1.0.0", |manifest| {
        manifest["dist"]["integrity"] = json!(format!("sha512-{}==", "A".repeat(86)));
    });
    env.registry.publish("fine", "1.0.0", json!({}));
    let optional = json!({
        "other-os": "1", "broken": "1", "corrupt": "1", "fine": "1", "absent": "1", "gone": "^9",
        "local": "file:../x",
    });
    let fields = json!({"optionalDependencies": optional, "peerDependencies": {"peer": "1"}});
    env.registry.publish("pk", "1.0.0", fields);
    env.manager().install("npm:pk", User).await.unwrap();
    assert_eq!(env.installed(), ["node_modules/fine fine@1.0.0", "node_modules/pk pk@1.0.0"]);
    let lock = env.json("agent/npm/package-lock.json");
    assert_eq!(lock["packages"]["node_modules/fine"]["optional"], true);
    assert!(lock["packages"].get("node_modules/corrupt").is_none());
}

#[tokio::test]
async fn required_packages_may_not_fail() {
    for (fields, expected) in [
        (json!({"dependencies": {"absent": "1"}}), "absent is not in the registry"),
        (json!({"dependencies": {"fine": "^9"}}), "fine has no version that fits \"^9\""),
        (
            json!({"dependencies": {"fine": "git+ssh://git@h/u/r"}}),
            "the dependency fine (git+ssh://",
        ),
        (json!({"dependencies": {"fine": "workspace:*"}}), "is not supported"),
        (json!({"dependencies": {"../../evil": "1"}}), "the dependency ../../evil (1) of pk"),
        (
            json!({"dependencies": {"other-os": "1"}}),
            "other-os@1.0.0 does not support this platform",
        ),
    ] {
        let env = TestEnv::new();
        env.registry.publish("fine", "1.0.0", json!({}));
        env.registry.publish("other-os", "1.0.0", json!({"os": ["plan9"]}));
        env.registry.publish("pk", "1.0.0", fields);
        let error = env.manager().install("npm:pk", User).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(env.installed(), [] as [String; 0]);
        assert!(!env.path("agent/settings.json").exists());
    }
}

#[tokio::test]
async fn packages_of_the_program_are_not_installed() {
    let env = TestEnv::new();
    let dependencies =
        json!({"@earendil-works/pi-tui": "*", "@mariozechner/pi-ai": "1", "typebox": "^1"});
    env.registry.publish("pk", "1.0.0", json!({"dependencies": dependencies}));
    env.manager().install("npm:pk", User).await.unwrap();
    assert_eq!(env.registry.seen_paths(), ["/pk", "/pk/-/pk-1.0.0.tgz"]);
}

#[tokio::test]
async fn bundled_packages_come_with_the_archive() {
    let env = TestEnv::new();
    let fields = json!({"dependencies": {"inner": "1"}, "bundledDependencies": ["inner"]});
    let package = package_json("pk", "1.0.0", fields);
    let inner = package_json("inner", "1.0.0", json!({}));
    let entries = [
        Entry::file("package/package.json", &package.to_string()),
        Entry::file("package/node_modules/inner/package.json", &inner.to_string()),
    ];
    env.registry.publish_archive(&package, archive(&entries));
    env.manager().install("npm:pk", User).await.unwrap();
    assert_eq!(
        env.installed(),
        ["node_modules/pk pk@1.0.0", "node_modules/pk/node_modules/inner inner@1.0.0"]
    );
    assert_eq!(env.registry.seen_paths(), ["/pk", "/pk/-/pk-1.0.0.tgz"]);
}

#[tokio::test]
async fn deprecated_versions_come_last() {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    env.registry.publish("pk", "1.1.0", json!({"deprecated": "broken"}));
    env.registry.publish("pk", "2.0.0", json!({}));
    env.manager().install("npm:pk@^1.0.0", User).await.unwrap();
    assert_eq!(env.installed(), ["node_modules/pk pk@1.0.0"]);
}

#[tokio::test]
async fn a_version_that_changed_is_refused() {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    env.manager().install("npm:pk", User).await.unwrap();
    let before = env.read("agent/npm/package-lock.json");
    // The same version with another content.
    env.registry.publish("pk", "1.0.0", json!({"description": "other"}));
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(matches!(error, PackageError::Changed { .. }), "{error}");
    std::fs::remove_dir_all(env.path("agent/npm/node_modules")).unwrap();
    let missing = env.manager().ensure_installed().await;
    assert!(
        matches!(missing[0].error, Some(PackageError::Integrity { .. })),
        "the archive does not fit the lock file: {missing:?}"
    );
    assert_eq!(env.read("agent/npm/package-lock.json"), before);
}
