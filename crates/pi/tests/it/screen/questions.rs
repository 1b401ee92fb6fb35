//! Questions of the screen: trust, approvals, keys.

use serde_json::Value;

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;
use crate::logins::AuthorizationServer;

const SIZE: Size = Size::new(80, 40);

fn stored(home: &Home, file: &str) -> Value {
    let text = std::fs::read_to_string(home.path(&format!(".pi/agent/{file}"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn trust_is_asked_once_and_stored() {
    let home = Home::new();
    home.write("proj/.pi/settings.json", "{}");
    let mut screen = home.regular(SIZE);
    screen.wait_for("Trust project folder?");
    screen.wait_for(".pi/settings.json");
    screen.key("enter");
    screen.wait_for("fake-1 • medium");
    let decisions = stored(&home, "trust.json");
    let decisions: Vec<&Value> = decisions.as_object().unwrap().values().collect();
    assert_eq!(decisions, [&Value::Bool(true)]);
    screen.submit("/trust");
    screen.wait_for("Stored decision: trusted");
    screen.key("escape");
    drop(screen);
    let mut again = home.regular(SIZE);
    again.wait_for("fake-1 • medium");
    assert!(!again.shown().contains("Trust project folder?"), "{}", again.shown());
}

#[test]
fn a_key_is_stored_hidden_and_removed() {
    let home = Home::new();
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1 • medium");
    screen.submit("/login groq");
    screen.wait_for("Login to Groq");
    screen.text("sk-secret-1234");
    screen.wait_for("1234");
    assert!(!screen.shown().contains("secret"), "{}", screen.shown());
    screen.key("enter");
    screen.wait_for("Saved API key for Groq");
    assert_eq!(stored(&home, "auth.json")["groq"]["key"], "sk-secret-1234");
    screen.submit("/logout groq");
    screen.wait_for("Removed the credential of Groq");
    assert_eq!(stored(&home, "auth.json").get("groq"), None);
}

/// A browser of the shell: it requests a page and the address to which the page sends it.
const BROWSER: &str = r#"#!/bin/bash
get() {
  address=${1#http://}
  host=${address%%/*}
  exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
  printf 'GET /%s HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n' "${address#*/}" "$host" >&3
  cat <&3
  exec 3>&-
}
get "$(get "$1" | tr -d '\r' | sed -n 's/^location: //p')"
"#;

#[cfg(unix)]
#[test]
fn an_account_signs_in_without_blocking_the_screen() {
    use std::os::unix::fs::PermissionsExt as _;

    let server = AuthorizationServer::start();
    let home = Home::new();
    let mut models = home.models();
    models["providers"]["corp"] = server.provider();
    home.write(".pi/agent/models.json", models.to_string());
    let mut more = serde_json::Map::new();
    more.insert("oauth".to_owned(), serde_json::json!({ "corp": server.service() }));
    home.settings(&more);
    let browser = home.path("browser");
    home.write("browser", BROWSER);
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();

    // Without a browser the page is shown, and escape ends the login.
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1 • medium");
    screen.submit("/login corp");
    screen.wait_for("Login to corp");
    screen.key("enter");
    screen.wait_for("Sign in on this page:");
    screen.wait_for("/authorize?");
    screen.key("escape");
    screen.wait_for("Login cancelled");
    drop(screen);

    let mut command = home.command(&["--tui-mode", "regular"]);
    command.env("BROWSER", &browser);
    let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
    screen.wait_for("fake-1 • medium");
    screen.submit("/login corp");
    screen.wait_for("Login to corp");
    screen.key("enter");
    screen.wait_for("Signed in to corp");
    assert_eq!(stored(&home, "auth.json")["corp"]["access"], "planted-access");
    screen.submit("/logout corp");
    screen.wait_for("and revoked its tokens");
    let raw = String::from_utf8_lossy(&screen.emulator.raw);
    assert!(!raw.contains("planted-"), "a token was shown");
}

/// A command that needs approval runs after a yes, and the reason of a no reaches the model.
#[test]
fn approvals_decide_about_commands() {
    let home = Home::new();
    let arguments = ["--tui-mode", "regular", "--profile", "careful", "--sandbox", "off"];
    let mut screen = Screen::start(&home.command(&arguments), SIZE, Profile::PLAIN);
    screen.wait_for("fake-1 • medium");
    screen.submit("bash-ok");
    screen.wait_for("Allow bash?");
    // Keys count when the question can have been read.
    screen.settle(std::time::Duration::from_millis(600));
    // Nothing that approves is selected.
    let shown = screen.shown();
    assert!(shown.lines().any(|line| line.contains('→') && line.contains("No")), "{shown}");
    screen.key("down");
    screen.key("enter");
    screen.wait_for("What should the agent do instead?");
    screen.text("list files instead");
    screen.key("enter");
    screen.wait_for("it was denied: list files instead");
}

/// An extension cannot push the question above the screen with a widget, a status or a footer.
#[test]
fn what_extensions_show_does_not_hide_the_question() {
    let widget =
        "ctx.ui.setWidget(\"w\", Array(10).fill(\"noise\"), { placement: \"belowEditor\" });";
    let status = "ctx.ui.setStatus(\"s\", \"noisy status\");";
    for (size, mode) in [(Size::new(60, 12), "regular"), (Size::new(80, 24), "fullscreen")] {
        let home = Home::new();
        let source = format!(
            "export default (pi) => {{ pi.on(\"session_start\", (event, ctx) => {{ {widget} {status} }}); }};"
        );
        home.write(".pi/agent/extensions/noise.ts", source);
        let arguments = ["--tui-mode", mode, "--profile", "careful", "--sandbox", "off"];
        let mut screen = Screen::start(&home.command(&arguments), size, Profile::PLAIN);
        screen.wait_for("noise");
        screen.submit("bash-ok");
        screen.wait_for("Allow bash?");
        screen.wait_for("for i in $(seq 1 12)");
        screen.wait_gone("noise");
    }
}
