//! Credentials of clouds in the program: from files and programs of the user to the request.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::test_env::TestEnv;

/// A part of every secret.
const SECRET: &str = "planted-secret";

/// A server that answers one connection after the other, and records the requests.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answers: Vec<(u16, &'static str, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (status, kind, body) in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                record.lock().unwrap().push(read_request(&mut stream));
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer).unwrap();
        text.push_str(&String::from_utf8_lossy(&buffer[..length]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let expected = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
            })
            .unwrap_or(0);
        if body.len() >= expected || length == 0 {
            return text;
        }
    }
}

/// Creates a user whose models of a provider are at this address.
fn user(provider: &str, url: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir_all(env.agent()).unwrap();
    let models = json!({"providers": {provider: {"baseUrl": url}}});
    fs::write(env.agent().join("models.json"), models.to_string()).unwrap();
    let settings = json!({"retry": {"enabled": false}});
    fs::write(env.agent().join("settings.json"), settings.to_string()).unwrap();
    env
}

fn write(env: &TestEnv, path: &str, text: &str) -> String {
    let path = env.agent().join("../..").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_program_a_role_and_a_conversation_with_bedrock() {
    let sts = "<Credentials><AccessKeyId>AKROLE</AccessKeyId>\
               <SecretAccessKey>planted-secret-role</SecretAccessKey>\
               <SessionToken>planted-secret-session</SessionToken>\
               <Expiration>2096-01-01T00:00:00Z</Expiration></Credentials>";
    let stream = include_bytes!(
        "../../../pi-ai/tests/fixtures/traces/bedrock-converse-stream/claude-text.bin"
    );
    let server = Server::start(vec![
        (200, "text/xml", sts.as_bytes().to_vec()),
        (200, "application/vnd.amazon.eventstream", stream.to_vec()),
    ]);
    let env = user("amazon-bedrock", &server.url);
    let program = write(
        &env,
        "my keys.sh",
        "#!/bin/sh\necho '{\"Version\":1,\"AccessKeyId\":\"AKPROG\",\"SecretAccessKey\":\"planted-secret\"}'\n",
    );
    write(
        &env,
        ".aws/config",
        &format!(
            "[profile prod]\nrole_arn = arn:aws:iam::1:role/prod\nsource_profile = base\n\
             region = eu-west-3\n[profile base]\ncredential_process = /bin/sh \"{program}\"\n"
        ),
    );
    let mut command = env.command(&[
        "--model",
        "amazon-bedrock/amazon.nova-lite-v1:0",
        "--no-session",
        "-p",
        "hi",
    ]);
    command.env("AWS_PROFILE", "prod").env("AWS_ENDPOINT_URL_STS", &server.url);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("Paris"), "{output:?}");
    let requests = server.requests();
    assert!(requests[0].contains("Credential=AKPROG/"), "{}", requests[0]);
    assert!(requests[0].contains("Action=AssumeRole&"), "{}", requests[0]);
    let signed = "Credential=AKROLE/";
    assert!(
        requests[1].contains(signed) && requests[1].contains("/eu-west-3/bedrock/"),
        "{}",
        requests[1]
    );
    assert!(requests[1].contains("x-amz-security-token: planted-secret-session"));
}

#[test]
fn an_ended_login_says_what_to_run() {
    let server = Server::start(Vec::new());
    let env = user("amazon-bedrock", &server.url);
    write(
        &env,
        ".aws/config",
        "[profile dev]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = r\n\
         [sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.example/start\n",
    );
    let mut command = env.command(&[
        "--model",
        "amazon-bedrock/amazon.nova-lite-v1:0",
        "--no-session",
        "-p",
        "hi",
    ]);
    // Keys of another account must not be used instead.
    command.env("AWS_PROFILE", "dev").env("AWS_ACCESS_KEY_ID", "AKOTHER");
    command.env("AWS_SECRET_ACCESS_KEY", SECRET);
    let output = command.output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{shown}");
    assert!(shown.contains("run `aws sso login --profile dev`"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_workload_identity_of_anthropic() {
    let refused = json!({"type": "error", "error": {"type": "authentication_error",
        "message": "expired planted-secret-1"}});
    let token = |name: &str| {
        let token = json!({"access_token": format!("{SECRET}-{name}"), "expires_in": 3600});
        (200, "application/json", token.to_string().into_bytes())
    };
    let refusal = (401, "application/json", refused.to_string().into_bytes());
    let server = Server::start(vec![token("1"), refusal.clone(), token("2"), refusal]);
    let env = user("anthropic", &server.url);
    let file = write(&env, "identity", &format!("{SECRET}-jwt\n"));
    let mut command =
        env.command(&["--model", "anthropic/claude-opus-4-6", "--no-session", "-p", "hi"]);
    command.env("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1").env("ANTHROPIC_ORGANIZATION_ID", "org1");
    command.env("ANTHROPIC_IDENTITY_TOKEN_FILE", file);
    let output = command.output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    let requests = server.requests();
    let bearers: Vec<bool> = requests
        .iter()
        .map(|request| {
            request.to_ascii_lowercase().contains("authorization: bearer planted-secret-")
        })
        .collect();
    // A rejected token is exchanged for a new one, once.
    assert_eq!(bearers, [false, true, false, true], "{requests:?}");
    assert!(requests[0].starts_with("POST /v1/oauth/token"), "{}", requests[0]);
}

/// Returns the line of a request with its bearer token.
fn bearer(request: &str) -> Option<String> {
    let lines = request.lines().map(str::to_ascii_lowercase);
    lines.into_iter().find(|line| line.starts_with("authorization: bearer "))
}

#[test]
fn a_stored_marker_stands_for_the_login_of_google() {
    let token = json!({"access_token": "planted-secret-google", "expires_in": 3600});
    let server = Server::start(vec![
        (200, "application/json", token.to_string().into_bytes()),
        (400, "application/json", b"{}".to_vec()),
    ]);
    let env = user("google-vertex", &server.url);
    let file = json!({"type": "authorized_user", "client_id": "id", "client_secret": SECRET,
        "refresh_token": "planted-secret-refresh", "token_uri": server.url});
    let file = write(&env, "adc.json", &file.to_string());
    let stored = json!({"google-vertex": {"type": "api_key", "key": "gcp-vertex-credentials",
        "env": {"GOOGLE_APPLICATION_CREDENTIALS": file, "GOOGLE_CLOUD_PROJECT": "p",
            "GOOGLE_CLOUD_LOCATION": "us-central1"}}});
    fs::write(env.agent().join("auth.json"), stored.to_string()).unwrap();
    let output =
        env.pi(&["--model", "google-vertex/gemini-3.1-pro-preview", "--no-session", "-p", "hi"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{output:?}");
    assert_eq!(
        bearer(&requests[1]).as_deref(),
        Some("authorization: bearer planted-secret-google")
    );
    assert!(!requests[1].contains("x-goog-api-key"));
    assert!(!format!("{output:?}").contains(SECRET), "{output:?}");
}

#[cfg(unix)]
#[test]
fn the_login_of_the_azure_cli() {
    use std::os::unix::fs::PermissionsExt as _;

    let server = Server::start(vec![(400, "application/json", b"{}".to_vec())]);
    let env = user("azure", &server.url);
    write(&env, ".azure/azureProfile.json", r#"{"subscriptions":[{"id":"1"}]}"#);
    let answer = r#"{"accessToken":"planted-secret-az","expires_on":3976214400}"#;
    let az = write(&env, "bin/az", &format!("#!/bin/sh\necho '{answer}'\n"));
    fs::set_permissions(&az, fs::Permissions::from_mode(0o755)).unwrap();
    let directory = std::path::Path::new(&az).parent().unwrap().canonicalize().unwrap();
    let mut command = env.command(&["--model", "azure/gpt-5.4", "--no-session", "-p", "hi"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", directory.display()));
    command.env("AZURE_TOKEN_CREDENTIALS", "dev").env("AZURE_OPENAI_BASE_URL", &server.url);
    let output = command.output().unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{output:?}");
    assert_eq!(bearer(&requests[0]).as_deref(), Some("authorization: bearer planted-secret-az"));
    assert!(!format!("{output:?}").contains(SECRET), "{output:?}");
}
