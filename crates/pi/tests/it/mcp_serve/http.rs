//! Runs over HTTP.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{PATIENCE, model, modern, says, text};
use crate::test_env::TestEnv;

const TOKEN: &str = "a-token-of-the-test-0123456789";

/// A server over HTTP.
struct Web {
    child: Child,
    address: String,
}

impl Web {
    fn start(env: &TestEnv) -> Self {
        fs::write(env.project().join("token"), format!("{TOKEN}\n")).unwrap();
        let arguments = ["mcp", "serve", "--http", "127.0.0.1:0", "--token-file", "token"];
        Self::spawn(&mut env.command(&arguments))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        // The server would fail to write its notes otherwise.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Sends a request, and returns the status and the body. HTTP/1.0: the body ends with the
    /// connection.
    fn post(&self, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = "POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\n".to_owned();
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_needs_the_token_and_the_right_host() {
    let env = TestEnv::new();
    let server = model(&env, vec![says("Done.")]);
    let web = Web::start(&env);
    let run = json!({ "name": "run", "arguments": { "prompt": "Go." } });
    let run = modern(1, "tools/call", run, &json!({})).to_string();
    let bearer = format!("Bearer {TOKEN}");
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let own = [version, ("Mcp-Method", "tools/call"), ("Mcp-Name", "run")];
    let good = [("Host", "localhost"), ("Authorization", bearer.as_str())];
    let evil = ("Origin", "https://evil.example");
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[good[0]], 401),
        (&[good[0], ("Authorization", "Bearer wrong-token-0123456789")], 401),
        (&[("Host", "evil.example"), good[1]], 421),
        (&[good[0], good[1], evil], 403),
    ];
    for (headers, status) in cases {
        assert_eq!(web.post(&[&own, *headers].concat(), &run).0, *status, "{headers:?}");
    }
    let broken = web.post(&[&own[..], &good].concat(), "{");
    assert_eq!((broken.0, &broken.1["error"]["code"]), (400, &json!(-32700)));
    assert_eq!(server.requests().len(), 0);

    let (status, done) = web.post(&[&own[..], &good].concat(), &run);
    assert_eq!(status, 200, "{done}");
    assert_eq!(text(&done["result"]), "Done.");
    assert_eq!(done["result"]["resultType"], "complete");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server() {
    let env = TestEnv::new();
    let mut web = Web::start(&env);
    let pid = rustix::process::Pid::from_child(&web.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(web.child.wait().unwrap().code(), Some(143));
}

#[test]
fn an_open_address_requires_a_token() {
    let env = TestEnv::new();
    let (code, stderr) = env.failure(&["mcp", "serve", "--http", "0.0.0.0:0"]);
    assert!(stderr.contains("reachable from other machines, so a token is required"), "{stderr}");
    assert!(!stderr.contains("serving"), "{stderr}");
    assert_eq!(code, Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_without_free_descriptors_goes_on_later() {
    let env = TestEnv::new();
    let plain = env.command(&[]);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" mcp serve --http 127.0.0.1:0"]);
    command.arg(plain.get_program()).env_clear().current_dir(env.project());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let web = Web::spawn(&mut command);
    let connections: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(&web.address).unwrap()).collect();
    let descriptors = format!("/proc/{}/fd", web.child.id());
    while fs::read_dir(&descriptors).unwrap().count() < 64 {
        std::thread::yield_now();
    }
    drop(connections);
    let (status, _) = web.post(&[("Host", "localhost")], "{");
    assert_eq!(status, 400);
}

#[cfg(unix)]
#[test]
fn a_token_that_others_can_read_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = TestEnv::new();
    let file = env.project().join("token");
    for (mode, is_reported) in [(0o600, false), (0o644, true)] {
        fs::write(&file, TOKEN).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let arguments = ["mcp", "serve", "--http", "127.0.0.1:0", "--token-file", "token"];
        let mut child = env.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("serving"));
        // Notes are written before a signal can end the server.
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let found = rest.iter().any(|line| line.contains("other users can read the token"));
        assert_eq!(found, is_reported, "{mode:o}: {rest:?}");
        child.wait().unwrap();
    }
}
