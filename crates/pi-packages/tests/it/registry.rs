//! A registry server: metadata and archives over HTTP, with faults on request.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::archives::{Entry, archive};

/// A fault of one answer.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// An error status.
    Status(u16),
    /// The connection ends after this many bytes of the body.
    Cut(usize),
    /// A redirect.
    Redirect(String),
    /// Another body.
    Body(Vec<u8>),
}

/// A request that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
}

#[derive(Default)]
struct State {
    /// Manifests by package and version.
    packages: BTreeMap<String, BTreeMap<String, Value>>,
    tags: HashMap<String, BTreeMap<String, String>>,
    archives: HashMap<String, Vec<u8>>,
    faults: HashMap<String, VecDeque<Fault>>,
    token: Option<String>,
    seen: Vec<Seen>,
}

/// A running server. Its thread ends with the test process.
#[derive(Clone)]
pub(crate) struct TestRegistry {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl TestRegistry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let registry = Self { url, state: Arc::default() };
        let serving = registry.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let serving = serving.clone();
                // A client that goes away is part of some tests.
                std::thread::spawn(move || drop(serving.answer(&connection.unwrap())));
            }
        });
        registry
    }

    /// Publishes a package with an extension and the given fields of `package.json`.
    pub(crate) fn publish(&self, name: &str, version: &str, fields: Value) {
        let package = package_json(name, version, fields);
        let entries = [
            Entry::file("package/package.json", &package.to_string()),
            Entry::file("package/index.js", &format!("module.exports = '{name}@{version}'")),
            Entry::file("package/extensions/main.ts", "export default () => {}"),
        ];
        self.publish_archive(&package, archive(&entries));
    }

    /// Publishes a package with the given archive.
    pub(crate) fn publish_archive(&self, package: &Value, archive: Vec<u8>) {
        let (name, version) =
            (package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        let last = name.rsplit('/').next().unwrap();
        let path = format!("/{name}/-/{last}-{version}.tgz");
        let digest = STANDARD.encode(sha2::Sha512::digest(&archive));
        let mut manifest = package.clone();
        manifest["dist"] = json!({
            "tarball": format!("{}{}", self.url, &path[1..]),
            "integrity": format!("sha512-{digest}"),
        });
        let mut state = self.state.lock().unwrap();
        state.archives.insert(path, archive);
        let versions = state.packages.entry(name.to_owned()).or_default();
        versions.insert(version.to_owned(), manifest);
        let tags = state.tags.entry(name.to_owned()).or_default();
        tags.insert("latest".to_owned(), version.to_owned());
    }

    pub(crate) fn tag(&self, name: &str, tag: &str, version: &str) {
        let mut state = self.state.lock().unwrap();
        let tags = state.tags.entry(name.to_owned()).or_default();
        tags.insert(tag.to_owned(), version.to_owned());
    }

    /// Changes the metadata of a version.
    pub(crate) fn edit(&self, name: &str, version: &str, edit: impl FnOnce(&mut Value)) {
        let mut state = self.state.lock().unwrap();
        edit(state.packages.get_mut(name).unwrap().get_mut(version).unwrap());
    }

    pub(crate) fn unpublish(&self, name: &str) {
        self.state.lock().unwrap().packages.remove(name);
    }

    /// Adds a fault to the next answer for a path.
    pub(crate) fn fail(&self, path: &str, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state.faults.entry(path.to_owned()).or_default().push_back(fault);
    }

    /// Requires a bearer token from now on.
    pub(crate) fn require(&self, token: &str) {
        self.state.lock().unwrap().token = Some(token.to_owned());
    }

    /// Returns the requests since the last call.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state.lock().unwrap().seen)
    }

    pub(crate) fn seen_paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.seen().into_iter().map(|one| one.path).collect();
        paths.sort();
        paths
    }

    fn answer(&self, connection: &TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(connection).lines();
        let first = lines.next().unwrap_or(Ok(String::new()))?;
        let path = first.split(' ').nth(1).unwrap_or_default().replace("%2f", "/");
        let mut authorization = None;
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("authorization: ") {
                authorization = Some(line[line.len() - value.len()..].to_owned());
            }
        }
        let mut state = self.state.lock().unwrap();
        state.seen.push(Seen { path: path.clone(), authorization: authorization.clone() });
        let fault = state.faults.get_mut(&path).and_then(VecDeque::pop_front);
        let is_known = match &state.token {
            Some(token) => authorization == Some(format!("Bearer {token}")),
            None => true,
        };
        let body = match state.archives.get(&path) {
            Some(archive) => Some(archive.clone()),
            None => state.packages.get(&path[1..]).map(|versions| {
                let tags = &state.tags[&path[1..]];
                json!({"name": &path[1..], "dist-tags": tags, "versions": versions})
                    .to_string()
                    .into_bytes()
            }),
        };
        drop(state);
        let mut out = connection;
        let (status, body) = match (fault, is_known, body) {
            (Some(Fault::Status(status)), _, _) => (status, b"no".to_vec()),
            (Some(Fault::Redirect(to)), _, _) => {
                return write!(
                    out,
                    "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
            }
            (Some(Fault::Body(body)), _, _) => (200, body),
            (_, false, _) => (401, b"who?".to_vec()),
            (_, _, None) => (404, b"{}".to_vec()),
            (Some(Fault::Cut(length)), _, Some(body)) => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
                return out.write_all(&body[..length.min(body.len() - 1)]);
            }
            (None, _, Some(body)) => (200, body),
        };
        write!(
            out,
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        )?;
        out.write_all(&body)
    }
}

/// Returns a `package.json`.
pub(crate) fn package_json(name: &str, version: &str, fields: Value) -> Value {
    let mut package = json!({"name": name, "version": version});
    if let (Value::Object(package), Value::Object(fields)) = (&mut package, fields) {
        package.extend(fields);
    }
    package
}
