//! A server with a git repository and just enough of the APIs of GitHub and GitLab.
//!
//! Git is served by `git http-backend`, so that pushes are real. The server records requests, and
//! looks for the token among the arguments of all processes while a request is open.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The token of the user.
pub(super) const TOKEN: &str = "tok-Zk8Qw2Lr5Tn1Vx7Yb4Hd9";
/// `x-access-token:TOKEN` and `oauth2:TOKEN` in base64.
const BASIC: [&str; 2] = [
    "Basic eC1hY2Nlc3MtdG9rZW46dG9rLVprOFF3MkxyNVRuMVZ4N1liNEhkOQ==",
    "Basic b2F1dGgyOnRvay1aazhRdzJMcjVUbjFWeDdZYjRIZDk=",
];

/// A server that runs until the process ends.
pub(super) struct Forge {
    port: u16,
    state: Arc<Mutex<State>>,
    directory: tempfile::TempDir,
}

#[derive(Default)]
struct State {
    /// Method, path with query, and body of each request to the API.
    requests: Vec<(String, String, Value)>,
    /// Open pull requests.
    pulls: Vec<Value>,
    /// Answers that come instead of the next ones to requests with this method.
    failures: Vec<(&'static str, u16)>,
    /// Processes with the token among their arguments.
    leaks: Vec<String>,
}

struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

impl Forge {
    pub(super) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bare = directory.path().join("acme/widget.git");
        fs::create_dir_all(&bare).unwrap();
        let init = ["init", "--quiet", "--bare", "--initial-branch=main", "."];
        assert!(Command::new("git").args(init).current_dir(&bare).status().unwrap().success());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let (theirs, root) = (Arc::clone(&state), directory.path().to_owned());
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (state, root) = (Arc::clone(&theirs), root.clone());
                std::thread::spawn(move || serve(socket, &state, &root, port));
            }
        });
        Self { port, state, directory }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn remote(&self) -> String {
        format!("{}/acme/widget.git", self.url())
    }

    pub(super) fn bare(&self) -> PathBuf {
        self.directory.path().join("acme/widget.git")
    }

    pub(super) fn fail(&self, method: &'static str, status: u16) {
        self.state.lock().unwrap().failures.push((method, status));
    }

    pub(super) fn requests(&self) -> Vec<(String, String, Value)> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(super) fn leaks(&self) -> Vec<String> {
        self.state.lock().unwrap().leaks.clone()
    }
}

fn serve(socket: TcpStream, state: &Mutex<State>, root: &Path, port: u16) {
    let mut reader = BufReader::new(socket);
    while let Some(request) = read(&mut reader) {
        let leaks = processes_with_token();
        state.lock().unwrap().leaks.extend(leaks);
        let (status, headers, body) = match request.path.starts_with("/api/") {
            true => {
                let (status, answer) = api(&request, &mut state.lock().unwrap(), root, port);
                let kind = "content-type: application/json\r\n".to_owned();
                (status, kind, answer.to_string().into_bytes())
            }
            false => git(&request, root),
        };
        let head =
            format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
        let socket = reader.get_mut();
        if socket.write_all(&[head.into_bytes(), body].concat()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    let length = request.header("content-length").parse().unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// Serves git through its CGI program.
fn git(request: &Request, root: &Path) -> (u16, String, Vec<u8>) {
    if !BASIC.contains(&request.header("authorization")) {
        let challenge = "www-authenticate: Basic realm=\"git\"\r\n".to_owned();
        return (401, challenge, b"no token".to_vec());
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let mut child = Command::new("git")
        .args(["-c", "http.receivepack=true", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&request.body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status =
        head.lines().find_map(|line| line.strip_prefix("Status: ")?.get(..3)?.parse().ok());
    let headers = head.lines().filter(|line| !line.starts_with("Status:"));
    let headers = headers.map(|line| format!("{line}\r\n")).collect();
    (status.unwrap_or(200), headers, output[end + 4..].to_vec())
}

/// Answers a request to the API of GitHub (`/api/v3`) or GitLab (`/api/v4`).
fn api(request: &Request, state: &mut State, root: &Path, port: u16) -> (u16, Value) {
    let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    state.requests.push((request.method.clone(), request.path.clone(), body.clone()));
    let has_token = request.header("authorization") == format!("Bearer {TOKEN}")
        || request.header("private-token") == TOKEN;
    if !has_token {
        return (401, json!({"message": "Bad credentials"}));
    }
    let failure = state.failures.iter().position(|(method, _)| *method == request.method);
    if let Some(at) = failure {
        // A server that quotes the token back.
        let message = format!("broken @you {TOKEN}");
        return (state.failures.remove(at).1, json!({ "message": message }));
    }
    let page = format!("http://127.0.0.1:{port}/acme/widget/pull");
    let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
    if let Some(range) = path.strip_prefix("/api/v3/repos/acme/widget/compare/") {
        return compare(range, root);
    }
    match (request.method.as_str(), path) {
        ("GET", "/api/v3/repos/acme/widget/pulls")
        | ("GET", "/api/v4/projects/acme%2Fwidget/merge_requests") => {
            (200, state.pulls.clone().into())
        }
        ("POST", "/api/v3/repos/acme/widget/pulls") => {
            let number = state.pulls.len() + 1;
            let pull = json!({"number": number, "html_url": format!("{page}/{number}"),
                "head": {"ref": body["head"]}});
            state.pulls.push(pull.clone());
            (201, pull)
        }
        ("POST", "/api/v4/projects/acme%2Fwidget/merge_requests") => {
            let number = state.pulls.len() + 1;
            let pull = json!({"iid": number, "web_url": format!("{page}/{number}"),
                "source_branch": body["source_branch"]});
            state.pulls.push(pull.clone());
            (201, pull)
        }
        ("POST", "/api/v3/repos/acme/widget/issues/1/labels") => (200, json!([])),
        ("GET", "/api/v3/repos/acme/widget") => (200, json!({"default_branch": "main"})),
        _ => (404, json!({"message": "Not Found"})),
    }
}

/// Counts the commits of a range, such as `main...COMMIT`.
fn compare(range: &str, root: &Path) -> (u16, Value) {
    let range = range.replace("...", "..");
    let count = ["rev-list", "--count", &range];
    let output =
        Command::new("git").args(count).current_dir(root.join("acme/widget.git")).output().unwrap();
    match String::from_utf8_lossy(&output.stdout).trim().parse::<u64>() {
        Ok(count) => (200, json!({ "ahead_by": count })),
        Err(_) => (404, json!({"message": "Not Found"})),
    }
}

fn processes_with_token() -> Vec<String> {
    let encoded = BASIC.map(|basic| basic.trim_start_matches("Basic "));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let commands = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let commands = commands.map(|command| String::from_utf8_lossy(&command).into_owned());
    commands
        .filter(|text| text.contains(TOKEN) || encoded.iter().any(|one| text.contains(one)))
        .collect()
}
