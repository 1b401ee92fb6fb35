//! Installing, removing and updating packages of a registry.

use std::fs;

use pi_config::SettingsScope::{Project, User};
use pi_packages::{PackageError, PackageEvent};
use serde_json::{Value, json};

use crate::env::TestEnv;

#[tokio::test]
async fn a_package_is_installed_with_its_dependencies() {
    let env = TestEnv::new();
    env.registry.publish("left", "1.0.0", json!({}));
    env.registry.publish("left", "1.4.0", json!({}));
    env.registry.publish("left", "2.0.0", json!({}));
    env.registry.publish("@me/pk", "1.2.3", json!({"dependencies": {"left": "^1.0.0"}}));
    env.settings(&json!({"theme": "dark"}));
    let installed = env.manager().install("npm:@me/pk", User).await.unwrap();
    assert_eq!(installed.directory, env.path("agent/npm/node_modules/@me/pk"));
    assert_eq!(installed.contents.extensions, [installed.directory.join("extensions/main.ts")]);
    assert_eq!(
        env.installed(),
        ["node_modules/@me/pk @me/pk@1.2.3", "node_modules/left left@1.4.0"]
    );
    assert_eq!(
        env.json("agent/settings.json"),
        json!({"theme": "dark", "packages": ["npm:@me/pk"]})
    );
    assert_eq!(env.read("agent/npm/.gitignore"), "*\n!.gitignore\n");
    let package = env.json("agent/npm/package.json");
    let expected = json!({
        "name": "pi-extensions", "private": true, "dependencies": {"@me/pk": "^1.2.3"},
    });
    assert_eq!(package, expected);
    let lock = env.json("agent/npm/package-lock.json");
    assert_eq!(lock["lockfileVersion"], 3);
    assert_eq!(lock["packages"][""]["dependencies"], json!({"@me/pk": "^1.2.3"}));
    let left = &lock["packages"]["node_modules/left"];
    assert_eq!(left["version"], "1.4.0");
    assert!(left["integrity"].as_str().unwrap().starts_with("sha512-"));
    assert!(left["resolved"].as_str().unwrap().ends_with("/left/-/left-1.4.0.tgz"));
    let events = env.events.lock().unwrap();
    let PackageEvent::Changed(changed) = &events[0] else { panic!("{events:?}") };
    assert_eq!(changed.added, ["@me/pk@1.2.3", "left@1.4.0"]);
}

#[tokio::test]
async fn specs_select_a_version() {
    for (spec, expected, saved) in [
        ("", "3.0.0", "^3.0.0"),
        ("@latest", "3.0.0", "^3.0.0"),
        ("@1.0.0", "1.0.0", "1.0.0"),
        ("@^1.0.0", "1.5.0", "^1.0.0"),
        ("@next", "4.0.0-rc.1", "^4.0.0-rc.1"),
        ("@>=1 <3", "2.0.0", ">=1 <3"),
    ] {
        let env = TestEnv::new();
        for version in ["1.0.0", "1.5.0", "2.0.0", "4.0.0-rc.1", "3.0.0"] {
            env.registry.publish("pk", version, json!({}));
        }
        env.registry.tag("pk", "next", "4.0.0-rc.1");
        env.manager().install(&format!("npm:pk{spec}"), User).await.unwrap();
        assert_eq!(env.installed(), [format!("node_modules/pk pk@{expected}")], "{spec}");
        assert_eq!(env.json("agent/npm/package.json")["dependencies"]["pk"], saved, "{spec}");
        assert_eq!(env.packages(), json!([format!("npm:pk{spec}")]));
    }
}

#[tokio::test]
async fn removal_takes_what_only_the_package_needed() {
    let env = TestEnv::new();
    env.registry.publish("shared", "1.0.0", json!({}));
    env.registry.publish("own", "1.0.0", json!({}));
    env.registry.publish("a", "1.0.0", json!({"dependencies": {"shared": "1", "own": "1"}}));
    env.registry.publish("b", "1.0.0", json!({"dependencies": {"shared": "1"}}));
    env.settings(&json!({"packages": ["npm:b", {"source": "npm:a@1", "skills": []}]}));
    env.manager().install("npm:a", User).await.unwrap();
    env.manager().install("npm:b", User).await.unwrap();
    let filtered = json!({"source": "npm:a", "skills": []});
    assert_eq!(env.packages(), json!(["npm:b", filtered]), "filters and order stay");
    env.registry.seen();
    env.manager().remove("npm:a@9", User).await.unwrap();
    assert_eq!(env.registry.seen(), [], "a removal needs no network");
    assert_eq!(env.installed(), ["node_modules/b b@1.0.0", "node_modules/shared shared@1.0.0"]);
    assert_eq!(env.packages(), json!(["npm:b"]));
    let missing = env.manager().remove("npm:a", User).await.unwrap_err();
    assert_eq!(missing.to_string(), "No matching package found for npm:a");
    env.manager().remove("npm:b", User).await.unwrap();
    assert_eq!(env.installed(), [] as [String; 0]);
    assert_eq!(env.json("agent/npm/package.json")["dependencies"], json!({}));
}

#[tokio::test]
async fn packages_of_the_lock_file_stay_in_their_place() {
    let env = TestEnv::new();
    env.registry.publish("c", "1.0.0", json!({}));
    env.registry.publish("c", "2.0.0", json!({}));
    env.registry.publish("a", "1.0.0", json!({"dependencies": {"c": "1"}}));
    env.registry.publish("b", "1.0.0", json!({"dependencies": {"c": "2"}}));
    env.manager().install("npm:a", User).await.unwrap();
    env.manager().install("npm:b", User).await.unwrap();
    assert!(env.installed().contains(&"node_modules/b/node_modules/c c@2.0.0".to_owned()));
    env.registry.seen();
    env.manager().remove("npm:a", User).await.unwrap();
    let expected = ["node_modules/b b@1.0.0", "node_modules/b/node_modules/c c@2.0.0"];
    assert_eq!(env.installed(), expected);
    assert_eq!(env.registry.seen(), []);
}

#[tokio::test]
async fn updates_follow_specs_and_keep_pins() {
    let env = TestEnv::new();
    for name in ["loose", "pinned", "ranged"] {
        env.registry.publish(name, "1.0.0", json!({}));
    }
    for source in ["npm:loose", "npm:pinned@1.0.0", "npm:ranged@^1.0.0"] {
        env.manager().install(source, User).await.unwrap();
    }
    for name in ["loose", "pinned", "ranged"] {
        env.registry.publish(name, "1.1.0", json!({}));
        env.registry.publish(name, "2.0.0", json!({}));
    }
    env.registry.seen();
    let offline = env.manager().offline(true).update_all().await;
    assert!(offline.changed.is_empty() && offline.failed.is_empty());
    assert_eq!(env.registry.seen(), []);
    env.events.lock().unwrap().clear();
    let updated = env.manager().update_all().await;
    assert_eq!(updated.changed, ["npm:loose", "npm:ranged@^1.0.0"]);
    assert_eq!(
        env.installed(),
        [
            "node_modules/loose loose@2.0.0",
            "node_modules/pinned pinned@1.0.0",
            "node_modules/ranged ranged@1.1.0",
        ]
    );
    let events = env.events.lock().unwrap().clone();
    let updating: Vec<_> =
        events.iter().filter(|event| matches!(event, PackageEvent::Updating(_))).collect();
    assert_eq!(updating.len(), 2, "{events:?}");
    let again = env.manager().update_all().await;
    assert!(again.changed.is_empty() && again.failed.is_empty(), "{again:?}");
    env.registry.unpublish("loose");
    env.registry.publish("ranged", "1.2.0", json!({}));
    env.registry.tag("ranged", "latest", "2.0.0");
    let partial = env.manager().update_all().await;
    assert_eq!(partial.changed, ["npm:ranged@^1.0.0"], "a failure does not stop the others");
    assert_eq!(partial.failed.len(), 1);
    let error = env.manager().update("npm:none").await.unwrap_err();
    assert_eq!(error.to_string(), "No matching package found for npm:none");
}

#[tokio::test]
async fn install_scripts_do_not_run_and_are_named() {
    let env = TestEnv::new();
    let touch = format!("touch {}", env.path("ran").display());
    env.registry.publish("native", "1.0.0", json!({"scripts": {"postinstall": touch}}));
    env.registry.publish("pk", "1.0.0", json!({"dependencies": {"native": "1"}}));
    env.manager().install("npm:pk", User).await.unwrap();
    assert!(!env.path("ran").exists());
    let events = env.events.lock().unwrap();
    let PackageEvent::Changed(changed) = &events[0] else { panic!("{events:?}") };
    assert_eq!(changed.with_scripts, ["native@1.0.0"]);
}

#[tokio::test]
async fn missing_packages_are_installed_at_the_start_as_locked() {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    env.manager().install("npm:pk", User).await.unwrap();
    env.registry.publish("pk", "1.1.0", json!({}));
    assert!(!env.manager().is_incomplete());
    fs::remove_dir_all(env.path("agent/npm/node_modules")).unwrap();
    assert!(env.manager().is_incomplete());
    env.registry.seen();
    let offline = env.manager().offline(true).ensure_installed().await;
    assert_eq!((offline.len(), env.registry.seen()), (1, vec![]));
    assert!(offline[0].error.is_none());
    env.settings(&json!({"packages": ["npm:pk"], "guard": {"profile": "unattended"}}));
    let unattended = env.manager().ensure_installed().await;
    assert_eq!((unattended.len(), env.registry.seen()), (1, vec![]));
    env.settings(&json!({"packages": ["npm:gone", "npm:pk"]}));
    let missing = env.manager().ensure_installed().await;
    assert_eq!(missing.len(), 1, "the others are installed");
    assert_eq!(missing[0].source, "npm:gone");
    assert!(matches!(missing[0].error, Some(PackageError::NoPackage { .. })));
    assert_eq!(env.installed(), ["node_modules/pk pk@1.0.0"], "the lock file decides");
    assert_eq!(env.packages(), json!(["npm:gone", "npm:pk"]), "settings stay");
    env.settings(&json!({"packages": ["npm:pk@1.1.0"]}));
    assert_eq!(env.manager().ensure_installed().await.len(), 0);
    assert_eq!(env.installed(), ["node_modules/pk pk@1.1.0"], "the settings changed");
}

#[tokio::test]
async fn the_scope_decides_where_a_package_goes() {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    let refused = env.manager_in(false).install("npm:pk", Project).await.unwrap_err();
    assert!(matches!(refused, PackageError::NotTrusted));
    assert!(!env.path("proj/.pi").exists());
    env.manager().install("npm:pk", Project).await.unwrap();
    assert!(env.path("proj/.pi/npm/node_modules/pk/package.json").exists());
    assert_eq!(env.json("proj/.pi/settings.json"), json!({"packages": ["npm:pk"]}));
    assert!(!env.path("agent/npm").exists());
    let refused = env.manager_in(false).remove("npm:pk", Project).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Project is not trusted. Use --approve to modify local package config."
    );
    assert_eq!(env.manager_in(false).configured().len(), 0);
    env.manager().remove("npm:pk", Project).await.unwrap();
    assert_eq!(env.json("proj/.pi/settings.json"), json!({"packages": []}));
}

#[tokio::test]
async fn paths_are_used_where_they_are() {
    let env = TestEnv::new();
    env.write("proj/loc/prompts/review.md", "Review.");
    let installed = env.manager().install("./loc", User).await.unwrap();
    assert_eq!(installed.contents.prompts, [env.path("proj/loc/prompts/review.md")]);
    env.manager().install("file://loc/../loc", User).await.unwrap();
    assert_eq!(env.packages(), json!(["../proj/loc"]));
    env.manager().install("loc", Project).await.unwrap();
    assert_eq!(env.json("proj/.pi/settings.json"), json!({"packages": ["../loc"]}));
    let error = env.manager().install("nope", User).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("Path does not exist: {}", env.path("proj/nope").display())
    );
    env.manager().remove("../proj/loc", User).await.unwrap();
    assert_eq!(env.packages(), json!([]), "as the settings write it");
    assert!(env.path("proj/loc/prompts/review.md").exists());
}

#[tokio::test]
async fn a_package_for_one_run_is_cached_outside_of_the_settings() {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    let first = env.manager().install_temporary("npm:pk").await.unwrap();
    assert!(first.starts_with(env.path("agent/tmp/extensions/npm")));
    assert!(!env.path("agent/settings.json").exists());
    env.registry.publish("pk", "1.1.0", json!({}));
    let version = |path: &std::path::Path| -> Value {
        serde_json::from_slice::<Value>(&fs::read(path.join("package.json")).unwrap()).unwrap()
            ["version"]
            .take()
    };
    let offline = env.manager().offline(true).install_temporary("npm:pk").await.unwrap();
    assert_eq!(version(&offline), "1.0.0");
    let second = env.manager().install_temporary("npm:pk").await.unwrap();
    assert_eq!((second == first, version(&second)), (true, json!("1.1.0")));
    env.registry.unpublish("pk");
    assert_eq!(version(&env.manager().install_temporary("npm:pk").await.unwrap()), "1.1.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_installations_at_once_both_succeed() {
    let env = TestEnv::new();
    let names: Vec<String> = (0..6).map(|number| format!("pk{number}")).collect();
    for name in &names {
        env.registry.publish(name, "1.0.0", json!({}));
    }
    let running: Vec<_> = names
        .iter()
        .map(|name| {
            let (mut manager, source) = (env.manager(), format!("npm:{name}"));
            tokio::spawn(async move { manager.install(&source, User).await.map(drop) })
        })
        .collect();
    for one in running {
        one.await.unwrap().unwrap();
    }
    assert_eq!(env.installed().len(), 6);
    assert_eq!(env.packages().as_array().unwrap().len(), 6);
    let lock = env.json("agent/npm/package-lock.json");
    assert_eq!(lock["packages"].as_object().unwrap().len(), 7);
}

#[tokio::test]
async fn an_external_npm_replaces_the_client() {
    let env = TestEnv::new();
    let script = "#!/bin/sh\necho \"$@ scripts=$npm_config_ignore_scripts\" >> \"$0.log\"\n\
                  echo added\n[ \"$2\" != fails ] || { echo down >&2; exit 3; }\n";
    env.write("npm", script);
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(env.path("npm"), fs::Permissions::from_mode(0o755)).unwrap();
    env.settings(&json!({"npmCommand": [env.path("npm")]}));
    env.manager().install("npm:pk@1", User).await.unwrap();
    let root = env.path("agent/npm").display().to_string();
    let error = env.manager().install("npm:fails", User).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} install fails --prefix {root} --legacy-peer-deps --no-audit --no-fund failed with code 3",
            env.path("npm").display()
        )
    );
    assert_eq!(env.packages(), json!(["npm:pk@1"]));
    let events = env.events.lock().unwrap().clone();
    let expected = [
        PackageEvent::Output("added\n".to_owned()),
        PackageEvent::ErrorOutput("down\n".to_owned()),
    ];
    assert_eq!(events, expected);
    let log = env.read("npm.log");
    let first = format!(
        "install pk@1 --prefix {root} --legacy-peer-deps --no-audit --no-fund scripts=true"
    );
    assert_eq!(log.lines().next(), Some(first.as_str()));
    assert_eq!(env.registry.seen(), []);
}
