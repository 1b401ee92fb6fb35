//! The profiles, as a user without a screen meets them: the binary, real commands, a scripted
//! model.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pi_guard::confine::{ConfinementLevel, Machine};
use serde_json::{Value, json};

use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::world::World;

/// A model that makes these calls, one after the other, and then says that it is done.
fn model(world: &World, calls: &[(&str, Value)]) -> Server {
    let call = |(name, args): &(&str, Value)| {
        let (id, name, args) = ("c".to_owned(), (*name).to_owned(), args.clone());
        Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
    };
    let mut replies: Vec<Reply> = calls.iter().map(call).collect();
    replies.push(Reply::Text("Done.".to_owned()));
    let server = Server::start(replies).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "planted-key-of-the-model",
        "api": "openai-completions", "models": [{"id": "m1"}]});
    fs::create_dir_all(world.agent()).unwrap();
    let models = json!({"providers": {"mock": provider}}).to_string();
    fs::write(world.agent().join("models.json"), models).unwrap();
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1"}).to_string();
    fs::write(world.agent().join("settings.json"), settings).unwrap();
    server
}

/// What the tools answered.
fn results(server: &Server) -> Vec<String> {
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

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What this machine can hold: a machine without can show nothing.
fn rung() -> ConfinementLevel {
    Machine::detect().level()
}

#[test]
fn unattended_runs_are_confined_and_say_by_what() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let world = World::new();
    // Not in the directory for temporary files, of which a command sees its own.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = elsewhere.path().join("outside");
    let server = model(
        &world,
        &[
            bash("mkdir -p src && echo inside > src/file && cat src/file"),
            bash(&format!("echo x > {}", outside.display())),
            ("write", json!({"path": outside, "content": "x"})),
            ("write", json!({"path": "src/new.txt", "content": "x"})),
            ("write", json!({"path": ".git/hooks/post-commit", "content": "x"})),
            ("read", json!({"path": world.agent().join("auth.json")})),
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
    fs::write(world.agent().join("auth.json"), "{}").unwrap();
    let mut command = world.command(&["-p", "--profile", "unattended", "Go"]);
    command.env("SOME_API_KEY", "planted-key-of-the-environment");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("profile unattended, sandbox workspace-write"), "{output:?}");
    assert!(stderr(&output).contains("Landlock"), "{output:?}");
    let results = results(&server);
    assert_eq!(results[0].trim(), "inside");
    assert!(results[1].contains("The sandbox denied"), "{}", results[1]);
    assert!(results[2].contains("only the workspace"), "{}", results[2]);
    assert!(!outside.exists());
    assert!(world.project().join("src/new.txt").exists());
    assert!(results[4].contains("protected"), "{}", results[4]);
    assert!(results[5].contains("hidden"), "{}", results[5]);
    assert!(!results[6].contains("planted") && results[6].contains("PATH="), "{}", results[6]);
    assert!(results[7].contains("The sandbox denied a connection"), "{}", results[7]);
    assert!(results[8].contains("not allowed"), "{}", results[8]);
    assert!(results[10].contains("temporary"), "{}", results[10]);
    assert!(results[12].contains("temporary too"), "{}", results[12]);
    assert!(!Path::new("/tmp/pi-test-of-its-own").exists());
    // Nothing is left of it.
    let left: Vec<_> = fs::read_dir(world.project()).unwrap().flatten().collect();
    let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["src"]);
}

#[test]
fn what_holds_is_in_the_events_and_in_the_session() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let world = World::new();
    let _server = model(&world, &[]);
    let out = world.out(&["--mode", "json", "--profile", "unattended", "Go"]);
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: Vec<Value> = lines.filter(|line| line["type"] == "guard").collect();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(told["profile"], "unattended");
    assert_eq!(told["network"], "off");
    assert_eq!(told["sandbox"], "workspace-write");
    assert!(["bubblewrap", "landlock"].contains(&told["rung"].as_str().unwrap()), "{told}");
    let shown = world.out(&["sessions", "list", "--json"]);
    let sessions: Value = serde_json::from_str(&shown).unwrap();
    let file = sessions[0]["path"].as_str().unwrap();
    assert!(fs::read_to_string(file).unwrap().contains("\"customType\":\"guard\""));
}

/// A machine whose kernel has no Landlock, as far as the program can tell.
#[cfg(target_os = "linux")]
fn without_landlock(command: impl FnOnce() -> Output + Send + 'static) -> Output {
    use seccompiler::{SeccompAction, SeccompFilter};
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    let filter = SeccompFilter::new(
        [(LANDLOCK_CREATE_RULESET, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(95),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    // It holds for this thread and what it starts.
    let thread = std::thread::spawn(move || {
        seccompiler::apply_filter(&filter).unwrap();
        command()
    });
    thread.join().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn without_confinement_unattended_refuses_with_its_own_code() {
    let world = World::new();
    let server = model(&world, &[bash("touch made")]);
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
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
        let said = stderr(&output);
        assert!(
            said.contains("the required sandbox is not available") && said.contains("Landlock"),
            "{said}"
        );
    }
    let (code, said) = world.failure(&["-p", "--profile", "unattended", "--sandbox", "off", "Go"]);
    assert_eq!(code, Some(8), "{said}");
    assert!(server.requests().is_empty() && !world.project().join("made").exists());
    // Whoever needs none is not hindered.
    let output = run(&["-p", "Go"]);
    assert!(output.status.success() && world.project().join("made").exists(), "{output:?}");
}

#[test]
fn what_is_not_understood_runs_confined_where_rules_could_be_evaded() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let world = World::new();
    let outside = world.agent().ancestors().nth(2).unwrap().join("outside");
    let spelling = "$(printf '%s%s' c at) src/file";
    let server = model(
        &world,
        &[
            bash("mkdir src; echo content > src/file"),
            bash(spelling),
            bash(&format!("X=tou; ${{X}}ch {}", outside.display())),
            bash(
                "python3 -c 'import subprocess as s; print(s.run([\"c\" + \"at\", \"src/file\"]))' || exit 3",
            ),
        ],
    );
    fs::create_dir_all(world.agent().join("rules")).unwrap();
    let rules = "[[command]]\nprefix = [\"cat\"]\ndecision = \"forbid\"\n";
    fs::write(world.agent().join("rules/mine.toml"), rules).unwrap();
    let output = world.pi(&["-p", "Go"]);
    assert!(output.status.success(), "{output:?}");
    let results = results(&server);
    for result in &results[1..] {
        assert!(!result.contains("content"), "{result}");
    }
    assert!(!outside.exists());
    assert!(results[1].contains("denied") || results[1].contains("not allowed"), "{}", results[1]);
}

#[test]
fn rules_that_cannot_be_used_are_an_error_of_the_configuration() {
    let world = World::new();
    let server = model(&world, &[]);
    let wrong = world.project().join("wrong.toml");
    fs::write(&wrong, "[[command]]\nprefix = [\"ls\"]\ndecision = \"alow\"\n").unwrap();
    let (code, said) = world.failure(&["-p", "--rules", "wrong.toml", "Go"]);
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("wrong.toml:3"), "{said}");
    let (code, said) = world.failure(&["-p", "--rules", "missing.toml", "Go"]);
    assert_eq!(code, Some(6), "{said}");
    let (code, said) = world.failure(&["-p", "--profile", "unatended", "Go"]);
    assert_eq!(code, Some(2), "{said}");
    fs::write(world.agent().join("settings.json"), "{\"guard\": {\"profile\": 1}}").unwrap();
    let (code, said) = world.failure(&["-p", "Go"]);
    assert_eq!(code, Some(6), "{said}");
    assert!(server.requests().is_empty());
}

/// Runs over the protocol; every question is answered with the option that begins so. What was
/// asked.
fn with_answers(world: &World, arguments: &[&str], answers: &[&str]) -> Vec<String> {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut command: Command = world.command(&[&["--mode", "rpc"], arguments].concat());
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
fn approvals_are_questions_of_the_protocol() {
    let world = World::new();
    let server = model(&world, &[bash("mkdir one"), bash("mkdir two"), bash("rmdir one")]);
    let asked = with_answers(&world, &["--profile", "careful"], &["Yes, for this session", "No"]);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("mkdir one") && asked[1].contains("rmdir one"), "{asked:?}");
    let results = results(&server);
    assert!(results[2].contains("the user denied it"), "{results:?}");
    assert!(world.project().join("two").exists());
}

#[test]
fn what_the_sandbox_denied_runs_once_more_if_that_is_approved() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let world = World::new();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = |name: &str| elsewhere.path().join(name);
    let write = |name: &str| bash(&format!("echo x > {}", outside(name).display()));
    let server = model(
        &world,
        &[
            write("one"),
            write("two"),
            ("write", json!({"path": outside("three"), "content": "x"})),
            ("write", json!({"path": outside("four"), "content": "x"})),
            // Nobody is asked about what a rule forbids.
            bash("X=ca; ${X}t /dev/null"),
        ],
    );
    let rules = world.project().join("rules.toml");
    fs::write(&rules, "[[command]]\nprefix = [\"cat\"]\ndecision = \"forbid\"\n").unwrap();
    let arguments = ["--sandbox", "workspace-write", "--rules", "rules.toml"];
    let asked = with_answers(&world, &arguments, &["Yes, once", "No", "Yes, once", "No"]);
    assert_eq!(asked.len(), 4, "{asked:#?}");
    assert!(asked[0].contains("Run it again") && asked[0].contains("writable"), "{}", asked[0]);
    let there: Vec<bool> =
        ["one", "two", "three", "four"].iter().map(|name| outside(name).exists()).collect();
    assert_eq!(there, [true, false, true, false]);
    let results = results(&server);
    assert!(results[0].contains("It was run again"), "{}", results[0]);
    assert!(results[1].contains("The sandbox denied"), "{}", results[1]);
}

/// Whoever says that nothing need hold gets less: what is known to be harmless, and no more.
#[test]
#[cfg(target_os = "linux")]
fn unattended_without_confinement_by_choice_runs_only_what_is_known() {
    let world = World::new();
    let server = model(
        &world,
        &[
            bash("echo hello"),
            bash("touch made"),
            bash("X=touch; $X made"),
            ("write", json!({"path": "made", "content": "x"})),
        ],
    );
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1",
        "guard": {"profile": "unattended", "require": "none"}});
    fs::write(world.agent().join("settings.json"), settings.to_string()).unwrap();
    let mut command = world.command(&["-p", "Go"]);
    let output = without_landlock(move || command.output().unwrap());
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("no confinement"), "{output:?}");
    let results = results(&server);
    assert!(results[0].contains("hello"), "{results:?}");
    assert!(results[1..].iter().all(|result| result.contains("not allowed")), "{results:?}");
    assert!(!world.project().join("made").exists());
}
