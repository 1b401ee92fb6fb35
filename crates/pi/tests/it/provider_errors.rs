//! Errors of providers in the program: what happened, what to do, and the response on request.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::scenarios::format::{Part, Reply, Status};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

fn failing(code: u16, body: &Value) -> Reply {
    let status = Status { code, headers: BTreeMap::new(), body: body.clone() };
    Reply::Parts(vec![Part::Status(status)])
}

/// Sets up a provider `mock` with three models at this address.
fn provider(env: &TestEnv, url: &str) {
    let models = ["gpt-5-large", "gpt-4-large", "other"].map(|id| json!({ "id": id }));
    let provider = json!({ "baseUrl": url, "apiKey": "planted-secret-key", "models": models,
        "api": "openai-completions" });
    std::fs::create_dir_all(env.agent()).unwrap();
    let file = json!({ "providers": { "mock": provider } }).to_string();
    std::fs::write(env.agent().join("models.json"), file).unwrap();
    let settings = json!({ "retry": { "enabled": false } }).to_string();
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
}

#[test]
fn the_response_is_shown_on_request_in_every_mode() {
    let body = json!({
        "error": { "message": "no such thing", "quoted": "planted-secret-key" },
        "request_id": "req_outside_of_the_error",
        "padding": "x".repeat(5000),
    });
    let command = r#"{"type":"prompt","message":"hi"}"#;
    for (mode, verbose) in
        [("text", true), ("json", true), ("rpc", true), ("text", false), ("json", false)]
    {
        let env = TestEnv::new();
        let server = Server::start(vec![failing(400, &body)]).unwrap();
        provider(&env, &server.url());
        let mut arguments = vec!["--model", "mock/gpt-5-large", "--mode", mode];
        if verbose {
            arguments.push("--verbose");
        }
        if mode != "rpc" {
            arguments.extend(["-p", "hi"]);
        }
        let mut child = env.command(&arguments);
        child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        if mode == "rpc" {
            writeln!(input, "{command}").unwrap();
            // The run ends before the input does.
            let mut seen = String::new();
            let mut output = child.stdout.take().unwrap();
            let mut buffer = [0; 4096];
            while !seen.contains("\"agent_settled\"") && !seen.contains("\"agent_end\"") {
                let length = output.read(&mut buffer).unwrap();
                assert!(length > 0, "{seen}");
                seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        }
        drop(input);
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8(output.stderr).unwrap();
        let is_there = shown.contains("req_outside_of_the_error") && shown.len() > 5000;
        assert_eq!(is_there, verbose, "{mode}: {shown}");
        assert!(!shown.contains("planted-secret-key"), "{mode}: {shown}");
        if mode == "text" {
            let expected = "pi: mock/gpt-5-large: mock rejected the request (400): no such thing\n";
            assert!(shown.contains(expected), "{shown}");
        }
    }
}

#[test]
fn an_unknown_model_is_answered_with_similar_names() {
    let env = TestEnv::new();
    let body =
        json!({ "error": { "message": "The model does not exist", "code": "model_not_found" } });
    let server = Server::start(vec![failing(404, &body)]).unwrap();
    provider(&env, &server.url());
    let (code, said) = env.failure(&["--model", "mock/gpt-5-large", "-p", "hi"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "pi: mock/gpt-5-large: mock does not have this model (404): The model does not exist\n\
         hint: similar models of mock are gpt-4-large; see all with --list-models mock\n"
    );
}

/// Answers each connection with `answer`.
fn serve(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer);
            let _ = stream.write_all(answer);
        }
    });
    address
}

#[test]
fn proxies_and_tls_are_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let unauthorized =
        serve(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    let forbidding = serve(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    let plain = serve(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    let https = "https://api.invalid/v1";
    let cases = [
        (
            https,
            Some(free),
            "the proxy did not connect",
            "check HTTPS_PROXY and the setting httpProxy",
        ),
        (
            https,
            Some(unauthorized.clone()),
            "the proxy requires a user name and a password",
            "http://USER:PASSWORD@HOST:PORT",
        ),
        (
            "http://api.invalid/v1",
            Some(unauthorized),
            "the proxy requires a user name",
            "HTTPS_PROXY",
        ),
        (https, Some(forbidding), "the proxy did not connect", "check HTTPS_PROXY"),
        (
            &format!("https://{plain}/v1"),
            None,
            "the server does not speak TLS",
            "use http://127.0.0.1:",
        ),
        (https, None, "the name of the server cannot be resolved", "check the network"),
    ];
    for (url, proxy, message, hint) in cases {
        let env = TestEnv::new();
        provider(&env, url);
        let mut command = env.command(&["--model", "mock/other", "-p", "hi"]);
        if let Some(proxy) = &proxy {
            command.env("HTTPS_PROXY", format!("http://{proxy}"));
            command.env("HTTP_PROXY", format!("http://{proxy}"));
        }
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(message) && said.contains(hint), "{url} {proxy:?}: {said}");
        assert!(said.starts_with("pi: mock/other: "), "{said}");
    }
}
