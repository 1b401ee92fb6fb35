//! Servers that send garbage, incomplete answers, or nothing.

use serde_json::json;

use crate::scenarios::format::{Part, Reply, Status};

use super::ServerEnv;

fn status(code: u16, body: &str) -> Reply {
    Reply::Parts(vec![Part::Status(Status {
        code,
        headers: Default::default(),
        body: body.into(),
    })])
}

fn raw(text: &str) -> Reply {
    Reply::Parts(vec![Part::Raw(text.to_owned())])
}

#[test]
fn invalid_answers_are_reported_as_errors() {
    let html = "<!DOCTYPE html><html><title>Sign in</title><body>Please sign in</body></html>";
    let page = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{html}",
        html.len()
    );
    let stream =
        |text: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}");
    let deep = format!("data: {}{}\n\n", "[".repeat(10_000), "]".repeat(10_000));
    let cases: &[(&str, Reply, &str)] = &[
        ("not HTTP", raw("220 mail.example ESMTP\r\n"), "Connection"),
        ("nothing", raw(""), "Connection"),
        ("a page", raw(&page), "Sign in"),
        ("a page as an error", status(502, html), "502"),
        ("an empty error", status(500, ""), "500"),
        ("not allowed", status(401, "{\"error\":{\"message\":\"wrong key\"}}"), "wrong key"),
        ("JSON", status(200, "{\"choices\": 5}"), "choices"),
        ("an empty stream", raw(&stream("")), "ended"),
        (
            "garbage events",
            raw(&stream("data: {{{\n\ndata: \u{1}\n\n")),
            "Could not read the provider",
        ),
        ("events of something else", raw(&stream("event: x\ndata: {\"a\":1}\n\n")), "Stream ended"),
        ("deep JSON", raw(&stream(&deep)), "recursion limit"),
        (
            "half an answer",
            Reply::Parts(vec![Part::Text("Half".into()), Part::Drop]),
            "Connection lost",
        ),
        (
            "wrong types",
            Reply::Parts(vec![Part::Data(json!({"choices": "no"})), Part::End]),
            "Stream ended",
        ),
    ];
    for (name, reply, words) in cases {
        // The same reply for every retry.
        let env = ServerEnv::new(vec![reply.clone(); 8]);
        let result = env.run(&["-p", "Hello"]);
        let code = if *name == "not allowed" { 5 } else { 1 };
        assert_eq!((result.code, result.stdout.as_str()), (Some(code), ""), "{name}: {result:?}");
        assert!(result.stderr.starts_with("pi: "), "{name}: {result:?}");
        assert!(result.stderr.contains(words), "{name}: {result:?}");
        assert!(result.stderr.len() < 2000, "{name}: {result:?}");
        let sessions = env.sessions();
        let kept = std::fs::read_to_string(&sessions[0]).unwrap();
        assert!(kept.contains("Hello"), "{name}: the prompt is saved");
    }
}

#[test]
fn an_unreachable_server_is_reported() {
    let env = ServerEnv::with_answer();
    let url = env.server.url();
    let port = url.rsplit(':').next().unwrap();
    let models = std::fs::read_to_string(env.file("models.json")).unwrap();
    // No server listens on port 1.
    env.write("models.json", models.replace(port, "1"));
    env.run(&["-p", "Hello"]).assert_failed(1, &["Connection error", "127.0.0.1:1"]);
}
