//! Extension files in the program: order, flags on the command line, requests, errors on stderr.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn start() -> (TestEnv, Server) {
    let env = TestEnv::new();
    let server = Server::start(vec![Reply::Text("Done.".to_owned()); 9]).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "k", "api": "openai-completions",
        "models": [{"id": "m1"}]});
    let models = json!({"providers": {"mock": provider}}).to_string();
    write(&env.agent().join("models.json"), &models);
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1"}).to_string();
    write(&env.agent().join("settings.json"), &settings);
    (env, server)
}

/// Returns the texts of the user in the last request.
pub(crate) fn texts(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    messages.iter().filter(|message| message["role"] == "user").map(text).collect()
}

/// An extension that adds a message to each run.
fn adding(expression: &str) -> String {
    format!(
        "export default (pi) => {{
            pi.registerFlag('plan', {{ type: 'boolean', description: 'Plan only' }});
            pi.registerFlag('word', {{ type: 'string', default: 'none' }});
            pi.on('before_agent_start', () => ({{ message: {{ customType: 'x', content: {expression}, display: true }} }}));
        }}"
    )
}

#[test]
fn flags_of_extensions_have_values() {
    let (env, server) = start();
    let file = env.project().join("flags.ts");
    write(&file, &adding("JSON.stringify([pi.getFlag('plan') ?? null, pi.getFlag('word')])"));
    let file = file.to_str().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["-p", "hi"], &["hi", r#"[null,"none"]"#]),
        (&["--plan", "--word=a b", "-p", "hi"], &["hi", r#"[true,"a b"]"#]),
        (&["--word", "x", "-p", "hi"], &["hi", r#"[null,"x"]"#]),
        // The word after a switch is a message.
        (&["-p", "--plan", "hi"], &["hi", r#"[true,"none"]"#]),
    ];
    for (arguments, expected) in cases {
        let output = env.pi(&[&["-e", file], *arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert_eq!(texts(&server), *expected, "{arguments:?}");
    }
    let before = server.requests().len();
    for (arguments, expected) in [
        (&["--wrod", "x", "-p", "hi"][..], "pi: Unknown option: --wrod\nhint: see `pi --help`\n"),
        (
            &["-p", "hi", "--word"],
            "pi: Extension flag \"--word\" requires a value\nhint: see `pi --help`\n",
        ),
    ] {
        let (code, stderr) = env.failure(&[&["-e", file], arguments].concat());
        assert_eq!((code, stderr.as_str()), (Some(2), expected), "{arguments:?}");
    }
    assert_eq!(server.requests().len(), before, "nothing was asked");
    let help = env.out(&["-e", file, "--help"]);
    assert!(help.contains("--plan                  Plan only\n"), "{help}");
    assert!(help.contains(&format!("--word VALUE            Registered by {file}\n")), "{help}");
}

#[test]
fn extensions_are_called_in_the_order_of_their_sources() {
    let (env, server) = start();
    let adding = |name: &str| {
        format!(
            "export default (pi) => pi.on('before_agent_start', () => ({{ message: {{ customType: 'x', content: '{name}', display: true }} }}))"
        )
    };
    write(&env.agent().join("extensions/b.ts"), &adding("user b"));
    write(&env.agent().join("extensions/a/index.js"), &adding("user a"));
    write(&env.agent().join("extensions/notes.md"), "");
    write(&env.agent().join("extensions/node_modules/dependency.js"), "throw 1");
    write(&env.project().join(".pi/extensions/p.ts"), &adding("project"));
    write(&env.project().join("given.ts"), &adding("given"));
    let run = |arguments: &[&str]| {
        let output = env.pi(&[arguments, &["-p", "hi"]].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        texts(&server)[1..].to_vec()
    };
    assert_eq!(run(&["-a", "-e", "given.ts"]), ["given", "project", "user a", "user b"]);
    assert_eq!(run(&["-na", "-e", "given.ts"]), ["given", "user a", "user b"]);
    // The project is a question, which an extension of the user answers. It is loaded once.
    let trusting = "globalThis.n = (globalThis.n ?? 0) + 1;
        export default (pi) => {
            pi.on('project_trust', () => ({ trusted: 'yes' }));
            pi.on('before_agent_start', () => ({ message: { customType: 'x', content: `loaded ${globalThis.n}`, display: true } }));
        }";
    write(&env.agent().join("extensions/c.ts"), trusting);
    assert_eq!(run(&[]), ["project", "user a", "user b", "loaded 1"]);
    assert_eq!(run(&["-ne", "-e", "given.ts"]), ["given"]);
}

#[test]
fn requests_are_changed_and_errors_are_reported() {
    let (env, server) = start();
    let text = "export default (pi) => {
        pi.on('before_provider_request', (e) => { e.payload.metadata = { a: true }; });
        pi.on('before_provider_request', (e) => ({ ...e.payload, user: JSON.stringify(e.payload.metadata) }));
        pi.on('turn_start', () => { throw new Error('boom in turn_start'); });
        pi.registerCommand('fails', { handler: async (args) => { throw new Error(`command failed ${args}`); } });
    }";
    write(&env.project().join("x.ts"), text);
    let output = env.pi(&["-e", "x.ts", "-p", "hi"]);
    assert!(output.status.success(), "{output:?}");
    let body = server.requests().last().unwrap().clone();
    assert_eq!((&body["metadata"], &body["user"]), (&json!({"a": true}), &json!("{\"a\":true}")));
    let stderr = env.stable(&String::from_utf8(output.stderr).unwrap());
    assert_eq!(stderr, "pi: Extension error ([ROOT]/project/x.ts): boom in turn_start\n");
    let output = env.pi(&["-e", "x.ts", "-p", "/fails z"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "pi: Extension error (command:fails): command failed z\n");
}

#[test]
fn models_of_registered_providers_are_listed_and_used() {
    let (env, server) = start();
    let url = server.url();
    let text = format!(
        "export default async (pi) => {{
            await Promise.resolve();
            pi.registerProvider('acme', {{ baseUrl: '{url}', apiKey: 'k', api: 'openai-completions',
                models: [{{ id: 'large', name: 'Large', reasoning: false, input: ['text'],
                    cost: {{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }},
                    contextWindow: 1000, maxTokens: 100 }}] }});
        }}"
    );
    write(&env.project().join("acme.ts"), &text);
    let names = |listed: &str| -> Vec<String> {
        let words = listed.lines().skip(1).map(|line| line.split_whitespace().take(2));
        words.map(|words| words.collect::<Vec<_>>().join("/")).collect()
    };
    assert_eq!(names(&env.out(&["--list-models"])), ["mock/m1"]);
    assert_eq!(names(&env.out(&["-e", "acme.ts", "--list-models"])), ["acme/large", "mock/m1"]);
    assert_eq!(names(&env.out(&["-e", "acme.ts", "--list-models", "large"])), ["acme/large"]);
    let arguments = ["-e", "acme.ts", "--model", "acme/large", "-p", "hi"];
    assert_eq!(env.out(&arguments), "Done.\n");
    assert_eq!(server.requests().last().unwrap()["model"], "large");
    // A broken extension is reported, and the rest is listed.
    write(&env.project().join("broken.ts"), "throw new Error('no')");
    let output = env.pi(&["-e", "broken.ts", "-e", "acme.ts", "--list-models"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(names(&listed), ["acme/large", "mock/m1"]);
    let stderr = env.stable(&String::from_utf8(output.stderr).unwrap());
    let expected = "pi: error: Failed to load extension \"[ROOT]/project/broken.ts\": Failed to load extension: no\n";
    assert_eq!(stderr, expected);
}

#[test]
fn programs_are_found_by_their_manifest_and_not_started_under_a_guard() {
    let (env, server) = start();
    let directory = env.agent().join("extensions/program");
    write(&directory.join("extension.json"), r#"{ "command": ["sh", "main.sh"] }"#);
    // Transforms every prompt.
    write(
        &directory.join("main.sh"),
        r#"while IFS= read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
            case $line in
            *'"method":"load"'*) result='{"events":["input"]}' ;;
            *) result='{"action":"transform","text":"changed"}' ;;
            esac
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
        done"#,
    );
    let output = env.pi(&["-p", "hi"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(texts(&server), ["changed"]);
    let (code, stderr) = env.failure(&["--profile", "careful", "-p", "hi"]);
    assert_ne!(code, Some(0), "{stderr}");
    assert!(stderr.contains("program/extension.json"), "{stderr}");
    assert_eq!(server.requests().len(), 1, "nothing was asked");
}
