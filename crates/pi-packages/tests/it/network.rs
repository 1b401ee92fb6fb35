//! Downloads that fail, are interrupted, redirected or need credentials.

use pi_config::SettingsScope::{Project, User};
use pi_packages::PackageError;
use serde_json::json;

use crate::env::TestEnv;
use crate::registry::{Fault, Seen, TestRegistry};

const ARCHIVE: &str = "/pk/-/pk-1.0.0.tgz";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    env
}

#[tokio::test]
async fn transient_failures_are_retried() {
    for (path, fault) in [
        ("/pk", Fault::Status(500)),
        ("/pk", Fault::Status(429)),
        ("/pk", Fault::Cut(10)),
        (ARCHIVE, Fault::Status(503)),
        (ARCHIVE, Fault::Cut(0)),
        (ARCHIVE, Fault::Cut(100)),
    ] {
        let env = env();
        env.registry.fail(path, fault.clone());
        env.registry.fail(path, fault.clone());
        env.manager()
            .install("npm:pk", User)
            .await
            .unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        let requests = env.registry.seen().into_iter().filter(|seen| seen.path == path).count();
        assert_eq!(requests, 3, "{path} {fault:?}");
        assert_eq!(env.installed(), ["node_modules/pk pk@1.0.0"]);
    }
}

#[tokio::test]
async fn a_failure_leaves_the_old_state() {
    for (path, faults, expected) in [
        ("/pk", vec![Fault::Status(500); 4], "HTTP 500"),
        ("/pk", vec![Fault::Status(404)], "pk is not in the registry"),
        ("/pk", vec![Fault::Body(b"<html>".to_vec())], "the registry's answer about pk is invalid"),
        (ARCHIVE2, vec![Fault::Cut(50); 4], ""),
        (ARCHIVE2, vec![Fault::Status(404)], "HTTP 404"),
        (
            ARCHIVE2,
            vec![Fault::Body(b"something else".to_vec())],
            "the checksum of pk@2.0.0 is wrong",
        ),
        (ARCHIVE2, vec![Fault::Body(Vec::new())], "the checksum of pk@2.0.0 is wrong"),
    ] {
        let env = env();
        env.manager().install("npm:pk", User).await.unwrap();
        env.registry.publish("pk", "2.0.0", json!({}));
        let before = (env.tree("agent"), env.read("agent/npm/package-lock.json"));
        let count = faults.len();
        faults.into_iter().for_each(|fault| env.registry.fail(path, fault));
        env.registry.seen();
        let error = env.manager().install("npm:pk", User).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let requests = env.registry.seen().into_iter().filter(|seen| seen.path == path).count();
        assert_eq!(requests, count, "{error}");
        let after = (env.tree("agent"), env.read("agent/npm/package-lock.json"));
        assert_eq!(after, before, "{error}");
        assert_eq!(env.installed(), ["node_modules/pk pk@1.0.0"]);
        assert_eq!(env.packages(), json!(["npm:pk"]));
    }
}

const ARCHIVE2: &str = "/pk/-/pk-2.0.0.tgz";

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let env = env();
    env.write("home/.npmrc", "registry=http://127.0.0.1:1/");
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(error.to_string().starts_with("127.0.0.1: "), "{error}");
    assert!(!env.path("agent/npm/node_modules").exists());
}

#[tokio::test]
async fn archives_without_a_checksum_are_refused() {
    let env = env();
    env.registry.edit("pk", "1.0.0", |manifest| {
        manifest["dist"].as_object_mut().unwrap().remove("integrity");
    });
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(matches!(error, PackageError::NoIntegrity { .. }), "{error}");
    env.registry.edit("pk", "1.0.0", |manifest| manifest["dist"]["shasum"] = json!("0".repeat(40)));
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(error.to_string().contains("expected sha1-"), "{error}");
}

#[tokio::test]
async fn tokens_go_to_their_registry_only() {
    let env = env();
    let other = TestRegistry::start();
    other.publish("pk", "1.0.0", json!({}));
    env.registry.require("s3cret");
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(error.to_string().contains("HTTP 401"), "{error}");
    let host = env.registry.url.trim_start_matches("http:");
    env.write(
        "home/.npmrc",
        &format!("registry={}\n{host}:_authToken=${{TOKEN}}\n", env.registry.url),
    );
    let mut env = env;
    env.variables.push(("TOKEN".to_owned(), "s3cret".to_owned()));
    env.registry.seen();
    env.registry.fail(ARCHIVE, Fault::Redirect(format!("{}pk/-/pk-1.0.0.tgz", other.url)));
    env.manager().install("npm:pk", User).await.unwrap();
    let bearer = Some("Bearer s3cret".to_owned());
    let seen = |path: &str, authorization: &Option<String>| Seen {
        path: path.to_owned(),
        authorization: authorization.clone(),
    };
    assert_eq!(env.registry.seen(), [seen("/pk", &bearer), seen(ARCHIVE, &bearer)]);
    assert_eq!(other.seen(), [seen(ARCHIVE, &None)], "another origin gets no token");
}

#[tokio::test]
async fn redirects_are_followed_within_limits() {
    let env = env();
    env.registry.fail("/pk", Fault::Redirect("/moved".to_owned()));
    let body = {
        let other = TestRegistry::start();
        other.publish("pk", "1.0.0", json!({}));
        format!("{}pk", other.url)
    };
    env.registry.fail("/moved", Fault::Redirect(body));
    env.manager().install("npm:pk", User).await.unwrap();
    let env = self::env();
    (0..7).for_each(|_| env.registry.fail("/pk", Fault::Redirect("/pk".to_owned())));
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(error.to_string().contains("too many redirects"), "{error}");
    let env = self::env();
    env.registry.fail("/pk", Fault::Redirect("file:///etc/passwd".to_owned()));
    let error = env.manager().install("npm:pk", User).await.unwrap_err();
    assert!(error.to_string().contains("redirects to file:///etc/passwd"), "{error}");
}

#[tokio::test]
async fn the_configuration_of_the_project_counts_for_its_packages() {
    let env = env();
    let scoped = TestRegistry::start();
    scoped.publish("@team/pk", "1.0.0", json!({}));
    env.write("proj/.npmrc", &format!("@team:registry={}\n", scoped.url));
    env.manager().install("npm:@team/pk", Project).await.unwrap();
    assert_eq!(scoped.seen_paths(), ["/@team/pk", "/@team/pk/-/pk-1.0.0.tgz"]);
    env.manager().install("npm:@team/pk", User).await.unwrap_err();
    assert_eq!(scoped.seen_paths(), [] as [&str; 0], "a project does not decide for the user");
    let mut env = env;
    env.variables.push(("npm_config_registry".to_owned(), scoped.url.clone()));
    env.manager().install("npm:@team/pk", User).await.unwrap();
}
