//! The safety profiles, with the binary, real commands and a scripted model.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pi_guard::confine::{ConfinementLevel, Machine};
use serde_json::{Value, json};

use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Configures a model that makes these tool calls, one per turn, and then ends.
pub(crate) fn model(env: &TestEnv, calls: &[(&str, Value)]) -> Server {
    let call = |(name, args): &(&str, Value)| {
        let (id, name, args) = ("c".to_owned(), (*name).to_owned(), args.clone());
        Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
    };
    let mut replies: Vec<Reply> = calls.iter().map(call).collect();
    replies.push(Reply::Text("Done.".to_owned()));
    let server = Server::start(replies).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "secret-key-of-the-model",
        "api": "openai-completions", "models": [{"id": "m1"}]});
    fs::create_dir_all(env.agent()).unwrap();
    let models = json!({"providers": {"mock": provider}}).to_string();
    fs::write(env.agent().join("models.json"), models).unwrap();
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1"}).to_string();
    fs::write(env.agent().join("settings.json"), settings).unwrap();
    server
}

/// Returns the tool results in the last request.
pub(crate) fn results(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let Some(last) = requests.last() else { return Vec::new() };
    let messages = last["messages"].as_array().unwrap().iter();
    let of_tools = messages.filter(|message| message["role"] == "tool");
    of_tools
        .map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            blocks => {
                let texts = blocks.as_array().unwrap().iter();
                texts.map(|block| block["text"].as_str().unwrap()).collect()
            }
        })
        .collect()
}

pub(crate) fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the isolation that this machine offers; some tests need at least Landlock.
pub(crate) fn rung() -> ConfinementLevel {
    Machine::detect().level()
}

#[test]
fn unattended_runs_are_sandboxed_and_report_it() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    // Not below the temporary directory, which is private in the sandbox.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = elsewhere.path().join("outside");
    let server = model(
        &env,
        &[
            bash("mkdir -p src && echo inside > src/file && cat src/file"),
            bash(&format!("echo x > {}", outside.display())),
            ("write", json!({"path": outside, "content": "x"})),
            ("write", json!({"path": "src/new.txt", "content": "x"})),
            ("write", json!({"path": ".git/hooks/post-commit", "content": "x"})),
            ("read", json!({"path": env.agent().join("auth.json")})),
            bash("env"),
            bash(
                "curl -sS --max-time 5 http://example.com || bash -c ': < /dev/tcp/example.com/80'",
            ),
            bash("rm -rf ~/"),
            bash("echo temporary > /tmp/pi-test-of-its-own"),
            ("read", json!({"path": "/tmp/pi-test-of-its-own"})),
            ("write", json!({"path": "/tmp/pi-test-of-ours", "content": "temporary too"})),
            bash("cat /tmp/pi-test-of-ours"),
        ],
    );
    fs::write(env.agent().join("auth.json"), "{}").unwrap();
    let mut command = env.command(&["-p", "--profile", "unattended", "Go"]);
    command.env("SOME_API_KEY", "secret-key-of-the-environment");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("profile unattended, sandbox workspace-write"), "{output:?}");
    assert!(stderr(&output).contains("Landlock"), "{output:?}");
    let results = results(&server);
    assert_eq!(results[0].trim(), "inside");
    assert!(results[1].contains("The sandbox denied"), "{}", results[1]);
    assert!(results[2].contains("only the workspace"), "{}", results[2]);
    assert!(!outside.exists());
    assert!(env.project().join("src/new.txt").exists());
    assert!(results[4].contains("protected"), "{}", results[4]);
    assert!(results[5].contains("hidden"), "{}", results[5]);
    assert!(!results[6].contains("secret-key") && results[6].contains("PATH="), "{}", results[6]);
    assert!(results[7].contains("The sandbox denied a connection"), "{}", results[7]);
    assert!(results[8].contains("not allowed"), "{}", results[8]);
    // Only bubblewrap gives commands a `/tmp` of their own.
    if rung() == ConfinementLevel::Bubblewrap {
        assert!(results[10].contains("temporary"), "{}", results[10]);
        assert!(results[12].contains("temporary too"), "{}", results[12]);
    }
    assert!(!Path::new("/tmp/pi-test-of-its-own").exists());
    // No file of the sandbox remains.
    let left: Vec<_> = fs::read_dir(env.project()).unwrap().flatten().collect();
    let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["src"]);
}

/// Servers and long outputs belong to the session.
#[test]
fn a_session_leaves_no_temporary_files() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    let server = model(&env, &[bash("seq 200000"), bash("touch $TMPDIR/x; echo x > a")]);
    let servers = json!({"mcpServers": {"mine": {"command": "/bin/cat", "exposure": "direct"}}});
    fs::write(env.agent().join("mcp.json"), servers.to_string()).unwrap();
    let temporary = env.project().parent().unwrap().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command = env.command(&["-p", "--profile", "unattended", "Go"]);
    let output = command.env("TMPDIR", &temporary).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(results(&server).len(), 2);
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    let undone = env.pi(&["undo"]);
    assert_eq!(
        String::from_utf8_lossy(&undone.stdout).lines().skip(1).collect::<Vec<_>>(),
        ["removed a"]
    );
}

#[test]
fn the_guard_status_is_in_the_events_and_in_the_session() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    let _server = model(&env, &[]);
    let out = env.out(&["--mode", "json", "--profile", "unattended", "Go"]);
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = lines.filter(|line| line["type"] == "guard").collect();
    let [status] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(status["profile"], "unattended");
    assert_eq!(status["network"], "off");
    assert_eq!(status["sandbox"], "workspace-write");
    assert!(["bubblewrap", "landlock"].contains(&status["rung"].as_str().unwrap()), "{status}");
    let shown = env.out(&["sessions", "list", "--json"]);
    let sessions: Value = serde_json::from_str(&shown).unwrap();
    let file = sessions[0]["path"].as_str().unwrap();
    assert!(fs::read_to_string(file).unwrap().contains("\"customType\":\"guard\""));
}

/// Runs a command for which the kernel appears to have no Landlock.
#[cfg(target_os = "linux")]
pub(crate) fn without_landlock(command: impl FnOnce() -> Output + Send + 'static) -> Output {
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    with_system_call_error(LANDLOCK_CREATE_RULESET, command)
}

/// Runs a command for which a system call always fails.
#[cfg(target_os = "linux")]
pub(crate) fn with_system_call_error(
    number: i64,
    command: impl FnOnce() -> Output + Send + 'static,
) -> Output {
    use seccompiler::{SeccompAction, SeccompFilter};
    let filter = SeccompFilter::new(
        [(number, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(95),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    // The filter applies to this thread and its children.
    let thread = std::thread::spawn(move || {
        seccompiler::apply_filter(&filter).unwrap();
        command()
    });
    thread.join().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn unattended_is_refused_without_a_sandbox() {
    let env = TestEnv::new();
    let server = model(&env, &[bash("touch made")]);
    let run = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        without_landlock(move || command.output().unwrap())
    };
    for arguments in [
        &["-p", "--profile", "unattended", "Go"][..],
        &["--mode", "json", "--profile", "unattended", "Go"],
        &["-p", "--sandbox", "read-only", "Go"],
        &["-p", "--network", "off", "Go"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(8), "{arguments:?} {output:?}");
        let message = stderr(&output);
        assert!(message.starts_with("pi: the required sandbox is not available: "), "{message}");
        assert!(message.contains("Landlock"), "{message}");
        assert!(
            message
                .ends_with("\nhint: see `pi doctor` for the isolation that this machine offers\n"),
            "{message}"
        );
    }
    let (code, message) = env.failure(&["-p", "--profile", "unattended", "--sandbox", "off", "Go"]);
    assert_eq!(code, Some(8), "{message}");
    assert!(server.requests().is_empty() && !env.project().join("made").exists());
    // Runs that need no sandbox are not affected.
    let output = run(&["-p", "Go"]);
    assert!(output.status.success() && env.project().join("made").exists(), "{output:?}");
}

#[test]
fn commands_that_cannot_be_analyzed_are_sandboxed_if_there_are_rules() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    let outside = env.agent().ancestors().nth(2).unwrap().join("outside");
    let spelling = "$(printf '%s%s' c at) src/file";
    let server = model(
        &env,
        &[
            bash("mkdir src; echo content > src/file"),
            bash(spelling),
            bash(&format!("X=tou; ${{X}}ch {}", outside.display())),
            bash(
                "python3 -c 'import subprocess as s; print(s.run([\"c\" + \"at\", \"src/file\"]))' || exit 3",
            ),
        ],
    );
    fs::create_dir_all(env.agent().join("rules")).unwrap();
    let rules = "[[command]]\nprefix = [\"cat\"]\ndecision = \"forbid\"\n";
    fs::write(env.agent().join("rules/mine.toml"), rules).unwrap();
    let output = env.pi(&["-p", "Go"]);
    assert!(output.status.success(), "{output:?}");
    let results = results(&server);
    for result in &results[1..] {
        assert!(!result.contains("content"), "{result}");
    }
    assert!(!outside.exists());
    assert!(results[1].contains("denied") || results[1].contains("not allowed"), "{}", results[1]);
}

#[test]
fn invalid_rules_are_configuration_errors() {
    let env = TestEnv::new();
    let server = model(&env, &[]);
    let wrong = env.project().join("wrong.toml");
    fs::write(&wrong, "[[command]]\nprefix = [\"ls\"]\ndecision = \"alow\"\n").unwrap();
    let (code, message) = env.failure(&["-p", "--rules", "wrong.toml", "Go"]);
    assert_eq!(code, Some(6), "{message}");
    assert!(message.starts_with("pi: the policy cannot be loaded: "), "{message}");
    assert!(message.contains("wrong.toml:3"), "{message}");
    let hint = "\nhint: fix the file or remove it; no command runs without a valid policy\n";
    assert!(message.ends_with(hint), "{message}");
    let (code, message) = env.failure(&["-p", "--rules", "missing.toml", "Go"]);
    assert_eq!(code, Some(6), "{message}");
    let (code, message) = env.failure(&["-p", "--profile", "unatended", "Go"]);
    assert_eq!(code, Some(2), "{message}");
    fs::write(env.agent().join("settings.json"), "{\"guard\": {\"profile\": 1}}").unwrap();
    let (code, message) = env.failure(&["-p", "Go"]);
    assert_eq!(code, Some(6), "{message}");
    assert!(server.requests().is_empty());
}

/// Runs in RPC mode and answers each question with the option that has the given prefix. Returns the
/// titles of the questions.
pub(crate) fn with_answers(env: &TestEnv, arguments: &[&str], answers: &[&str]) -> Vec<String> {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut command: Command = env.command(&[&["--mode", "rpc"], arguments].concat());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    writeln!(input, "{}", json!({"type": "prompt", "message": "Go"})).unwrap();
    let mut asked = Vec::new();
    for line in lines.by_ref().map_while(Result::ok) {
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["type"] == "agent_settled" {
            break;
        }
        if record["type"] != "extension_ui_request" || record["method"] != "select" {
            continue;
        }
        asked.push(record["title"].as_str().unwrap().to_owned());
        let options = record["options"].as_array().unwrap();
        let wanted = answers.get(asked.len() - 1).expect("an answer");
        let chosen = options.iter().find(|o| o.as_str().unwrap().starts_with(wanted)).unwrap();
        let answer = json!({"type": "extension_ui_response", "id": record["id"], "value": chosen});
        writeln!(input, "{answer}").unwrap();
    }
    drop(input);
    child.wait().unwrap();
    asked
}

#[test]
fn approvals_are_rpc_requests() {
    let env = TestEnv::new();
    let server = model(&env, &[bash("mkdir one"), bash("mkdir two"), bash("rmdir one")]);
    let asked = with_answers(&env, &["--profile", "careful"], &["Yes, for this session", "No"]);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("mkdir one") && asked[1].contains("rmdir one"), "{asked:?}");
    let results = results(&server);
    assert!(results[2].contains("the user denied it"), "{results:?}");
    assert!(env.project().join("two").exists());
}

#[test]
fn a_denied_command_is_retried_if_approved() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = |name: &str| elsewhere.path().join(name);
    let write = |name: &str| bash(&format!("echo x > {}", outside(name).display()));
    let server = model(
        &env,
        &[
            write("one"),
            write("two"),
            ("write", json!({"path": outside("three"), "content": "x"})),
            ("write", json!({"path": outside("four"), "content": "x"})),
            // Forbidden commands cannot be approved.
            bash("X=ca; ${X}t /dev/null"),
        ],
    );
    let rules = env.project().join("rules.toml");
    fs::write(&rules, "[[command]]\nprefix = [\"cat\"]\ndecision = \"forbid\"\n").unwrap();
    let arguments = ["--sandbox", "workspace-write", "--rules", "rules.toml"];
    let asked = with_answers(&env, &arguments, &["Yes, once", "No", "Yes, once", "No"]);
    assert_eq!(asked.len(), 4, "{asked:#?}");
    assert!(asked[0].contains("Run it again") && asked[0].contains("writable"), "{}", asked[0]);
    let there: Vec<bool> =
        ["one", "two", "three", "four"].iter().map(|name| outside(name).exists()).collect();
    assert_eq!(there, [true, false, true, false]);
    let results = results(&server);
    assert!(results[0].contains("It was run again"), "{}", results[0]);
    assert!(results[1].contains("The sandbox denied"), "{}", results[1]);
}

/// With `require: none`, only commands that are known to be harmless run without a sandbox.
#[test]
#[cfg(target_os = "linux")]
fn unattended_without_a_sandbox_runs_only_harmless_commands() {
    let env = TestEnv::new();
    let server = model(
        &env,
        &[
            bash("echo hello"),
            bash("touch made"),
            bash("X=touch; $X made"),
            ("write", json!({"path": "made", "content": "x"})),
        ],
    );
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1",
        "guard": {"profile": "unattended", "require": "none"}});
    fs::write(env.agent().join("settings.json"), settings.to_string()).unwrap();
    let mut command = env.command(&["-p", "Go"]);
    let output = without_landlock(move || command.output().unwrap());
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("no confinement"), "{output:?}");
    let results = results(&server);
    assert!(results[0].contains("hello"), "{results:?}");
    assert!(results[1..].iter().all(|result| result.contains("not allowed")), "{results:?}");
    assert!(!env.project().join("made").exists());
}
