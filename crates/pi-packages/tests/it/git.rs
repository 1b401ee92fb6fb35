//! Packages in git repositories, with real repositories on this machine.

use std::path::Path;
use std::process::Command;

use pi_config::SettingsScope::User;
use pi_packages::{PackageError, PackageEvent};
use serde_json::json;

use crate::env::TestEnv;

/// Runs git in a directory.
fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Creates the repository of `https://github.com/u/r`, with one commit and the tag v1.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let repositories = env.path("repositories");
    env.write(
        "home/.gitconfig",
        &format!(
            "[url \"file://{}/\"]\n\tinsteadOf = https://github.com/\n",
            repositories.display()
        ),
    );
    env.registry.publish("left", "1.0.0", json!({}));
    let package = json!({
        "name": "r", "version": "1.0.0", "dependencies": {"left": "1"}, "devDependencies": {"dev": "1"},
    });
    env.write("repositories/u/r/package.json", &package.to_string());
    env.write("repositories/u/r/extensions/main.ts", "v1");
    let repository = env.path("repositories/u/r");
    git(&repository, &["init", "--quiet", "-b", "main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "one"]);
    git(&repository, &["tag", "v1"]);
    env
}

fn commit(env: &TestEnv, text: &str) {
    env.write("repositories/u/r/extensions/main.ts", text);
    git(&env.path("repositories/u/r"), &["commit", "--quiet", "-am", text]);
}

const CHECKOUT: &str = "agent/git/github.com/u/r";

fn content(env: &TestEnv) -> String {
    env.read(&format!("{CHECKOUT}/extensions/main.ts"))
}

#[tokio::test]
async fn a_repository_is_cloned_updated_and_removed() {
    let env = env();
    let installed = env.manager().install("git:github.com/u/r", User).await.unwrap();
    assert_eq!(installed.directory, env.path(CHECKOUT));
    assert_eq!(content(&env), "v1");
    assert!(env.path(CHECKOUT).join("node_modules/left/package.json").exists());
    assert_eq!(env.read("agent/git/.gitignore"), "*\n!.gitignore\n");
    assert_eq!(
        env.registry.seen_paths(),
        ["/left", "/left/-/left-1.0.0.tgz"],
        "no development ones"
    );
    commit(&env, "v2");
    env.write(&format!("{CHECKOUT}/leftover"), "x");
    env.write(&format!("{CHECKOUT}/extensions/main.ts"), "edited");
    let offline = env.manager().offline(true).update_all().await;
    assert!(offline.changed.is_empty() && offline.failed.is_empty());
    let updated = env.manager().update_all().await;
    assert_eq!(updated.changed, ["git:github.com/u/r"]);
    assert_eq!(content(&env), "v2");
    assert!(!env.path(CHECKOUT).join("leftover").exists());
    assert!(env.path(CHECKOUT).join("node_modules/left/package.json").exists());
    assert!(env.manager().update_all().await.changed.is_empty());
    env.manager().remove("https://github.com/u/r.git@v9", User).await.unwrap();
    assert!(!env.path("agent/git/github.com").exists());
    assert_eq!(env.packages(), json!([]));
}

#[tokio::test]
async fn refs_stay_where_they_are() {
    let env = env();
    commit(&env, "v2");
    let hash = Command::new("git")
        .args(["rev-parse", "v1"])
        .current_dir(env.path("repositories/u/r"))
        .output()
        .unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    for (reference, expected) in [("v1", "v1"), ("main", "v2"), (hash.trim(), "v1"), ("v1", "v1")] {
        let source = format!("https://github.com/u/r@{reference}");
        env.manager().install(&source, User).await.unwrap();
        assert_eq!(content(&env), expected, "{reference}");
        assert_eq!(env.packages(), json!([source]));
    }
    commit(&env, "v3");
    assert!(env.manager().update_all().await.changed.is_empty());
    assert_eq!(content(&env), "v1");
    env.manager().install("git:github.com/u/r", User).await.unwrap();
    assert_eq!(content(&env), "v3", "without a ref, the default branch");
    std::fs::remove_dir_all(env.path("agent/git")).unwrap();
    env.settings(&json!({"packages": ["git:github.com/u/r@v1"]}));
    assert_eq!(env.manager().ensure_installed().await.len(), 0);
    assert_eq!(content(&env), "v1");
}

#[tokio::test]
async fn a_clone_that_fails_leaves_nothing() {
    let env = env();
    for source in ["git:github.com/u/none", "git:github.com/u/r@none"] {
        let error = env.manager().install(source, User).await.unwrap_err();
        assert!(matches!(error, PackageError::Command { .. }), "{error}");
        assert!(error.to_string().starts_with("git "), "{error}");
        let events = std::mem::take(&mut *env.events.lock().unwrap());
        assert!(matches!(&events[..], [PackageEvent::ErrorOutput(_)]), "{events:?}");
    }
    env.registry.unpublish("left");
    let error = env.manager().install("git:github.com/u/r", User).await.unwrap_err();
    assert!(matches!(error, PackageError::NoPackage { .. }), "{error}");
    assert_eq!(env.tree("agent"), ["git/.gitignore", "git/.pi-lock"]);
}

#[tokio::test]
async fn hooks_and_variables_of_the_user_have_no_effect() {
    let mut env = env();
    let hooks = env.path("hooks");
    env.write("hooks/post-checkout", &format!("#!/bin/sh\ntouch {}\n", env.path("ran").display()));
    use std::os::unix::fs::PermissionsExt as _;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(hooks.join("post-checkout"), executable).unwrap();
    let config = env.read("home/.gitconfig");
    env.write("home/.gitconfig", &format!("{config}[core]\n\thooksPath = {}\n", hooks.display()));
    // As in a hook of a repository.
    env.variables.push(("GIT_DIR".to_owned(), env.path("elsewhere").display().to_string()));
    env.manager().install("git:github.com/u/r@v1", User).await.unwrap();
    assert_eq!(content(&env), "v1");
    assert!(!env.path("ran").exists() && !env.path("elsewhere").exists());
}

#[tokio::test]
async fn a_lock_file_of_the_repository_is_followed() {
    let env = env();
    env.registry.publish("left", "1.1.0", json!({}));
    let resolved = format!("{}left/-/left-1.0.0.tgz", env.registry.url);
    // The checksum of 1.0.0, as another installation recorded it.
    env.registry.tag("left", "latest", "1.0.0");
    env.manager().install("npm:left", User).await.unwrap();
    let lock = env.json("agent/npm/package-lock.json");
    let left = &lock["packages"]["node_modules/left"];
    assert_eq!(left["resolved"], json!(resolved));
    let own = json!({"lockfileVersion": 3, "packages": {"node_modules/left": left}});
    env.write("repositories/u/r/package-lock.json", &own.to_string());
    git(&env.path("repositories/u/r"), &["add", "."]);
    commit(&env, "v2");
    env.registry.tag("left", "latest", "1.1.0");
    env.manager().install("git:github.com/u/r", User).await.unwrap();
    let installed = env.json(&format!("{CHECKOUT}/node_modules/left/package.json"));
    assert_eq!(installed["version"], "1.0.0");
    let text = env.read(&format!("{CHECKOUT}/package-lock.json"));
    assert_eq!(text, own.to_string(), "the repository's file is not changed");
}
