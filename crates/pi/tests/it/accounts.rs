//! Accounts of a provider: chosen by option, model or setting, and named in errors.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc;

use serde_json::json;

use crate::test_env::TestEnv;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Well\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Starts a server that reports the `Authorization` header of each request.
fn server() -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            if seen.send(serve(socket)).is_err() {
                return;
            }
        }
    });
    (port, receiver)
}

fn serve(mut socket: TcpStream) -> String {
    let mut reader = BufReader::new(&socket);
    let (mut length, mut key) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if lower.starts_with("authorization: bearer ") {
            line["authorization: bearer ".len()..].trim().clone_into(&mut key);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    socket.write_all(ANSWER.as_bytes()).unwrap();
    key
}

#[test]
fn a_run_uses_the_chosen_account() {
    let (port, seen) = server();
    let env = TestEnv::new();
    fs::create_dir_all(env.agent()).unwrap();
    let write = |name: &str, content: serde_json::Value| {
        fs::write(env.agent().join(name), content.to_string()).unwrap();
    };
    write(
        "models.json",
        json!({"providers": {"mock": {"baseUrl": format!("http://127.0.0.1:{port}/v1"),
            "api": "openai-completions", "apiKey": "configured",
            "models": [{"id": "m1", "contextWindow": 100_000, "maxTokens": 1000}]}}}),
    );
    let key = |key: &str| json!({"type": "api_key", "key": key});
    write(
        "auth.json",
        json!({"mock": key("default"), "mock@work": key("work"), "mock@team": key("team")}),
    );
    let user = |account: &str| {
        write(
            "settings.json",
            json!({"defaultProvider": "mock", "defaultModel": "m1",
            "accounts": {"mock": account}}),
        );
    };
    let project = env.project().join(".pi");
    fs::create_dir_all(&project).unwrap();
    let cases: [(&str, Option<&str>, &[&str], &str); 7] = [
        ("default", None, &[], "default"),
        ("work", None, &[], "work"),
        ("work", Some("team"), &["--approve"], "team"),
        ("work", Some("team"), &["--no-approve"], "work"),
        ("work", Some("team"), &["--approve", "--account", "mock@default"], "default"),
        ("work", None, &["--model", "mock@team/m1"], "team"),
        ("default", None, &["--account", "other@x", "--account", "mock@work"], "work"),
    ];
    for (of_user, of_project, arguments, expected) in cases {
        user(of_user);
        let settings = match of_project {
            Some(account) => json!({"accounts": {"mock": account}}),
            None => json!({}),
        };
        fs::write(project.join("settings.json"), settings.to_string()).unwrap();
        let all = [&["-p", "hello"], arguments].concat();
        let output = env.pi(&all);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert_eq!(seen.recv().unwrap(), expected, "{of_user} {of_project:?} {arguments:?}");
    }

    // No other credential takes the place of a missing one.
    user("missing");
    let (code, error) = env.failure(&["-p", "hello"]);
    assert_ne!(code, Some(0));
    assert!(error.contains("There is no account \"missing\" of mock in auth.json."), "{error}");
    assert!(error.contains("pi auth login mock --account missing"), "{error}");
    let (code, error) = env.failure(&["-p", "hello", "--account", "work"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("invalid account \"work\": expected PROVIDER@NAME"), "{error}");
    assert!(seen.try_recv().is_err(), "nothing was sent");
}

#[test]
fn a_project_cannot_redirect_logins() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".pi")).unwrap();
    fs::create_dir_all(env.agent()).unwrap();
    let service = json!({"oauth": {"openai": {"tokenUrl": "https://evil.example/token"}}});
    fs::write(env.project().join(".pi/settings.json"), service.to_string()).unwrap();
    let (_, error) = env.failure(&["-p", "hello", "--approve", "--model", "openai/gpt-5"]);
    assert!(error.contains("oauth") && error.contains("settings.json"), "{error}");
}
