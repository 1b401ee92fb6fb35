//! Secret keys never leak, in any mode and after any failure.
//!
//! The program runs with a key from each possible source, against servers that quote the key. Then
//! every file below the home, the project and the temporary directory is searched, and all output
//! and all exports.

mod server;
mod tokens;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::test_env::TestEnv;
use server::{Behavior, Server};
use tokens::{FAILURES, TokenServer};

/// Source of the key.
#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Variable,
    Auth,
    Models,
    Flag,
    Command,
    Login,
    Account,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Print,
    Json,
    Rpc,
}

const FROM: [From; 7] = [
    From::Variable,
    From::Auth,
    From::Models,
    From::Flag,
    From::Command,
    From::Login,
    From::Account,
];
const MODES: [Mode; 3] = [Mode::Print, Mode::Json, Mode::Rpc];

/// A test environment with a secret key.
struct KeyEnv {
    env: TestEnv,
    key: String,
    from: From,
}

/// Output of a run.
struct Printed {
    id: u32,
    stdout: String,
    stderr: String,
}

impl KeyEnv {
    fn new(name: &str, from: From, url: &str) -> Self {
        let env = TestEnv::new();
        // No known format, so it can be redacted only by its value.
        let key = format!("planted/{name}+{from:?}-of-a-format-that-is-unknown=");
        let env = Self { env, key, from };
        let key = &env.key;
        env.write(
            "settings.json",
            &json!({
                "defaultProvider": "mock", "defaultModel": "m1",
                "retry": {"baseDelayMs": 1, "maxRetries": 1},
            }),
        );
        let mut provider = json!({
            "baseUrl": url, "api": "openai-completions",
            "models": [{"id": "m1", "contextWindow": 100_000, "maxTokens": 1000}],
        });
        match from {
            From::Variable => provider["apiKey"] = json!("$PLANTED_API_KEY"),
            From::Models => provider["apiKey"] = json!(key),
            From::Command => {
                fs::write(env.agent().join("key.txt"), key).unwrap();
                let file = env.agent().join("key.txt");
                provider["apiKey"] = json!(format!("!cat {}", file.display()));
            }
            From::Auth => {
                env.write("auth.json", &json!({"mock": {"type": "api_key", "key": key}}));
                provider["apiKey"] = json!("another");
            }
            From::Flag => provider["apiKey"] = json!("another"),
            From::Login => {
                let settings = fs::read_to_string(env.agent().join("settings.json")).unwrap();
                let mut settings: Value = serde_json::from_str(&settings).unwrap();
                let service = json!({"authorizeUrl": url, "tokenUrl": url, "clientId": "c"});
                settings["oauth"] = json!({ "mock": service });
                env.write("settings.json", &settings);
                let login = json!({"type": "oauth", "access": key, "refresh": "", "expires": 9e15});
                env.write("auth.json", &json!({ "mock": login }));
            }
            From::Account => {
                let account = json!({"type": "api_key", "key": key});
                let other = json!({"type": "api_key", "key": "another"});
                env.write("auth.json", &json!({"mock": other, "mock@work": account}));
            }
        }
        env.write("models.json", &json!({"providers": {"mock": provider}}));
        env
    }

    fn write(&self, name: &str, content: &Value) {
        fs::create_dir_all(self.env.agent()).unwrap();
        fs::write(self.env.agent().join(name), content.to_string()).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(arguments);
        let temporary = self.env.project().join("../tmp");
        fs::create_dir_all(&temporary).unwrap();
        command.env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        match self.from {
            From::Variable => drop(command.env("PLANTED_API_KEY", &self.key)),
            From::Flag => drop(command.args(["--model", "mock/m1", "--api-key", &self.key])),
            From::Account => drop(command.args(["--account", "mock@work"])),
            _ => {}
        }
        command
    }

    fn run(&self, mode: Mode) -> Printed {
        let mut command = match mode {
            Mode::Print => self.command(&["-p", "hello"]),
            Mode::Json => self.command(&["--mode", "json", "hello"]),
            Mode::Rpc => return self.converse(),
        };
        let child = command.spawn().unwrap();
        let id = child.id();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Printed { id, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Sends a prompt and exports a page in RPC mode.
    fn converse(&self) -> Printed {
        let mut child = self.command(&["--mode", "rpc"]).stdin(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stdout = String::new();
        let mut send_until = |line: &str, sign: &str| {
            writeln!(stdin, "{line}").unwrap();
            for line in lines.by_ref() {
                let line = line.unwrap();
                stdout.push_str(&line);
                stdout.push('\n');
                if line.contains(sign) {
                    return;
                }
            }
        };
        send_until(r#"{"type":"prompt","message":"hello"}"#, "agent_settled");
        send_until(r#"{"type":"export_html","outputPath":"rpc.html"}"#, "\"export_html\"");
        send_until(r#"{"type":"get_messages"}"#, "\"get_messages\"");
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Printed { id, stdout, stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// Returns true if the text contains the key or a large part of it, in any encoding.
    fn is_in(&self, text: &[u8]) -> bool {
        let has = |needle: &str| text.windows(needle.len()).any(|part| part == needle.as_bytes());
        // Parts of a truncated key count as well.
        let half = &self.key[..self.key.len() / 3];
        let encoded = STANDARD.encode(format!("Bearer {}", self.key));
        has(half)
            || has(&encoded[12..40])
            || has(&half.replace('/', "%2F"))
            || has("format-that-is-unknown")
    }

    #[track_caller]
    fn assert_clean(&self, what: &str, text: &[u8]) {
        assert!(!self.is_in(text), "{what} has the key: {}", String::from_utf8_lossy(text));
    }

    /// Asserts that no export of any session contains the key.
    fn assert_exports_clean(&self, what: &str) {
        let sessions = files_below(&self.env.agent().join("sessions"));
        for session in sessions.iter().filter(|file| file.extension().is_some_and(|e| e == "jsonl"))
        {
            let session = session.to_str().unwrap();
            let mut commands = vec![
                vec!["sessions", "show", session],
                vec!["sessions", "show", "--json", session],
                vec!["sessions", "show", "--tools", "full", session],
            ];
            for format in ["html", "markdown", "jsonl"] {
                commands.push(vec!["sessions", "export", session, "-", "--format", format]);
            }
            for arguments in commands {
                let mut command = self.env.command(&arguments);
                if self.from == From::Variable {
                    command.env("PLANTED_API_KEY", &self.key);
                }
                let output = command.output().unwrap();
                assert!(output.status.success(), "{arguments:?}: {output:?}");
                assert!(output.stdout.len() > 50, "{arguments:?}");
                self.assert_clean(&format!("{what}: {arguments:?}"), &output.stdout);
                self.assert_clean(&format!("{what}: {arguments:?}"), &output.stderr);
            }
        }
    }

    /// Asserts that no file contains the key, except those that configure it.
    fn assert_files_clean(&self, what: &str) {
        let configured = ["auth.json", "models.json", "key.txt"];
        let root = self.env.project();
        let files = files_below(root.parent().unwrap());
        assert!(files.len() > 2, "{files:?}");
        for file in files {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if !configured.contains(&name.as_str()) {
                self.assert_clean(
                    &format!("{what}: {}", file.display()),
                    &fs::read(&file).unwrap(),
                );
            }
        }
    }
}

impl std::ops::Deref for KeyEnv {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}

fn check(behavior: Behavior, from: From, mode: Mode) {
    let name = format!("{behavior:?}{mode:?}");
    let server = Server::start(behavior);
    let env = KeyEnv::new(&name, from, &server.url());
    let printed = env.run(mode);
    let what = format!("{behavior:?} {from:?} {mode:?}");
    let quoted = format!("{}{}", printed.stdout, printed.stderr);
    if behavior == Behavior::PrintsEnvironment {
        assert!(quoted.contains("Well"), "{what}: {quoted}");
        check_processes(&env, &printed);
    } else if !matches!(behavior, Behavior::HangsUp | Behavior::AtTheCut) {
        // Without a redacted key, the test would prove nothing.
        assert!(quoted.contains("[masked:"), "{what}: {quoted}");
    }
    env.assert_clean(&format!("{what}: stdout"), printed.stdout.as_bytes());
    env.assert_clean(&format!("{what}: stderr"), printed.stderr.as_bytes());
    fs::remove_file(env.project().join("../tmp/processes.txt")).ok();
    env.assert_files_clean(&what);
    if mode == Mode::Rpc {
        let page = fs::read(env.project().join("rpc.html")).unwrap();
        env.assert_clean(&format!("{what}: the page"), &page);
    }
    env.assert_exports_clean(&what);
}

/// Asserts that no process except the started one has the key in its arguments.
fn check_processes(env: &KeyEnv, printed: &Printed) {
    let processes = fs::read_to_string(env.project().join("../tmp/processes.txt")).unwrap();
    assert!(processes.contains("cmdline") || processes.lines().count() > 4, "{processes}");
    let own = printed.id.to_string();
    for process in processes.split("\n\n") {
        let (id, line) = process.trim().split_once('\n').unwrap_or_default();
        if id != own {
            env.assert_clean(&format!("process {id}"), line.as_bytes());
        }
    }
}

#[test]
fn no_failure_leaks_a_key() {
    let all = [
        Behavior::Refuses,
        Behavior::Breaks,
        Behavior::BadJson,
        Behavior::AtTheCut,
        Behavior::Encoded,
        Behavior::Redirects,
        Behavior::Pauses,
        Behavior::InStream,
        Behavior::BadStream,
        Behavior::HangsUp,
    ];
    let mut from = FROM.into_iter().cycle();
    for behavior in all {
        for mode in MODES {
            check(behavior, from.next().unwrap(), mode);
        }
    }
}

#[test]
fn no_key_leaks_from_any_source() {
    for from in FROM {
        for mode in MODES {
            check(Behavior::Refuses, from, mode);
        }
    }
}

#[test]
fn a_tool_that_prints_the_environment_leaks_no_key() {
    for from in FROM {
        for mode in MODES {
            check(Behavior::PrintsEnvironment, from, mode);
        }
    }
}

#[test]
fn no_failed_renewal_leaks_a_token() {
    for (at, failure) in FAILURES.into_iter().enumerate() {
        // The access token and the name of the key; the others have the same end.
        let env = KeyEnv::new("renewal", From::Login, "http://127.0.0.1:1/v1");
        let refresh = format!("planted/{at}+refresh-of-a-format-that-is-unknown=");
        let new = format!("planted/{at}+renewed-of-a-format-that-is-unknown=");
        let server = TokenServer::start(failure, &refresh, &new);
        let mut settings: Value =
            serde_json::from_slice(&fs::read(env.agent().join("settings.json")).unwrap()).unwrap();
        settings["oauth"]["mock"]["tokenUrl"] = json!(server.url());
        env.write("settings.json", &settings);
        let login = json!({"type": "oauth", "access": env.key, "refresh": refresh, "expires": 1});
        env.write("auth.json", &json!({ "mock": login }));
        let what = format!("{failure:?}");
        for mode in MODES {
            let printed = env.run(mode);
            let quoted = format!("{}{}", printed.stdout, printed.stderr);
            assert!(quoted.contains("The login of mock"), "{what} {mode:?}: {quoted}");
            env.assert_clean(&format!("{what} {mode:?}"), quoted.as_bytes());
        }
        for command in ["print-bearer-token", "print-api-key", "check"] {
            let output = env.command(&["auth", command, "--provider", "mock"]).output().unwrap();
            assert!(!output.status.success(), "{what}: {command}");
            env.assert_clean(&format!("{what}: {command}"), &output.stdout);
            env.assert_clean(&format!("{what}: {command}"), &output.stderr);
        }
        let kept: Value =
            serde_json::from_slice(&fs::read(env.agent().join("auth.json")).unwrap()).unwrap();
        assert_eq!(kept["mock"]["refresh"], refresh, "{what}");
        env.assert_files_clean(&what);
        env.assert_exports_clean(&what);
    }
}

#[test]
fn a_password_in_a_url_does_not_leak() {
    // No server listens on port 1.
    let env =
        KeyEnv::new("address", From::Models, "http://me:planted%2Faddress+pass@127.0.0.1:1/v1");
    for mode in MODES {
        let printed = env.run(mode);
        assert!(!format!("{}{}", printed.stdout, printed.stderr).contains("address+pass"));
        env.assert_files_clean("refused");
        env.assert_exports_clean("refused");
    }
}

#[test]
fn a_failing_key_command_leaks_no_key() {
    for mode in MODES {
        let env = KeyEnv::new("failing", From::Models, "http://127.0.0.1:1/v1");
        fs::write(env.agent().join("key.txt"), &env.key).unwrap();
        let file = env.agent().join("key.txt");
        let line = format!("!cat {0}; echo \"no: $(cat {0})\" >&2; exit 3", file.display());
        let models = fs::read_to_string(env.agent().join("models.json")).unwrap();
        let mut models: Value = serde_json::from_str(&models).unwrap();
        models["providers"]["mock"]["apiKey"] = json!(line);
        env.write("models.json", &models);
        let printed = env.run(mode);
        let quoted = format!("{}{}", printed.stdout, printed.stderr);
        assert!(quoted.contains("no: [masked:"), "{mode:?}: {quoted}");
        env.assert_clean("what was printed", quoted.as_bytes());
        env.assert_files_clean("failing command");
    }
}

#[test]
fn exports_are_redacted_by_default() {
    let env = TestEnv::new();
    let token = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let session = env.session("01", &env.project(), &format!("use {token} please"));
    let session = session.to_str().unwrap();
    for format in ["html", "markdown", "jsonl"] {
        let export = ["sessions", "export", session, "-", "--format", format];
        let redacted = env.out(&export);
        assert!(!redacted.contains(&token), "{format}");
        assert!(redacted.contains("use [masked:github-token:"), "{format}: {redacted}");
        let whole = env.out(&[&export[..], &["--unmasked"]].concat());
        assert!(whole.contains(&token), "{format}");
        assert!(!whole.contains("[masked:"), "{format}");
    }
    for arguments in [&["sessions", "show", session][..], &["sessions", "show", "--json", session]]
    {
        let shown = env.out(arguments);
        assert!(!shown.contains(&token) && shown.contains("[masked:github-token:"), "{shown}");
    }
    env.out(&["--export", session, "page.html"]);
    let page = fs::read_to_string(env.project().join("page.html")).unwrap();
    assert!(!page.contains(&token) && page.contains("[masked:github-token:"), "{page}");
}
