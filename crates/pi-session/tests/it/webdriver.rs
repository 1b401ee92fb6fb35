//! A browser under test: Chromium, driven through chromedriver with plain HTTP and JSON.
//!
//! The tests cannot be skipped: without a browser they fail, and name what to install.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

const MISSING: &str = "the page tests need Chromium and its driver; \
    on Debian: apt-get install chromium chromium-driver (.ci/install-chromium does it)";

const ARGUMENTS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--window-size=1400,900",
];

/// A browser window, which closes when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        // The driver looks for a free port and may lose it to another one that starts.
        let (driver, port) = (0..3)
            .find_map(|_| start_driver())
            .unwrap_or_else(|| panic!("chromedriver did not start; {MISSING}"));
        let profile = TempDir::new().unwrap();
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let data = format!("--user-data-dir={}", browser._profile.path().display());
        let arguments: Vec<&str> = ARGUMENTS.iter().copied().chain([data.as_str()]).collect();
        let created = browser.send(
            "POST",
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": {"args": arguments},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "unhandledPromptBehavior": "ignore",
            }}}),
        );
        let session = created["sessionId"].as_str();
        browser.session = session.unwrap_or_else(|| panic!("{created}; {MISSING}")).to_owned();
        browser
    }

    /// Opens a file, and discards the log of the browser.
    pub(crate) fn open(&mut self, page: &Path, fragment: &str) {
        self.go(&format!("file://{}{fragment}", page.display()));
    }

    /// Opens a URL, and discards the log of the browser.
    pub(crate) fn go(&mut self, url: &str) {
        self.command("url", &json!({"url": "about:blank"}));
        self.log("browser");
        self.log("performance");
        let opened = self.command("url", &json!({ "url": url }));
        assert!(opened.is_null(), "{opened}");
    }

    /// Runs a script in the page, and returns its result.
    pub(crate) fn run(&mut self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Evaluates an expression until it is true.
    pub(crate) fn wait(&mut self, condition: &str) {
        let script = format!(
            "const done = arguments[0]; \
             const look = () => ({condition}) ? done(true) : requestAnimationFrame(look); look();"
        );
        let seen = self.command("execute/async", &json!({"script": script, "args": []}));
        assert_eq!(seen, true, "waited for {condition}");
    }

    /// Types into the focused element.
    ///
    /// Keys are pressed without naming the element: the page may replace it at any time.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        let presses = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|action| json!({"type": action, "value": key.to_string()}))
        });
        let source =
            json!({"type": "key", "id": "keyboard", "actions": presses.collect::<Vec<_>>()});
        let typed = self.command("actions", &json!({"actions": [source]}));
        assert!(typed.is_null(), "{typed}");
    }

    /// Sends a command of the DevTools protocol.
    pub(crate) fn devtools(&mut self, command: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Returns the log since the last call.
    pub(crate) fn log(&mut self, kind: &str) -> Vec<Value> {
        let entries = self.command("se/log", &json!({ "type": kind }));
        entries.as_array().unwrap_or_else(|| panic!("{entries}")).clone()
    }

    /// Returns the URLs that the page requested since it was opened.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let events = self.log("performance").into_iter().filter_map(|entry| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = event.get("message")?;
            (event["method"] == "Network.requestWillBeSent")
                .then(|| event["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        events.collect()
    }

    /// Returns true if a dialog is open.
    pub(crate) fn has_dialog(&mut self) -> bool {
        let path = format!("/session/{}/alert/text", self.session);
        self.send("GET", &path, &Value::Null)["error"] != "no such alert"
    }

    fn command(&mut self, name: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{name}", self.session);
        self.send("POST", &path, body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        let port = self.port;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()["value"].take()
    }
}

/// Starts the driver, and returns it with its port. `None` if it ends at once.
fn start_driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{MISSING} ({error})"));
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let line = line.ok()?;
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    let Some(port) = port else {
        let _ = driver.wait();
        return None;
    };
    // The driver must never block on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            // The browser is a child of the driver: close it first.
            let ended = std::panic::AssertUnwindSafe(|| self.send("DELETE", &path, &Value::Null));
            let _ = std::panic::catch_unwind(ended);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
