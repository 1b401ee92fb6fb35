//! Questions of the screen: trust, approvals, keys.

use serde_json::Value;

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;

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
    screen.submit("/login openai");
    screen.wait_for("Login to OpenAI");
    screen.text("sk-secret-1234");
    screen.wait_for("1234");
    assert!(!screen.shown().contains("secret"), "{}", screen.shown());
    screen.key("enter");
    screen.wait_for("Saved API key for OpenAI");
    assert_eq!(stored(&home, "auth.json")["openai"]["key"], "sk-secret-1234");
    screen.submit("/logout openai");
    screen.wait_for("Removed the credential of OpenAI");
    assert_eq!(stored(&home, "auth.json").get("openai"), None);
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
    screen.key("up");
    screen.key("enter");
    screen.wait_for("What should the agent do instead?");
    screen.text("list files instead");
    screen.key("enter");
    screen.wait_for("it was denied: list files instead");
}
