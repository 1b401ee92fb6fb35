//! Planted keys never turn up: whatever fails, in whatever mode, wherever one looks.
//!
//! The program runs with a key from each place a key can come from, against servers that quote it
//! back. Then every file below the home, the project and the temporary directory is searched, with
//! everything that was printed and everything that can be exported.

mod server;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::world::World;
use server::{Fails, Server};

/// Ways of failing that need masks in the results of tools, in sessions and events. Until there are
/// any, only what leaves is searched: exports and what is shown.
const RESULTS_NOT_MASKED_YET: &[Fails] = &[Fails::AsksForTheEnvironment];

/// Where the key comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Variable,
    Auth,
    Models,
    Flag,
    Command,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Print,
    Json,
    Rpc,
}

const FROM: [From; 5] = [From::Variable, From::Auth, From::Models, From::Flag, From::Command];
const MODES: [Mode; 3] = [Mode::Print, Mode::Json, Mode::Rpc];

/// A machine on which a key is planted.
struct Planted {
    world: World,
    key: String,
    from: From,
}

/// What a run printed.
struct Printed {
    id: u32,
    stdout: String,
    stderr: String,
}

impl Planted {
    fn new(name: &str, from: From, url: &str) -> Self {
        let world = World::new();
        // No known shape: it can be masked only by those who know it.
        let key = format!("planted/{name}+{from:?}-of-a-shape-that-nobody-knows=");
        let planted = Self { world, key, from };
        let key = &planted.key;
        planted.write(
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
                fs::write(planted.world.agent().join("key.txt"), key).unwrap();
                let file = planted.world.agent().join("key.txt");
                provider["apiKey"] = json!(format!("!cat {}", file.display()));
            }
            From::Auth => {
                planted.write("auth.json", &json!({"mock": {"type": "api_key", "key": key}}));
                provider["apiKey"] = json!("another");
            }
            From::Flag => provider["apiKey"] = json!("another"),
        }
        planted.write("models.json", &json!({"providers": {"mock": provider}}));
        planted
    }

    fn write(&self, name: &str, content: &Value) {
        fs::create_dir_all(self.world.agent()).unwrap();
        fs::write(self.world.agent().join(name), content.to_string()).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        let temporary = self.world.project().join("../tmp");
        fs::create_dir_all(&temporary).unwrap();
        command.env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        match self.from {
            From::Variable => drop(command.env("PLANTED_API_KEY", &self.key)),
            From::Flag => drop(command.args(["--model", "mock/m1", "--api-key", &self.key])),
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

    /// A prompt, then a page, over RPC.
    fn converse(&self) -> Printed {
        let mut child = self.command(&["--mode", "rpc"]).stdin(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stdout = String::new();
        let mut say_until = |line: &str, sign: &str| {
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
        say_until(r#"{"type":"prompt","message":"hello"}"#, "agent_settled");
        say_until(r#"{"type":"export_html","outputPath":"rpc.html"}"#, "\"export_html\"");
        say_until(r#"{"type":"get_messages"}"#, "\"get_messages\"");
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Printed { id, stdout, stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// The key, or enough of it, in any spelling.
    fn is_in(&self, text: &[u8]) -> bool {
        let has = |needle: &str| text.windows(needle.len()).any(|part| part == needle.as_bytes());
        // What is left of a key that was cut off counts too.
        let half = &self.key[..self.key.len() / 3];
        let encoded = STANDARD.encode(format!("Bearer {}", self.key));
        has(half)
            || has(&encoded[12..40])
            || has(&half.replace('/', "%2F"))
            || has("shape-that-nobody")
    }

    #[track_caller]
    fn assert_clean(&self, what: &str, text: &[u8]) {
        assert!(!self.is_in(text), "{what} has the key: {}", String::from_utf8_lossy(text));
    }

    /// Everything that leaves, for every session there is.
    fn assert_exports_clean(&self, what: &str) {
        let sessions = files_below(&self.world.agent().join("sessions"));
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
                let mut command = self.world.command(&arguments);
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

    /// Every file but those in which the key was planted.
    fn assert_files_clean(&self, what: &str) {
        let planted = ["auth.json", "models.json", "key.txt"];
        let root = self.world.project();
        let files = files_below(root.parent().unwrap());
        assert!(files.len() > 2, "{files:?}");
        for file in files {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if !planted.contains(&name.as_str()) {
                self.assert_clean(
                    &format!("{what}: {}", file.display()),
                    &fs::read(&file).unwrap(),
                );
            }
        }
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

fn check(fails: Fails, from: From, mode: Mode) {
    let name = format!("{fails:?}{mode:?}");
    let server = Server::start(fails);
    let planted = Planted::new(&name, from, &server.url());
    let printed = planted.run(mode);
    let what = format!("{fails:?} {from:?} {mode:?}");
    let quoted = format!("{}{}", printed.stdout, printed.stderr);
    if fails == Fails::AsksForTheEnvironment {
        assert!(quoted.contains("Well"), "{what}: {quoted}");
        check_processes(&planted, &printed);
    } else if !matches!(fails, Fails::HangsUp | Fails::AtTheCut) {
        // Otherwise this would show nothing.
        assert!(quoted.contains("[masked:"), "{what}: {quoted}");
    }
    // Results of tools are of interest only if they have the key.
    if !RESULTS_NOT_MASKED_YET.contains(&fails) || from != From::Variable {
        planted.assert_clean(&format!("{what}: stdout"), printed.stdout.as_bytes());
        planted.assert_clean(&format!("{what}: stderr"), printed.stderr.as_bytes());
        fs::remove_file(planted.world.project().join("../tmp/processes.txt")).ok();
        planted.assert_files_clean(&what);
    }
    if mode == Mode::Rpc {
        let page = fs::read(planted.world.project().join("rpc.html")).unwrap();
        planted.assert_clean(&format!("{what}: the page"), &page);
    }
    // What only a command knew, or a flag, is not known to a later program.
    if !RESULTS_NOT_MASKED_YET.contains(&fails) || from == From::Variable {
        planted.assert_exports_clean(&what);
    }
}

/// No process but the one that was started with it has the key among its arguments.
fn check_processes(planted: &Planted, printed: &Printed) {
    let processes =
        fs::read_to_string(planted.world.project().join("../tmp/processes.txt")).unwrap();
    assert!(processes.contains("cmdline") || processes.lines().count() > 4, "{processes}");
    let own = printed.id.to_string();
    for process in processes.split("\n\n") {
        let (id, line) = process.trim().split_once('\n').unwrap_or_default();
        if id != own {
            planted.assert_clean(&format!("process {id}"), line.as_bytes());
        }
    }
}

#[test]
fn whatever_fails_no_key_is_told() {
    let all = [
        Fails::Refuses,
        Fails::Breaks,
        Fails::BadJson,
        Fails::AtTheCut,
        Fails::Encoded,
        Fails::Redirects,
        Fails::Pauses,
        Fails::InStream,
        Fails::BadStream,
        Fails::HangsUp,
    ];
    let mut from = FROM.into_iter().cycle();
    for fails in all {
        for mode in MODES {
            check(fails, from.next().unwrap(), mode);
        }
    }
}

#[test]
fn wherever_the_key_comes_from_it_is_not_told() {
    for from in FROM {
        for mode in MODES {
            check(Fails::Refuses, from, mode);
        }
    }
}

#[test]
fn a_tool_that_shows_everything_leaves_no_key_in_exports_or_arguments() {
    for from in FROM {
        for mode in MODES {
            check(Fails::AsksForTheEnvironment, from, mode);
        }
    }
}

#[test]
fn a_password_in_an_address_is_not_told() {
    // Nobody listens at the first port.
    let planted =
        Planted::new("address", From::Models, "http://me:planted%2Faddress+pass@127.0.0.1:1/v1");
    for mode in MODES {
        let printed = planted.run(mode);
        assert!(!format!("{}{}", printed.stdout, printed.stderr).contains("address+pass"));
        planted.assert_files_clean("refused");
        planted.assert_exports_clean("refused");
    }
}

#[test]
fn a_command_for_a_key_that_fails_may_say_anything() {
    for mode in MODES {
        let planted = Planted::new("failing", From::Models, "http://127.0.0.1:1/v1");
        fs::write(planted.world.agent().join("key.txt"), &planted.key).unwrap();
        let file = planted.world.agent().join("key.txt");
        let line = format!("!cat {0}; echo \"no: $(cat {0})\" >&2; exit 3", file.display());
        let models = fs::read_to_string(planted.world.agent().join("models.json")).unwrap();
        let mut models: Value = serde_json::from_str(&models).unwrap();
        models["providers"]["mock"]["apiKey"] = json!(line);
        planted.write("models.json", &models);
        let printed = planted.run(mode);
        let quoted = format!("{}{}", printed.stdout, printed.stderr);
        assert!(quoted.contains("no: [masked:"), "{mode:?}: {quoted}");
        planted.assert_clean("what was printed", quoted.as_bytes());
        planted.assert_files_clean("failing command");
    }
}

#[test]
fn exports_are_masked_unless_asked_otherwise() {
    let world = World::new();
    let token = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let session = world.session("01", &world.project(), &format!("use {token} please"));
    let session = session.to_str().unwrap();
    for format in ["html", "markdown", "jsonl"] {
        let export = ["sessions", "export", session, "-", "--format", format];
        let masked = world.out(&export);
        assert!(!masked.contains(&token), "{format}");
        assert!(masked.contains("use [masked:github-token:"), "{format}: {masked}");
        let whole = world.out(&[&export[..], &["--unmasked"]].concat());
        assert!(whole.contains(&token), "{format}");
        assert!(!whole.contains("[masked:"), "{format}");
    }
    for arguments in [&["sessions", "show", session][..], &["sessions", "show", "--json", session]]
    {
        let shown = world.out(arguments);
        assert!(!shown.contains(&token) && shown.contains("[masked:github-token:"), "{shown}");
    }
    world.out(&["--export", session, "page.html"]);
    let page = fs::read_to_string(world.project().join("page.html")).unwrap();
    assert!(!page.contains(&token) && page.contains("[masked:github-token:"), "{page}");
}
