//! Runs every command of the README and of `docs/getting-started.md`.
//!
//! The commands are in blocks that are marked `console`, one per line after `$ `. A command ends
//! with 0, or with the code in a comment at its end. The blocks of a page run from top to bottom in
//! one environment with a scripted model. Blocks marked `json` are the configuration of that
//! environment.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

const README: &str = include_str!("../../../../README.md");
const GETTING_STARTED: &str = include_str!("../../../../docs/getting-started.md");
const INDEX: &str = include_str!("../../../../docs/README.md");

/// Options with which `pi` sends prompts to the model.
const RUNS: [&str; 2] = [" -p ", " --mode json "];

/// Exit code of a command that cannot be sandboxed on this machine.
const NO_SANDBOX: i32 = 8;

/// Returns the code blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let parts = page.split(open.as_str()).skip(1);
    parts.map(|part| part.split("```").next().unwrap()).collect()
}

/// Returns the commands of the `console` blocks.
fn commands(page: &str) -> Vec<&str> {
    let lines = blocks(page, "console").into_iter().flat_map(str::lines);
    lines.map(|line| line.strip_prefix("$ ").expect("a line without a command")).collect()
}

/// Returns the replies of the model to the prompts of a command.
fn replies(command: &str) -> Vec<Reply> {
    let mut replies = Vec::new();
    if command.contains("notes.txt") {
        let args = json!({"path": "notes.txt", "content": "Which colors?\n"});
        let call = Call { id: "call_1".to_owned(), name: "write".to_owned(), args, pieces: None };
        replies.push(Reply::Parts(vec![Part::Call(call)]));
    }
    if RUNS.iter().any(|option| command.contains(option)) {
        replies.push(Reply::Text("A project with colors.".to_owned()));
    }
    replies
}

/// Writes the configuration that the page shows, with the scripted server in place of a real one.
fn configure(agent: &Path, page: &str, server: &Server) {
    fs::create_dir_all(agent).unwrap();
    let mut files = BTreeSet::new();
    for block in blocks(page, "json") {
        let mut value: Value = serde_json::from_str(block).unwrap();
        let name = if value.get("providers").is_some() { "models.json" } else { "settings.json" };
        if let Some(provider) = value.pointer_mut("/providers/local") {
            provider["baseUrl"] = json!(format!("{}/v1", server.url()));
        }
        fs::write(agent.join(name), value.to_string()).unwrap();
        assert!(files.insert(name), "two blocks for {name}");
    }
    assert_eq!(files.len(), 2, "models.json and settings.json");
}

fn run(env: &TestEnv, command: &str) -> Output {
    // The build is tested by this test existing.
    let command = command.replace("cargo run --release --package pi --", "pi");
    let directory = Path::new(env!("CARGO_BIN_EXE_pi")).parent().unwrap();
    let template = env.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-ec", &command]).env_clear().current_dir(env.project()).stdin(Stdio::null());
    shell.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", directory.display()));
    shell.output().unwrap()
}

/// Runs the commands of a page with the configuration of the guide.
fn run_page(page: &str) -> usize {
    let commands = commands(page);
    let server = Server::start(commands.iter().flat_map(|command| replies(command)).collect());
    let server = server.unwrap();
    let env = TestEnv::new();
    configure(&env.agent(), GETTING_STARTED, &server);
    fs::write(env.project().join("README.md"), "# A project\n").unwrap();
    assert!(run(&env, "git init -q .").status.success());
    for command in &commands {
        let output = run(&env, command);
        let expected = match command.split_once("# exit code ") {
            Some((_, code)) => code.parse().unwrap(),
            None => 0,
        };
        let code = output.status.code();
        let needs_sandbox = command.contains("unattended") || command.contains("sandbox");
        if !(needs_sandbox && code == Some(NO_SANDBOX)) {
            assert_eq!(code, Some(expected), "{command}: {output:?}");
        }
        assert!(!output.stdout.is_empty(), "{command} prints nothing: {output:?}");
    }
    commands.len()
}

#[test]
fn commands_of_the_guide_run() {
    assert!(run_page(GETTING_STARTED) >= 25);
}

#[test]
fn commands_of_the_readme_run() {
    let commands = commands(README);
    assert_eq!(commands[0], "cargo run --release --package pi -- demo");
    assert!(run_page(README) >= 5);
}

#[test]
fn all_pages_are_in_the_index() {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    for entry in fs::read_dir(docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let link = format!("]({name})");
        assert!(
            name == "README.md" || INDEX.contains(&link),
            "{name} is missing in docs/README.md"
        );
    }
    for page in [README, GETTING_STARTED, INDEX] {
        // Every second part is the content of a fence.
        let mut prose = page.split("```").step_by(2).flat_map(str::lines);
        assert_eq!(prose.find(|line| line.starts_with("    ")), None, "use a fence for code");
    }
}
