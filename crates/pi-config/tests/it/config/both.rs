//! Both programs write settings and credentials at once. `cargo xtask interop config` runs this.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pi_config::Environment;
use pi_config::{AuthStore, SettingsScope, SettingsStore, StoredCredential};
use serde_json::{Value, json};

use super::env::{ConfigEnv, names};

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peer.mjs");

/// The values that one program wrote last.
#[derive(Debug, Default)]
struct Written {
    versions: BTreeMap<String, String>,
    keys: BTreeMap<String, String>,
    writes: usize,
}

/// Writes as the peer does, under other names.
fn write(environment: &Environment, end: &AtomicBool) -> Written {
    let mut settings = SettingsStore::load(environment, false);
    let auth = AuthStore::new(&environment.agent_directory);
    let mut written = Written::default();
    while !end.load(Ordering::Relaxed) {
        let n = written.writes;
        let (name, version) = (format!("ours/k{}", n % 89), n.to_string());
        settings
            .update(SettingsScope::User, |changes| {
                changes.set(&["extensionChangelogVersions", &name], version.as_str());
            })
            .unwrap();
        written.versions.insert(name, version);
        let (provider, key) = (format!("ours-{}", n % 7), format!("key {n}"));
        if n % 10 == 9 {
            auth.remove(&provider).unwrap();
            written.keys.remove(&provider);
        } else {
            auth.set(&provider, &StoredCredential::api_key(&key)).unwrap();
            written.keys.insert(provider, key);
        }
        written.writes += 1;
        // The peer waits at most a fifth of a second for a lock.
        thread::sleep(Duration::from_millis(2));
    }
    written
}

/// Reads continuously. A file must never look broken.
fn read(environment: &Environment, end: &AtomicBool) -> usize {
    let auth = AuthStore::new(&environment.agent_directory);
    let mut reads = 0;
    while !end.load(Ordering::Relaxed) {
        assert_eq!(SettingsStore::load(environment, false).diagnostics(), []);
        auth.list().unwrap();
        reads += 1;
        thread::sleep(Duration::from_millis(1));
    }
    reads
}

#[test]
#[ignore = "needs the TypeScript pi, and a minute; `cargo xtask interop config`"]
fn both_programs_write_at_once() {
    let variable = |name| std::env::var_os(name).and_then(|value| value.into_string().ok());
    let peer = variable("PI_PEER_DIR").expect("PI_PEER_DIR names the package of the other program");
    let seconds = variable("PI_SECONDS").map_or(60, |text| text.parse().unwrap());
    let env = ConfigEnv::new();
    env.user("settings.json", r#"{"extensionChangelogVersions":{"before/k":"0"},"kept":[1]}"#);
    env.user("auth.json", r#"{"before":{"type":"api_key","key":"k"}}"#);
    let mut other = Command::new(variable("NODE").unwrap_or_else(|| "node".to_owned()))
        .arg(DRIVER)
        .args([&peer, "write"])
        .arg(env.agent())
        .env("PI_OFFLINE", "1")
        .env("HOME", env.environment.home.as_ref().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let end = AtomicBool::new(false);
    let (ours, reads) = thread::scope(|scope| {
        let writer = scope.spawn(|| write(&env.environment, &end));
        let reader = scope.spawn(|| read(&env.environment, &end));
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until && !writer.is_finished() && !reader.is_finished() {
            thread::sleep(Duration::from_millis(50));
        }
        end.store(true, Ordering::Relaxed);
        (writer.join().unwrap(), reader.join().unwrap())
    });
    drop(other.stdin.take());
    let output = other.wait_with_output().unwrap();
    assert!(output.status.success());
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    println!(
        "{} writes of ours, {} and {} of theirs, {reads} reads; they gave up {} times",
        2 * ours.writes,
        theirs["settingsWrites"],
        theirs["authWrites"],
        theirs["busy"]
    );
    assert_eq!(theirs["torn"], json!([]), "the other program saw half a file");

    let mut versions = json!(ours.versions);
    let all = versions.as_object_mut().unwrap();
    all.extend(theirs["versions"].as_object().unwrap().clone());
    all.insert("before/k".to_owned(), "0".into());
    let settings = parsed(&env.agent().join("settings.json"));
    assert_eq!(settings["extensionChangelogVersions"], versions);
    assert_eq!(settings["kept"], json!([1]));

    let mut keys: BTreeMap<String, String> = ours.keys;
    keys.insert("before".to_owned(), "k".to_owned());
    let theirs = theirs["keys"].as_object().unwrap();
    keys.extend(theirs.iter().map(|(name, key)| (name.clone(), key.as_str().unwrap().to_owned())));
    let found: BTreeMap<String, String> = parsed(&env.agent().join("auth.json"))
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, entry)| (name.clone(), entry["key"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(found, keys);
    let left: Vec<String> = names(env.agent())
        .into_iter()
        .filter(|name| name.contains(".lock") || name.starts_with('.'))
        .collect();
    assert_eq!(left, [] as [&str; 0], "nothing is left behind");
}

fn parsed(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
