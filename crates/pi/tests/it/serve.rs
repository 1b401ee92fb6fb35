//! `pi serve` as a process: its address, its tokens, links, certificates and its service.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::test_env::TestEnv;

const TOKEN: &str = "a-token-of-the-test-0123456789";

/// A running server.
struct Web {
    child: Child,
    address: String,
    /// What it printed to stdout.
    stdout: Option<std::process::ChildStdout>,
}

impl Web {
    fn start(env: &TestEnv, arguments: &[&str]) -> Self {
        fs::write(env.project().join("token"), format!("{TOKEN}\n")).unwrap();
        let mut all = vec!["serve", "--port", "0"];
        all.extend(arguments);
        Self::spawn(&mut env.command(&all))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let found = lines.find_map(|line| {
            let line = line.unwrap();
            let address = line.split("serving ").nth(1)?.trim_end_matches('/').to_owned();
            Some(address)
        });
        let address = found.expect("the server says its address");
        // The server would fail to write its notes otherwise.
        std::thread::spawn(move || lines.for_each(drop));
        let stdout = child.stdout.take();
        Self { child, address, stdout }
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        let authority = self.address.split("//").nth(1).unwrap();
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str, token: &str) -> (u16, Value) {
        self.send("GET", path, token, "")
    }

    /// Ends the server as Ctrl+C does. Returns its stdout.
    #[cfg(unix)]
    fn interrupt(mut self) -> String {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap();
        let mut text = String::new();
        self.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_knows_tokens_that_other_processes_add_and_revoke() {
    let env = TestEnv::new();
    let web = Web::start(&env, &["--token-file", "token"]);
    let (status, me) = web.get("/api/v1/me", TOKEN);
    assert_eq!((status, me["right"].as_str()), (200, Some("admin")), "{me}");
    assert_eq!(me["version"], env!("CARGO_PKG_VERSION"));
    let link = env.out(&["serve", "token", "add", "phone", "--right", "approve", "--for", "2h"]);
    let (base, phone) = link.trim().split_once("/#t=").expect("a link to the running server");
    assert_eq!(base, web.address);
    let (status, me) = web.get("/api/v1/me", phone);
    assert_eq!(
        (status, me["right"].as_str(), me["name"].as_str()),
        (200, Some("approve"), Some("phone"))
    );
    let listed = env.out(&["serve", "token", "list"]);
    assert!(listed.contains("phone  approve  until ") && !listed.contains(phone), "{listed}");
    let listed: Value =
        serde_json::from_str(&env.out(&["serve", "token", "list", "--json"])).unwrap();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 2, "{listed}");
    let (code, stderr) = env.failure(&["serve", "token", "add", "phone"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("there is already a token \"phone\""), "{stderr}");
    env.out(&["serve", "token", "revoke", "phone"]);
    assert_eq!(web.get("/api/v1/me", phone).0, 401);
    let (_, stderr) = env.failure(&["serve", "token", "revoke", "phone"]);
    assert!(
        stderr.contains("there is no token \"phone\"") && stderr.contains("hint: list"),
        "{stderr}"
    );
    // A session is started in the directory of the server, and shared for viewing.
    let file = env.session("0199aaaa-0000-7000-8000-000000000001", &env.project(), "What is this?");
    let link = env.out(&["serve", "--share", "0199aaaa", "--view", "--for", "30m"]);
    let (_, share) = link.trim().split_once("/#t=").unwrap();
    let (status, list) = web.get("/api/v1/sessions", share);
    assert_eq!((status, list["sessions"].as_array().unwrap().len()), (200, 1), "{list}");
    assert_eq!(list["sessions"][0]["id"], "0199aaaa-0000-7000-8000-000000000001");
    assert_eq!(web.send("POST", "/api/v1/sessions", share, "{}").0, 403);
    assert!(file.exists());
}

#[cfg(unix)]
#[test]
fn no_token_is_written_to_what_is_no_terminal() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let web = Web::start(&env, &[]);
    assert_eq!(web.get("/healthz", "").0, 200);
    let directory = env.agent().join("serve");
    let files: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    let announced = files.iter().find(|path| path.to_string_lossy().contains("server-")).unwrap();
    let announcement: Value =
        serde_json::from_str(&fs::read_to_string(announced).unwrap()).unwrap();
    assert_eq!(announcement["url"], web.address.as_str());
    for file in &files {
        let mode = fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    let announced = announced.clone();
    assert_eq!(web.interrupt(), "", "stdout is no terminal");
    assert!(!announced.exists(), "the server takes its announcement back");
    // Without a server, a token is printed alone.
    let token = env.out(&["serve", "token", "add", "ci", "--right", "drive"]);
    assert_eq!(token.trim().len(), 43, "{token}");
}

#[test]
fn what_cannot_be_served_is_refused_with_a_hint() {
    let env = TestEnv::new();
    fs::write(env.project().join("short"), "short\n").unwrap();
    fs::write(env.project().join("empty.pem"), "").unwrap();
    let cases: &[(&[&str], &str, &str)] = &[
        (&["--bind", "0.0.0.0", "--port", "0"], "would not be encrypted", "--tls-cert"),
        (&["--bind", "example.org"], "is not an IP address", ""),
        (&["--port", "99999"], "--port: \"99999\" is not a number up to 65535", ""),
        (&["--tls-cert", "x.pem"], "--tls-cert and --tls-key require each other", ""),
        (
            &["--tls-cert", "empty.pem", "--tls-key", "empty.pem"],
            "there is no certificate in it",
            "",
        ),
        (&["--public-url", "pi.example.org"], "--public-url: expected an address", ""),
        (&["--allow-host", "http://pi.example"], "--allow-host: expected a host name", ""),
        (&["--token-file", "short"], "a token has 16 or more", ""),
        (&["--directory", "nothing"], "--directory: ", ""),
        (&["--view"], "--view requires --share", ""),
        (&["--share", "nothing"], "nothing", ""),
        (&["token", "add", "a/b"], "the name of a token has", ""),
        (&["token", "add", "x", "--for", "soon"], "--for: expected a number", ""),
        (&["token", "add", "x", "--right", "drive", "--session", "y"], "may only view", ""),
    ];
    for (arguments, problem, hint) in cases {
        let mut all = vec!["serve"];
        all.extend(*arguments);
        let (code, stderr) = env.failure(&all);
        assert!(matches!(code, Some(1 | 2)), "{arguments:?}: {code:?} {stderr}");
        assert!(stderr.contains(problem) && stderr.contains(hint), "{arguments:?}: {stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_becomes_a_service_of_the_user_and_stops_being_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    // Records its arguments instead of changing this machine.
    let programs = env.project().join("programs");
    fs::create_dir_all(&programs).unwrap();
    let systemctl = programs.join("systemctl");
    fs::write(&systemctl, format!("#!/bin/sh\necho \"$*\" >> {}/calls\n", programs.display()))
        .unwrap();
    fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("XDG_CONFIG_HOME", env.project().join("config"));
        command.output().unwrap()
    };
    let output =
        run(&["serve", "--install", "--port", "7400", "--directory", ".", "--profile", "careful"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let unit = env.project().join("config/systemd/user/pi-serve.service");
    let text = fs::read_to_string(&unit).unwrap();
    let project = env.project().canonicalize().unwrap();
    assert!(text.contains("\"serve\" \"--port=7400\" \"--directory="), "{text}");
    assert!(text.contains("\"--profile=careful\"\n"), "{text}");
    assert!(text.contains(&format!("WorkingDirectory={}", project.display())), "{text}");
    assert!(!text.contains("install"), "{text}");
    // What the server would refuse is not installed.
    let output = run(&["serve", "--install", "--bind", "example.org"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(run(&["serve", "--uninstall"]).status.success());
    assert!(!unit.exists());
    let calls = fs::read_to_string(programs.join("calls")).unwrap();
    let expected = [
        "--user daemon-reload",
        "--user enable pi-serve.service",
        "--user restart pi-serve.service",
        "--user disable --now pi-serve.service",
    ];
    assert_eq!(calls.lines().collect::<Vec<_>>(), expected);
    assert!(!run(&["serve", "--uninstall"]).status.success());
}
