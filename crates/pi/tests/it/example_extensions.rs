//! The example extensions of the TypeScript pi, run in both programs.
//!
//! `cargo xtask interop extensions` runs this test. The probe in `fixtures/extensions/probe.ts` calls
//! everything that an example registers and writes what happened; both programs must write the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

const PROBE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/extensions/probe.ts");

/// Longer than any example takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Examples that cannot be compared, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("custom-provider-anthropic", "needs the npm package @anthropic-ai/sdk"),
    ("gondolin", "needs the npm package @earendil-works/gondolin"),
    ("with-deps", "needs the npm package ms"),
    ("doom-overlay", "needs WebAssembly"),
    ("overlay-qa-tests", "waits for a person"),
];

/// Places that may differ: the TypeScript pi cannot search offline without `rg` and `fd`.
const MAY_DIFFER: &[(&str, &str)] =
    &[("minimal-mode", "/tools/grep/"), ("minimal-mode", "/tools/find/")];

#[test]
#[ignore = "needs the TypeScript pi; run `cargo xtask interop extensions`"]
fn the_examples_do_the_same_in_both_programs() {
    let only = std::env::var_os("PI_EXAMPLES").unwrap_or_default();
    let only = only.to_string_lossy();
    let only: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    let package = PathBuf::from(std::env::var_os("PI_PEER_DIR").expect("PI_PEER_DIR: its package"));
    let node = std::env::var_os("NODE").unwrap_or_else(|| "node".into());
    let theirs = || {
        let mut command = Command::new(&node);
        command.arg(package.join("dist/bundle/cli.js"));
        command
    };
    let mut differing = Vec::new();
    let mut equal = 0;
    for (name, file) in examples(&package.join("examples/extensions")) {
        if !only.is_empty() && !only.contains(&name.as_str()) {
            continue;
        }
        if let Some((_, reason)) = LEFT_OUT.iter().find(|(left_out, _)| *left_out == name) {
            println!("left out  {name}: {reason}");
            continue;
        }
        let expected = probe(theirs(), &file);
        let found = probe(Command::new(env!("CARGO_BIN_EXE_pi")), &file);
        let mut differences = differences(&expected, &found);
        differences.retain(|(place, ..)| {
            !MAY_DIFFER.iter().any(|(example, part)| *example == name && place.starts_with(part))
        });
        if differences.is_empty() {
            equal += 1;
            println!("equal     {name}");
            continue;
        }
        println!("DIFFERS   {name}: {} places", differences.len());
        for (place, expected, found) in differences.iter().take(5) {
            println!("    {place}\n        pi 1.5.0: {expected}\n        here:     {found}");
        }
        differing.push(name);
    }
    println!("{equal} equal, {} differ: {}", differing.len(), differing.join(", "));
    assert_eq!(differing, Vec::<String>::new());
}

/// Returns the examples with their entry points.
fn examples(directory: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let entry_point = |path: PathBuf| {
        let name = path.file_stem()?.to_str()?.to_owned();
        let file = if path.is_dir() { path.join("index.ts") } else { path };
        (file.extension()? == "ts" && file.exists()).then_some((name, file))
    };
    entries.filter_map(entry_point).collect()
}

/// Runs the probe on an example and returns its report.
fn probe(mut program: Command, example: &Path) -> Value {
    let root = TempDir::new().unwrap();
    let (home, project) = (root.path().join("home"), root.path().join("project"));
    let report = root.path().join("report.json");
    fs::create_dir_all(home.join(".pi/agent")).unwrap();
    fs::create_dir(&project).unwrap();
    let model = |id: &str| serde_json::json!({ "id": id, "name": id });
    let models = serde_json::json!({ "providers": { "fake": {
        "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k",
        "models": [model("fake-1"), model("fake-2")],
    } } });
    fs::write(home.join(".pi/agent/models.json"), models.to_string()).unwrap();
    let settings = r#"{ "defaultProvider": "fake", "defaultModel": "fake-1" }"#;
    fs::write(home.join(".pi/agent/settings.json"), settings).unwrap();
    fs::write(project.join("alpha.txt"), "alpha\n").unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
        let status =
            Command::new("git").args(identity).args(arguments).current_dir(&project).status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut child = program
        .args(["--no-session", "-ne", "-e", PROBE, "-p", "/probe"])
        .current_dir(&project)
        .env_clear()
        .env("PATH", path)
        .env("HOME", &home)
        .env("TMPDIR", root.path())
        .envs([("TZ", "UTC"), ("LANG", "C.UTF-8"), ("PI_OFFLINE", "1")])
        .env("PROBE_EXAMPLE", example)
        .env("PROBE_OUT", &report)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let Ok(text) = fs::read_to_string(&report) else { return Value::from("no report") };
    let text = text.replace(&root.path().display().to_string(), "/ROOT");
    serde_json::from_str(&text).unwrap()
}

/// Returns the places at which two reports differ, with both values.
fn differences(expected: &Value, found: &Value) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    let mut waiting = vec![(String::new(), expected, found)];
    while let Some((place, expected, found)) = waiting.pop() {
        match (expected, found) {
            (Value::Object(left), Value::Object(right)) => {
                for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                    let (left, right) = (left.get(key), right.get(key));
                    let place = format!("{place}/{key}");
                    waiting.push((
                        place,
                        left.unwrap_or(&Value::Null),
                        right.unwrap_or(&Value::Null),
                    ));
                }
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                for (at, (left, right)) in left.iter().zip(right).enumerate() {
                    waiting.push((format!("{place}/{at}"), left, right));
                }
            }
            (left, right) if left == right => {}
            (left, right) => {
                let short = |value: &Value| value.to_string().chars().take(300).collect::<String>();
                all.push((place, short(left), short(right)));
            }
        }
    }
    all
}
