//! `pi auth login` and `logout` against a scripted authorization server, with a scripted browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::test_env::TestEnv;

/// An authorization server that approves everything.
pub(crate) struct AuthorizationServer {
    pub(crate) url: String,
    /// Method and path of the requests, with their bodies.
    seen: Arc<Mutex<Vec<String>>>,
}

impl AuthorizationServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, base) = (Arc::clone(&seen), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &base, &log);
            }
        });
        Self { url, seen }
    }

    /// Returns a provider for `models.json`.
    pub(crate) fn provider(&self) -> Value {
        json!({ "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions",
            "models": [{ "id": "m1" }] })
    }

    /// Returns the service for the settings.
    pub(crate) fn service(&self) -> Value {
        let url = &self.url;
        json!({
            "authorizeUrl": format!("{url}/authorize"), "tokenUrl": format!("{url}/token"),
            "deviceUrl": format!("{url}/device"), "revokeUrl": format!("{url}/revoke"),
            "clientId": "our-client", "scopes": ["models"],
        })
    }

    pub(crate) fn count(&self, start: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|line| line.starts_with(start)).count()
    }
}

fn answer(mut stream: TcpStream, base: &str, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        if head.is_empty() {
            head = line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let method = head.split(' ').next().unwrap_or_default();
    log.lock().unwrap().push(format!("{method} {path} {body}"));
    let parameter = |name: &str| {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let found = pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value);
        found.unwrap_or_default().replace("%3A", ":").replace("%2F", "/")
    };
    let (status, headers, text) = if path.starts_with("/authorize?") {
        let (to, state) = (parameter("redirect_uri"), parameter("state"));
        ("302 Found", format!("location: {to}?code=the-code&state={state}\r\n"), String::new())
    } else if path == "/token" {
        let token = json!({ "access_token": "planted-access", "refresh_token": "planted-refresh",
            "expires_in": 36000, "token_type": "Bearer" });
        ("200 OK", String::new(), token.to_string())
    } else if path == "/device" {
        let device = json!({ "device_code": "planted-device", "user_code": "ABCD-EFGH",
            "verification_uri": "http://127.0.0.1:1/enter", "expires_in": 600, "interval": 1 });
        ("200 OK", String::new(), device.to_string())
    } else if let Some(metadata) = metadata(&path, base) {
        ("200 OK", String::new(), metadata.to_string())
    } else if path == "/mcp" {
        let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"tools\"");
        ("401 Unauthorized", format!("www-authenticate: {challenge}\r\n"), String::new())
    } else if path == "/revoke" {
        ("200 OK", String::new(), String::new())
    } else {
        ("404 Not Found", String::new(), String::new())
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}content-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{text}",
        text.len()
    );
}

/// Returns what the server publishes about itself and about the MCP server `/mcp`, and the client
/// that it registers.
fn metadata(path: &str, base: &str) -> Option<Value> {
    match path {
        "/.well-known/oauth-protected-resource/mcp" => {
            Some(json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }))
        }
        "/.well-known/oauth-authorization-server" => Some(json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "revocation_endpoint": format!("{base}/revoke"),
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => Some(json!({ "client_id": "registered" })),
        _ => None,
    }
}

/// Requests a page and returns the head of the answer.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Does what a browser does with the page of a login: returns to the address it is sent to.
pub(crate) fn browse(url: &str) -> String {
    let answer = get(url);
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    get(location)
}

/// Sets up a provider `corp` whose login is at `server`.
fn setup(server: &AuthorizationServer) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let models = json!({ "providers": { "corp": server.provider() } });
    std::fs::write(env.agent().join("models.json"), models.to_string()).unwrap();
    let settings = json!({ "oauth": { "corp": server.service() } });
    std::fs::write(env.agent().join("settings.json"), settings.to_string()).unwrap();
    env
}

/// A login that a script controls.
struct Scripted {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Scripted {
    fn start(env: &TestEnv, arguments: &[&str], browser: &str) -> Self {
        let words: Vec<&str> = ["auth", "login"].iter().chain(arguments).copied().collect();
        let mut command = env.command(&words);
        command.env("BROWSER", browser).env_remove("SSH_CONNECTION").env_remove("SSH_TTY");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, seen: Vec::new() }
    }

    /// Reads events up to one of this type.
    fn wait_for(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).unwrap();
            assert!(length > 0, "no {kind} after {:?}", self.seen);
            let event: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(event.clone());
            if event["type"] == kind {
                return event;
            }
        }
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn finish(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn stored(env: &TestEnv) -> Value {
    let text = std::fs::read_to_string(env.agent().join("auth.json")).unwrap_or("{}".to_owned());
    serde_json::from_str(&text).unwrap()
}

#[cfg(unix)]
#[test]
fn a_browser_signs_in_and_out() {
    use std::os::unix::fs::PermissionsExt as _;

    let server = AuthorizationServer::start();
    let env = setup(&server);
    let browser = env.agent().join("browser");
    let opened = env.agent().join("opened");
    std::fs::write(&browser, format!("#!/bin/sh\nprintf %s \"$1\" > {}\n", opened.display()))
        .unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut login = Scripted::start(&env, &["corp", "--json"], browser.to_str().unwrap());
    let url = login.wait_for("auth_url")["url"].as_str().unwrap().to_owned();
    assert!(browse(&url).starts_with("HTTP/1.1 200"), "the page says that it worked");
    let done = login.wait_for("done");
    assert_eq!((&done["provider"], &done["authType"]), (&json!("corp"), &json!("oauth")));
    assert_eq!(login.finish(), (Some(0), String::new()));
    assert_eq!(server.count("POST /token grant_type=authorization_code"), 1);
    assert_eq!(stored(&env)["corp"]["access"], "planted-access");
    let token = env.out(&["auth", "print-bearer-token", "--provider", "corp"]);
    assert_eq!(token, "planted-access\n");
    let status = env.out(&["auth", "status", "corp"]);
    assert!(status.starts_with("corp  ✓ login in auth.json, valid until "), "{status}");
    assert!(!status.contains("planted"), "{status}");

    assert_eq!(
        env.out(&["auth", "logout", "corp"]),
        "removed the credential of corp and revoked its tokens\n"
    );
    assert!(server.count("POST /revoke") > 0);
    assert_eq!(stored(&env), json!({}));
    assert_eq!(std::fs::read_to_string(opened).unwrap(), url, "the browser was opened");
}

#[test]
fn a_code_can_be_pasted_by_a_script() {
    let server = AuthorizationServer::start();
    let env = setup(&server);
    let arguments = ["corp", "--json", "--no-browser", "--account", "work"];
    let mut login = Scripted::start(&env, &arguments, "/nonexistent");
    let url = login.wait_for("auth_url")["url"].as_str().unwrap().to_owned();
    let prompt = login.wait_for("prompt");
    assert_eq!(prompt["kind"], "manual_code");
    let answer = get(&url);
    let address = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    login.send(&json!({ "id": 99, "value": "not an answer to this question" }));
    login.send(&json!({ "id": prompt["id"], "value": address }));
    let done = login.wait_for("done");
    assert_eq!(done["account"], "work");
    assert_eq!(login.finish().0, Some(0));
    assert_eq!(stored(&env)["corp@work"]["access"], "planted-access");
    let status = env.out(&["auth", "status", "corp"]);
    assert!(status.contains("not used; choose it with --account corp@work"), "{status}");
    let token = ["auth", "print-bearer-token", "--provider", "corp", "--account", "work"];
    assert_eq!(env.out(&token), "planted-access\n");
    assert_eq!(env.failure(&["auth", "print-bearer-token", "--provider", "corp"]).0, Some(1));
    env.out(&["auth", "logout", "corp@work"]);
    assert_eq!(stored(&env), json!({}));
}

#[test]
fn a_device_code_needs_no_input() {
    let server = AuthorizationServer::start();
    let env = setup(&server);
    let (_, said) = {
        let output = env
            .command(&["auth", "login", "corp", "--device", "--no-browser"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        assert!(output.status.success(), "{}", text(output.stderr));
        (text(output.stdout), text(output.stderr))
    };
    assert!(said.contains("ABCD-EFGH") && said.contains("http://127.0.0.1:1/enter"), "{said}");
    assert_eq!(stored(&env)["corp"]["refresh"], "planted-refresh");
    assert!(!said.contains("planted"), "{said}");
}

#[test]
fn logins_that_cannot_start_say_why() {
    let server = AuthorizationServer::start();
    let env = setup(&server);
    std::fs::write(env.agent().join("auth.json"), r#"{"groq":{"type":"api_key","key":"k"}}"#)
        .unwrap();
    for (arguments, code, expected) in [
        (&["corp"][..], 2, "a login asks questions, and this is not a terminal\nhint: use --json"),
        (&["corp", "--paste"], 2, "this is not a terminal"),
        (&["crop", "--json"], 2, "unknown provider \"crop\"\nhint: did you mean corp?"),
        (&["corp", "--json", "--account", "a b"], 2, "invalid account \"corp@a b\""),
        (&["corp", "--json", "--service", "x"], 2, "there is no service \"x\""),
        (&["groq", "--device"], 1, "groq has no login\nhint: use a key: `pi auth set groq`"),
        (&["anthropic", "--json"], 1, "client"),
    ] {
        let words: Vec<&str> = ["auth", "login"].iter().chain(arguments).copied().collect();
        let output = env.command(&words).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        if arguments.contains(&"--json") {
            let lines = String::from_utf8(output.stdout).unwrap();
            let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
            assert_eq!((&last["type"], &last["cancelled"]), (&json!("error"), &json!(false)));
        }
    }
    assert_eq!(server.count("POST"), 0);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_login() {
    use crate::terminal::Terminal;

    let server = AuthorizationServer::start();
    let env = setup(&server);
    let mut terminal = Terminal::start(env.command(&["auth", "login", "corp", "--no-browser"]));
    terminal.wait_for("Sign in on this page:");
    terminal.wait_for(&format!("{}/authorize?", server.url));
    terminal.signal("INT");
    let (status, shown) = terminal.finish();
    assert_eq!(status.code(), Some(130), "{shown}");
    assert!(shown.contains("the login was cancelled"), "{shown}");
    assert_eq!((stored(&env), server.count("POST")), (json!({}), 0));

    let mut login = Scripted::start(&env, &["corp", "--json", "--no-browser"], "/nonexistent");
    let id = login.wait_for("prompt")["id"].clone();
    login.send(&json!({ "id": id, "cancel": true }));
    assert_eq!(login.wait_for("error")["cancelled"], true);
    assert_eq!(login.finish().0, Some(130));
}

#[cfg(unix)]
#[test]
fn providers_without_a_login_ask_for_their_key() {
    use crate::terminal::Terminal;

    let env = TestEnv::new();
    let mut terminal = Terminal::start(env.command(&["auth", "login", "amazon-bedrock"]));
    terminal.wait_for("Number (1 to 3): ");
    terminal.type_text("2\r");
    terminal.wait_for("Name of the AWS profile: ");
    terminal.type_text("dev\r");
    terminal.wait_for("AWS region, such as us-east-1 (optional): ");
    terminal.type_text("\r");
    let (status, shown) = terminal.finish();
    assert!(status.success(), "{shown}");
    let expected = json!({ "type": "api_key", "env": { "AWS_PROFILE": "dev" } });
    assert_eq!(stored(&env)["amazon-bedrock"], expected);

    let mut login = Scripted::start(&env, &["cloudflare-workers-ai", "--json"], "/nonexistent");
    let id = login.wait_for("prompt")["id"].clone();
    login.send(&json!({ "id": id, "value": "planted-key" }));
    let prompt = login.wait_for("prompt");
    assert_eq!(prompt["kind"], "text");
    login.send(&json!({ "id": prompt["id"], "value": "my-account" }));
    login.wait_for("done");
    assert_eq!(login.finish().0, Some(0));
    assert_eq!(
        stored(&env)["cloudflare-workers-ai"],
        json!({ "type": "api_key", "key": "planted-key",
            "env": { "CLOUDFLARE_ACCOUNT_ID": "my-account" } })
    );
}
