//! The page in a real browser, against a server with a scripted model.

mod approvals;
mod hostile;
mod login;
mod review;
mod shape;
mod streaming;

use std::net::SocketAddr;

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::{Value, json};

use crate::home::{Home, TestServer};
use crate::webdriver::Browser;

/// Keys of the keyboard, as WebDriver names them.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const DOWN: &str = "\u{e015}";

/// A browser that shows the page of a server.
struct Page {
    browser: Browser,
    address: SocketAddr,
}

impl Page {
    /// Starts a browser and signs in with a token.
    fn open(address: SocketAddr, token: &str) -> Self {
        let mut page = Self { browser: Browser::start(), address };
        page.sign_in(token);
        page.wait("!document.getElementById('frame').hidden");
        page
    }

    /// Opens the address that the server printed.
    fn sign_in(&mut self, token: &str) {
        self.browser.go(&format!("http://{}/#t={token}", self.address));
    }

    fn wait(&mut self, condition: &str) {
        self.browser.wait(condition);
    }

    fn run(&mut self, script: &str) -> Value {
        self.browser.run(script)
    }

    fn keys(&mut self, keys: &str) {
        self.browser.type_keys(keys);
    }

    /// Returns the text of an element; empty if it does not exist.
    fn text(&mut self, selector: &str) -> String {
        let script = format!("return document.querySelector({selector:?})?.textContent ?? ''");
        self.run(&script).as_str().unwrap().to_owned()
    }

    /// Shows a screen by its address.
    fn show(&mut self, screen: &str) {
        self.run(&format!("location.hash = {screen:?}"));
    }

    /// Shows a session, and waits until its items come.
    fn show_session(&mut self, id: &str) {
        self.show(&format!("#/s/{id}"));
        self.wait("document.querySelector('.session-name').textContent !== '…'");
    }

    /// Sets the size of the window, as that of a phone if it is narrow.
    fn resize(&mut self, width: u32, height: u32) {
        let mobile = width < 700;
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.browser.devtools("Emulation.setDeviceMetricsOverride", &size);
        let touch = json!({ "enabled": mobile });
        self.browser.devtools("Emulation.setTouchEmulationEnabled", &touch);
    }

    /// Returns what the browser complained about.
    fn complaints(&mut self) -> Vec<Value> {
        self.browser.log("browser")
    }
}

/// Opens a session and runs one prompt in it. Returns its id.
async fn session_with(server: &TestServer, home: &Home, prompt: &str, reply: Reply) -> String {
    let name = format!("maker{}", home.model.requests().len());
    let mut driver = server.client_with(&name, Right::Drive).await;
    let session = driver.open().await;
    home.model.push(reply);
    driver.prompt(&session, prompt).await;
    session
}
