//! Servers that answer nonsense, something else, half of it, or nothing.

use serde_json::json;

use crate::scenarios::format::{Part, Reply, Status};

use super::Place;

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
fn what_is_no_answer_is_an_error_that_says_so() {
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
        // As often as it is asked.
        let place = Place::new(vec![reply.clone(); 8]);
        let ended = place.run(&["-p", "Hello"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{name}: {ended:?}");
        assert!(ended.stderr.starts_with("pi: "), "{name}: {ended:?}");
        assert!(ended.stderr.contains(words), "{name}: {ended:?}");
        assert!(ended.stderr.len() < 2000, "{name}: {ended:?}");
        let sessions = place.sessions();
        let kept = std::fs::read_to_string(&sessions[0]).unwrap();
        assert!(kept.contains("Hello"), "{name}: what was asked is kept");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let place = Place::with_answer();
    let url = place.server.url();
    let port = url.rsplit(':').next().unwrap();
    let models = std::fs::read_to_string(place.file("models.json")).unwrap();
    // Nobody listens on port 1.
    place.write("models.json", models.replace(port, "1"));
    place.run(&["-p", "Hello"]).failed(1, &["Connection error", "127.0.0.1:1"]);
}
