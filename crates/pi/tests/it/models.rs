//! The model that was asked for, or an error: defaults, sessions, `--model` and local servers.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::scenarios::format::{Part, Reply, Status};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Configures the provider `mock` with two models, and a server that answers.
fn mock(env: &TestEnv) -> Server {
    let server = Server::start(vec![Reply::Text("Done.".to_owned()); 30]).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "k", "api": "openai-completions",
        "models": [{"id": "m1"}, {"id": "m2"}]});
    write(env, "models.json", &json!({"providers": {"mock": provider}}));
    server
}

fn write(env: &TestEnv, name: &str, content: &Value) {
    fs::create_dir_all(env.agent()).unwrap();
    fs::write(env.agent().join(name), content.to_string()).unwrap();
}

/// Returns the model of the last request.
fn used(server: &Server) -> String {
    server.requests().last().unwrap()["model"].as_str().unwrap().to_owned()
}

/// An Ollama server on a free port with one model, `qwen3:1b`. It stops with the test process.
fn ollama() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || drop(serve_ollama(socket)));
        }
    });
    address
}

fn serve_ollama(mut socket: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let body = match first.split(' ').nth(1).unwrap_or_default() {
        "/api/tags" => json!({"models": [{"name": "qwen3:1b"}]}).to_string(),
        "/api/show" => json!({"capabilities": ["completion", "tools"]}).to_string(),
        _ => {
            let delta = json!({"choices": [{"index": 0, "delta": {"content": "Local."}}]});
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
            format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")
        }
    };
    let kind = if body.starts_with("data") { "text/event-stream" } else { "application/json" };
    let length = body.len();
    write!(
        socket,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// Runs `pi` with variables. Returns the exit code, stdout and stderr.
fn run(
    env: &TestEnv,
    variables: &[(&str, &str)],
    arguments: &[&str],
) -> (Option<i32>, String, String) {
    let mut command = env.command(arguments);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| env.stable(&String::from_utf8(bytes).unwrap());
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_default_that_cannot_be_used_is_an_error_in_every_mode() {
    let env = TestEnv::new();
    let server = mock(&env);
    let models = fs::read_to_string(env.agent().join("models.json")).unwrap();
    let mut models: Value = serde_json::from_str(&models).unwrap();
    models["providers"]["corp"] = json!({"baseUrl": "https://corp.example/v1",
        "api": "openai-completions", "models": [{"id": "big"}]});
    models["providers"]["foreign"] = json!({"baseUrl": "https://corp.example/v1", "apiKey": "k",
        "api": "corp-rpc", "models": [{"id": "big"}]});
    write(&env, "models.json", &models);
    let cases = [
        (
            json!({"defaultProvider": "anthropic", "defaultModel": "claude-sonnet-4-5"}),
            "pi: the default model anthropic/claude-sonnet-4-5 cannot be used: No API key found for \
             anthropic. Set ANTHROPIC_API_KEY or store a key in auth.json.\n\
             hint: store a key with `pi auth set anthropic`, or choose another model with --model, \
             or change the default in settings.json\n",
        ),
        (
            json!({"defaultProvider": "nowhere", "defaultModel": "x"}),
            "pi: the default model nowhere/x cannot be used: there is no provider \"nowhere\"\n",
        ),
        (
            json!({"defaultProvider": "corp", "defaultModel": "big"}),
            "pi: the default model corp/big cannot be used: No API key found for corp. Add an \
             \"apiKey\" for the provider to models.json.\n",
        ),
        (
            json!({"defaultProvider": "foreign", "defaultModel": "big"}),
            "pi: the default model foreign/big cannot be used: this version does not support \
             foreign (format corp-rpc)\n",
        ),
        (
            json!({"defaultProvider": "ollama", "defaultModel": "qwen3:1b"}),
            "pi: the default model ollama/qwen3:1b cannot be used: no ollama server is running at \
             http://127.0.0.1:1\nhint: start the server, or ",
        ),
        (
            json!({"defaultProvider": "ollama"}),
            "pi: the default model ollama cannot be used: no ollama server is running",
        ),
        (
            json!({"defaultProvider": "anthropic", "defaultModel": "claude-sonnet-4-5",
                "enabledModels": ["mock/*"]}),
            "pi: the default model anthropic/claude-sonnet-4-5 cannot be used: ",
        ),
    ];
    // Nothing listens on this port, and no other server is probed in its place.
    let variables = [("OLLAMA_HOST", "127.0.0.1:1")];
    for (settings, expected) in cases {
        write(&env, "settings.json", &settings);
        for mode in [&["-p", "hi"][..], &["--mode", "json", "hi"], &["--mode", "rpc"]] {
            let (code, stdout, stderr) = run(&env, &variables, mode);
            assert!(stderr.starts_with(expected), "{mode:?}: {stderr}");
            assert_eq!((code, stdout.as_str()), (Some(5), ""), "{settings}");
        }
        let doctor = env.pi(&["doctor", "--json"]);
        let doctor = String::from_utf8(doctor.stdout).unwrap();
        assert!(doctor.contains("cannot be used: "), "{settings}: {doctor}");
    }
    assert!(server.requests().is_empty(), "no other model was asked");
}

#[test]
fn a_default_that_does_not_exist_is_replaced_within_its_provider_only() {
    let env = TestEnv::new();
    let server = mock(&env);
    write(&env, "settings.json", &json!({"defaultProvider": "mock", "defaultModel": "nosuch"}));
    let (code, _, stderr) = run(&env, &[("ANTHROPIC_API_KEY", "k")], &["-p", "hi"]);
    assert_eq!(
        stderr,
        "pi: warning: the default model mock/nosuch does not exist; using mock/m1 instead\n"
    );
    assert_eq!((code, used(&server).as_str()), (Some(0), "m1"));
}

#[test]
fn the_default_and_the_scope_choose_as_before() {
    let env = TestEnv::new();
    let server = mock(&env);
    let default = |id: &str| json!({"defaultProvider": "mock", "defaultModel": id});
    let cases: &[(Value, &[&str], &str)] = &[
        (json!({}), &[], "m1"),
        (default("m2"), &[], "m2"),
        (json!({"defaultProvider": "mock"}), &[], "m1"),
        (json!({"defaultModel": "m2"}), &[], "m2"),
        (default("m2"), &["--models", "m1"], "m1"),
        (default("m2"), &["--models", "m1,m2"], "m2"),
        (default("m1"), &["--model", "m2"], "m2"),
        // The scope of this run replaces a default that cannot be used.
        (json!({"defaultProvider": "groq", "defaultModel": "x"}), &["--models", "mock/*"], "m1"),
    ];
    for (settings, arguments, expected) in cases {
        write(&env, "settings.json", settings);
        let (code, _, stderr) = run(&env, &[], &[*arguments, &["-p", "hi"]].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{settings} {arguments:?}");
        assert_eq!(used(&server), *expected, "{settings} {arguments:?}");
    }
    let (code, _, stderr) = run(&env, &[], &["--models", "nosuch*", "-p", "hi"]);
    assert!(stderr.contains("pi: Model \"nosuch*\" not found.\n"), "{stderr}");
    assert_eq!(code, Some(5));
}

#[test]
fn local_servers_are_found_when_they_are_asked_for() {
    let env = TestEnv::new();
    let server = mock(&env);
    let host = ollama();
    let local = [("OLLAMA_HOST", host.as_str()), ("ANTHROPIC_API_KEY", "k")];
    write(&env, "settings.json", &json!({"defaultProvider": "ollama", "defaultModel": "qwen3:1b"}));
    assert_eq!(run(&env, &local, &["-p", "hi"]).1, "Local.\n");
    write(&env, "settings.json", &json!({}));
    for model in ["qwen3:1b", "qwen3", "QWEN", "ollama/qwen3:1b", "qwen3:1b:high"] {
        let (_, stdout, stderr) = run(&env, &local, &["--model", model, "-p", "hi"]);
        assert_eq!(stdout, "Local.\n", "{model}: {stderr}");
    }
    let (_, stdout, _) = run(&env, &local, &["--models", "qwen*", "-p", "hi"]);
    assert_eq!(stdout, "Local.\n");
    assert!(server.requests().is_empty());
    let (_, listed, _) = run(&env, &local, &["--list-models", "qwen3:1b"]);
    assert!(listed.contains("ollama"), "{listed}");
    // Over RPC, a model of a local server is looked for as well.
    let mut command = env.command(&["--mode", "rpc", "--no-session", "--model", "m1"]);
    command.envs(local).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let set = json!({"type": "set_model", "provider": "ollama", "modelId": "qwen3:1b"});
    writeln!(child.stdin.take().unwrap(), "{set}").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["id"], "qwen3:1b", "{answer}");
    // Doctor names the server.
    let (_, doctor, _) = run(&env, &local, &["doctor"]);
    assert!(doctor.contains("ok       local servers: ollama (qwen3:1b)"), "{doctor}");
}

#[test]
fn requests_lead_to_the_provider_that_the_user_expects() {
    let env = TestEnv::new();
    let gateway = json!({
        "baseUrl": "http://127.0.0.1:1/v1", "api": "new-format", "apiKey": "k",
        "models": [{"id": "m"}],
    });
    write(&env, "models.json", &json!({"providers": {"gateway": gateway}}));
    let none = &[][..];
    let cases: &[(&[(&str, &str)], &str, &str)] = &[
        (none, "sonnet:high", "pi: anthropic/claude-sonnet-"),
        (none, "sonnet", "No API key found for anthropic. Set ANTHROPIC_API_KEY"),
        (none, "gemini", "No API key found for google."),
        (none, "gpt-5", "No API key found for openai."),
        (
            none,
            "gateway/m",
            "this version does not support gateway (format new-format)\n\
             hint: list the models that can be used with --list-models",
        ),
        (none, "no-such-model", "pi: Model \"no-such-model\" not found."),
        (
            &[("CLOUDFLARE_API_KEY", "k")],
            "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6",
            "the address of cloudflare-workers-ai requires CLOUDFLARE_ACCOUNT_ID\n\
             hint: set CLOUDFLARE_ACCOUNT_ID",
        ),
    ];
    for (variables, model, expected) in cases {
        let (code, _, stderr) = run(&env, variables, &["--model", model, "-p", "hi"]);
        assert!(stderr.contains(expected), "{model}: {stderr}");
        assert_eq!(code, Some(5), "{model}");
    }
    // The provider with a key is the one that is used.
    let bedrock = &[("AWS_BEARER_TOKEN_BEDROCK", "k")][..];
    let check = ["auth", "check", "--json", "--model", "sonnet"];
    let (code, stdout, stderr) = run(&env, bedrock, &check);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("\"provider\":\"amazon-bedrock\""), "{stdout}");
}

#[test]
fn the_model_of_a_session_is_kept_or_the_session_is_not_continued() {
    let env = TestEnv::new();
    let server = mock(&env);
    write(&env, "settings.json", &json!({"defaultProvider": "mock", "defaultModel": "m1"}));
    let file = env.session("0193aaaa", &env.project(), "One?");
    let change = |provider: &str, id: &str| {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<Value> =
            text.lines().take(3).map(|line| serde_json::from_str(line).unwrap()).collect();
        lines[2]["message"]["provider"] = provider.into();
        lines[2]["message"]["model"] = id.into();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).unwrap();
    };
    change("groq", "openai/gpt-oss-120b");
    let (code, _, stderr) = run(&env, &[], &["-c", "-p", "hi"]);
    let expected = "pi: the session's model groq/openai/gpt-oss-120b cannot be used: No API key \
                    found for groq. Set GROQ_API_KEY or store a key in auth.json.\n\
                    hint: store a key with `pi auth set groq`, or choose another model with --model\n";
    assert_eq!((code, stderr.as_str()), (Some(5), expected));
    assert!(server.requests().is_empty());
    change("mock", "gone");
    let (code, _, stderr) = run(&env, &[], &["-c", "-p", "hi"]);
    let expected = "pi: warning: Could not restore model mock/gone. Using mock/m1\n";
    assert_eq!((code, stderr.as_str()), (Some(0), expected));
}

#[test]
fn providers_of_models_json_that_lack_something_are_named() {
    let env = TestEnv::new();
    let provider = |url: &str| {
        json!({"baseUrl": url, "api": "openai-completions",
        "models": [{"id": "m"}]})
    };
    write(&env, "models.json", &json!({"providers": {"far": provider("https://far.example/v1")}}));
    let (code, _, stderr) = run(&env, &[("OLLAMA_HOST", "127.0.0.1:1")], &["-p", "hi"]);
    let expected = "pi: warning: the provider far of models.json is not used: No API key found for \
                    far. Add an \"apiKey\" for the provider to models.json.\n";
    assert!(stderr.starts_with(expected), "{stderr}");
    assert_eq!(code, Some(5));
    write(&env, "models.json", &json!({"providers": {"bare": provider("localhost:8081/v1")}}));
    let (_, _, stderr) = run(&env, &[], &["--model", "bare/m", "-p", "hi"]);
    let expected = "provider \"bare\": \"baseUrl\" has no scheme: write http://localhost:8081/v1";
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn a_refused_key_is_named_and_exits_with_5() {
    let env = TestEnv::new();
    let body = json!({"error": {"message": "Incorrect API key provided"}});
    let status = Status { code: 401, headers: BTreeMap::new(), body };
    let server = Server::start(vec![Reply::Parts(vec![Part::Status(status)])]).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "k", "api": "openai-completions",
        "models": [{"id": "m1"}]});
    write(&env, "models.json", &json!({"providers": {"mock": provider}}));
    let (code, stdout, stderr) = run(&env, &[], &["-p", "hi"]);
    let expected = "pi: mock/m1: mock rejected the key (401): Incorrect API key provided\n\
                    hint: check the apiKey of mock in models.json, and see `pi auth check \
                    --provider mock`\n";
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(5), "", expected));
}
