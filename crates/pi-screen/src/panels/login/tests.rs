//! Tests of the login, without a terminal.

use super::super::super::panel::PanelEvent;
use super::super::testing::{keymap, press, shown};
use super::*;

fn provider(id: &str, name: &str, source: Option<&str>) -> Provider {
    let ways = Ways { account: id == "anthropic", key: true, form: id == "azure" };
    Provider {
        id: id.to_owned(),
        name: name.to_owned(),
        source: source.map(str::to_owned),
        ways,
        is_closed: false,
    }
}

fn providers() -> Vec<Provider> {
    vec![
        provider("anthropic", "Anthropic", Some("env: ANTHROPIC_API_KEY")),
        provider("azure", "Azure", None),
        provider("openai", "OpenAI", None),
    ]
}

fn open(provider: Option<Provider>) -> LoginPanel {
    let check = |key: &str| key.is_empty().then_some("contains no key");
    LoginPanel::new(providers(), provider, check, &keymap())
}

#[test]
fn each_step_is_shown() {
    let mut panel = open(None);
    insta::assert_snapshot!("method", shown(&mut panel, 70, 24));
    press(&mut panel, "down enter");
    insta::assert_snapshot!("providers", shown(&mut panel, 70, 24));
    press(&mut panel, "\"open\" enter \"sk-secret-1234\"");
    insta::assert_snapshot!("key", shown(&mut panel, 70, 24));
}

#[test]
fn a_key_is_masked_and_returned() {
    let mut panel = open(Some(provider("openai", "OpenAI", None)));
    press(&mut panel, "\"sk-secret-1234\"");
    let text = shown(&mut panel, 70, 24);
    assert!(!text.contains("secret") && text.contains("1234"), "{text}");
    let expected = Login::Key {
        provider: provider("openai", "OpenAI", None),
        key: "sk-secret-1234".to_owned(),
    };
    match press(&mut panel, "enter") {
        PanelEvent::Close(login) => assert_eq!(login, Some(expected)),
        _ => panic!("the login closes"),
    }
}

#[test]
fn cancelling_goes_back_one_step() {
    let mut panel = open(None);
    press(&mut panel, "down enter enter");
    assert!(shown(&mut panel, 70, 24).contains("Login to Anthropic"));
    assert!(matches!(press(&mut panel, "escape"), PanelEvent::Changed));
    assert!(shown(&mut panel, 70, 24).contains("Select provider"));
    assert!(matches!(press(&mut panel, "escape"), PanelEvent::Changed));
    assert!(shown(&mut panel, 70, 24).contains("Select authentication method"));
    assert!(matches!(press(&mut panel, "escape"), PanelEvent::Close(None)));
}

#[test]
fn accounts_and_forms_close_the_panel() {
    let closed = |panel: &mut LoginPanel, keys: &str| match press(panel, keys) {
        PanelEvent::Close(login) => login,
        _ => panic!("the login closes"),
    };
    let anthropic = providers().remove(0);
    let login = closed(&mut open(None), "enter enter");
    assert_eq!(login, Some(Login::Account(anthropic.clone())));
    let login = closed(&mut open(Some(anthropic.clone())), "enter");
    assert_eq!(login, Some(Login::Account(anthropic)));
    let login = closed(&mut open(None), "down enter \"azure\" enter");
    assert_eq!(login, Some(Login::Form(provider("azure", "Azure", None))));
}

#[test]
fn an_empty_key_is_refused() {
    let mut panel = open(Some(provider("openai", "OpenAI", None)));
    assert!(matches!(press(&mut panel, "enter"), PanelEvent::Changed));
    let text = shown(&mut panel, 70, 24);
    assert!(text.contains("contains no key"), "{text}");
}
