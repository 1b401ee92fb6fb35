//! The tool `bash`: its results, compared with those of the TypeScript pi.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_agent::{AgentTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, UserBlock};
use pi_tools::{BashSettings, Workspace, bash};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::env::{TestEnv, supervised_host};

/// A workspace whose commands the testbed supervises.
pub(crate) fn workspace(cwd: &Path, settings: BashSettings) -> Arc<Workspace> {
    Arc::new(Workspace::new(Arc::new(supervised_host()), cwd.to_owned(), None).with_bash(settings))
}

pub(crate) fn settings() -> BashSettings {
    let mut settings = BashSettings::default();
    settings.environment.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    settings
}

/// The default settings of the tests with a change.
pub(crate) fn settings_with(change: impl FnOnce(&mut BashSettings)) -> BashSettings {
    let mut settings = settings();
    change(&mut settings);
    settings
}

pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.iter().filter_map(UserBlock::as_text).collect()
}

/// Runs a command; `seen` is called with every update.
pub(crate) async fn call(
    workspace: &Arc<Workspace>,
    arguments: Value,
    cancel: CancelToken,
    seen: impl Fn(&ToolOutput) + Send + Sync + 'static,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let updates = Updates::new(move |update| seen(&update));
    let invocation = Invocation::new("1", arguments, cancel, updates);
    bash(Arc::clone(workspace)).execute(invocation).await
}

pub(crate) async fn run(workspace: &Arc<Workspace>, command: &str) -> String {
    let arguments = json!({ "command": command });
    match call(workspace, arguments, CancelToken::new(), |_| {}).await {
        Ok(output) => text(&output),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn results_match_the_typescript_pi() {
    replay(&TestEnv::host(), 1).await;
}

/// Replays every `one_of`-th recorded call.
pub(crate) async fn replay(env: &TestEnv, one_of: usize) {
    let fixture = fs::read_to_string("tests/fixtures/bash.json").unwrap();
    let fixture: Value = serde_json::from_str(&fixture).unwrap();
    let directory = env.directory();
    let remote = env.remote_path(directory.path());
    for (name, content) in fixture["files"].as_object().unwrap() {
        fs::write(directory.path().join(name), content.as_str().unwrap()).unwrap();
    }
    let logs = TempDir::new().unwrap();
    let calls = fixture["calls"].as_array().unwrap();
    assert!(calls.len() > 80);
    for recorded in calls.iter().step_by(one_of) {
        if env.except.iter().any(|name| recorded["name"] == *name) {
            continue;
        }
        let settings = settings_with(|s| s.output_directory = Some(logs.path().to_owned()));
        let cwd = recorded["cwd"].as_str().map_or(remote.clone(), |name| remote.join(name));
        let cancel = CancelToken::new();
        let canceller = cancel.clone();
        let abort_when = recorded.get("abortWhenSeen").cloned();
        if abort_when == Some(Value::Null) {
            cancel.cancel();
        }
        let seen = move |update: &ToolOutput| {
            if let Some(Value::String(wanted)) = &abort_when
                && text(update).contains(wanted)
            {
                canceller.cancel();
            }
        };
        let workspace = env.workspace(&cwd, settings);
        let found = match call(&workspace, recorded["arguments"].clone(), cancel, seen).await {
            Ok(output) => json!({ "ok": output }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        let places = [(logs.path(), "{log}"), (&remote, "{cwd}")];
        let expected = recorded.get("ours").unwrap_or(&recorded["result"]);
        assert_eq!(&comparable(&found, &places), expected, "{}", recorded["name"]);
    }
}

/// A result without values that differ from run to run, and with long texts as in the fixture.
fn comparable(value: &Value, places: &[(&Path, &str)]) -> Value {
    match value {
        Value::String(text) => {
            let text = places.iter().fold(text.clone(), |text, (path, name)| {
                let Some((before, after)) = text.split_once(path.to_str().unwrap()) else {
                    return text;
                };
                let after = match after.split_once(".log") {
                    Some((_, after)) if *name == "{log}" => after,
                    _ => after,
                };
                format!("{before}{name}{after}")
            });
            // A note of ours, which `processes.rs` tests; 1.5.0 lets the processes run.
            let note =
                text.find("\n\n[").filter(|_| text.contains("that the command left running"));
            let text = note.map_or_else(|| text.clone(), |at| text[..at].to_owned());
            if text.len() <= 400 { text.into() } else { abbreviated(&text) }
        }
        Value::Array(values) => values.iter().map(|value| comparable(value, places)).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, value)| {
                let time = *name == "wall_time_seconds";
                assert!(!time || value.as_f64().is_some_and(|seconds| seconds >= 0.0));
                !time
            });
            let fields = kept.map(|(name, value)| (name.clone(), comparable(value, places)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn abbreviated(text: &str) -> Value {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let characters: Vec<char> = text.chars().collect();
    let start: String = characters[..40].iter().collect();
    let end: String = characters[characters.len() - 120..].iter().collect();
    json!({ "bytes": text.len(), "fnv": format!("{hash:016x}"), "start": start, "end": end })
}

#[tokio::test]
async fn settings_are_applied() {
    let directory = TempDir::new().unwrap();
    let marked = BTreeMap::from([("PI_SESSION_ID".into(), "s1".into())]);
    let missing = directory.path().join("shell");
    let cases = [
        (settings_with(|s| s.command_prefix = Some("x=1".to_owned())), "echo $x", "1\n".to_owned()),
        (
            settings_with(|s| s.environment = marked),
            "/usr/bin/env | grep -v -e ^_= -e ^PWD= -e ^SHLVL=",
            "PI_SESSION_ID=s1\n".to_owned(),
        ),
        (settings_with(|s| s.shell = Some("/bin/sh".into())), "echo $0", "/bin/sh\n".to_owned()),
        (
            settings_with(|s| s.shell = Some(missing.clone())),
            "echo",
            format!("Custom shell path not found: {}", missing.display()),
        ),
        (
            settings_with(|s| s.shell = Some(directory.path().to_owned())),
            "echo",
            format!("spawn {} EACCES", directory.path().display()),
        ),
        (
            settings_with(|s| s.default_timeout = Some(std::time::Duration::from_millis(200))),
            "exec sleep 60",
            "Command timed out after 0.2 seconds".to_owned(),
        ),
    ];
    for (settings, command, expected) in cases {
        let found = run(&workspace(directory.path(), settings), command).await;
        assert_eq!(found, expected, "{command}");
    }
}

#[tokio::test]
async fn too_long_command_is_an_error() {
    let workspace = workspace(Path::new("/"), settings());
    let found = run(&workspace, &format!("echo {}", "x".repeat(200_000))).await;
    assert_eq!(found, "spawn E2BIG");
}

#[tokio::test]
async fn long_output_is_saved_unchanged_in_a_private_file() {
    let directory = TempDir::new().unwrap();
    let all = settings_with(|s| s.output_directory = Some(directory.path().to_owned()));
    let mut some = all.clone();
    some.output_limit = 1000;
    let nowhere = settings_with(|s| s.output_directory = Some(directory.path().join("no")));
    // The files live as long as the session, and so do the settings.
    let session = all.clone();
    let command = "printf '\\377\\000'; seq 1 2500";
    let mut whole = b"\xff\0".to_vec();
    (1..=2500).for_each(|line| whole.extend(format!("{line}\n").bytes()));

    for (settings, notice, kept) in [
        (all, "[Showing lines 501-2500 of 2500. Full output: ", &whole[..]),
        (some, "[Showing lines 501-2500 of 2500. First 1000B of the output: ", &whole[..1000]),
    ] {
        let shown = run(&workspace(directory.path(), settings), command).await;
        let path = shown.split_once(notice).unwrap().1.strip_suffix(']').unwrap();
        assert!(fs::read(path).unwrap() == kept, "{notice}");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    drop(session);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let shown = run(&workspace(directory.path(), nowhere), command).await;
    assert!(shown.contains("of 2500. The full output could not be saved: No such file"), "{shown}");
    let shown = run(&workspace(directory.path(), settings()), command).await;
    assert!(shown.ends_with("\n\n[Showing lines 501-2500 of 2500]"), "{shown}");
}

#[tokio::test]
async fn progress_is_reported() {
    let directory = TempDir::new().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let collector = Arc::clone(&seen);
    let gate = directory.path().join("gate");
    let opener = gate.clone();
    // The command continues when its first line was reported, so there is an update in between.
    let command = "echo one; until [ -e gate ]; do sleep 0.01; done; echo two";
    let workspace = workspace(directory.path(), settings());
    let done = call(&workspace, json!({ "command": command }), CancelToken::new(), move |update| {
        if text(update) == "one\n" {
            fs::write(&opener, "").unwrap();
        }
        collector.lock().unwrap().push(update.clone());
    });
    assert_eq!(text(&done.await.unwrap()), "one\ntwo\n");
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], ToolOutput::default(), "the first update reports the start");
    assert_eq!(text(&seen[1]), "one\n");
}
