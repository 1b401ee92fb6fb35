//! Tests of the approval panel, without a terminal.

use std::time::Instant;

use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use pi_guard::Decision;
use pi_guard::policy::{Part, Scope};
use tokio::sync::oneshot;

use super::super::super::panel::PanelEvent;
use super::super::testing::{keymap, press, shown};
use super::{ApprovalPanel, UNREAD};

type Receiver = oneshot::Receiver<Option<ApprovalDecision>>;

fn request(what: &str) -> ApprovalRequest {
    let scope = Scope::Script { text: what.to_owned() };
    let part = Part::new(what, Decision::Ask, "It is not known to be safe", scope);
    let mut request = ApprovalRequest::new("bash", "call-1", what, "/home/user/proj", vec![part]);
    request.rule = Some("[[rule]]\nallow = \"make test\"".to_owned());
    request
}

/// Opens the panel, and lets the time pass in which keys do not count.
fn open(request: ApprovalRequest) -> (ApprovalPanel, Receiver) {
    let (sender, receiver) = oneshot::channel();
    let mut panel = ApprovalPanel::new(request, sender, &keymap());
    shown(&mut panel, 60, 24);
    panel.shown = Instant::now().checked_sub(UNREAD);
    (panel, receiver)
}

#[test]
fn keys_lead_to_decisions() {
    let deny = |reason: Option<&str>| ApprovalDecision::Deny { reason: reason.map(str::to_owned) };
    let cases = [
        ("enter", ApprovalDecision::Once),
        ("down enter", ApprovalDecision::Session),
        ("\"jj\" enter", ApprovalDecision::Always),
        ("down down down enter", deny(None)),
        ("up enter \"too_wide\" enter", deny(Some("too_wide"))),
        ("up enter enter", deny(None)),
        ("up enter escape up enter", deny(None)),
        ("escape", deny(None)),
        ("ctrl+c", deny(None)),
    ];
    for (keys, expected) in cases {
        let (mut panel, mut answer) = open(request("make test"));
        assert!(matches!(press(&mut panel, keys), PanelEvent::Close(None)), "{keys}");
        assert_eq!(answer.try_recv().expect(keys), Some(expected), "{keys}");
    }
}

#[test]
fn what_is_typed_while_the_question_appears_does_not_answer_it() {
    let (sender, mut receiver) = oneshot::channel();
    let mut panel = ApprovalPanel::new(request("rm -rf build"), sender, &keymap());
    assert!(!matches!(press(&mut panel, "enter"), PanelEvent::Close(_)), "before a frame");
    shown(&mut panel, 60, 24);
    assert!(!matches!(press(&mut panel, "enter escape"), PanelEvent::Close(_)), "just shown");
    assert!(receiver.try_recv().is_err());
}

#[test]
fn an_approval_shows_action_reasons_and_reach() {
    let (mut panel, _answer) = open(request("make test && rm -rf build"));
    insta::assert_snapshot!("once", shown(&mut panel, 60, 24));
    press(&mut panel, "down");
    let session = shown(&mut panel, 60, 24);
    assert!(session.contains("make test && rm -rf build"), "{session}");
    press(&mut panel, "down");
    insta::assert_snapshot!("always", shown(&mut panel, 60, 24));
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let mut request = request("edit src/main.rs");
    request.change = Some("-let a = 1;\n+let a = 2;\u{202e}".to_owned());
    let (mut panel, _answer) = open(request);
    let text = shown(&mut panel, 60, 40);
    assert!(text.contains("-let a = 1;\n +let a = 2;\\u{202e}"), "{text}");
}

#[test]
fn options_that_do_not_exist_are_not_offered() {
    let mut request = request("make");
    request.rule = None;
    request.remembered.clear();
    request.wider = Some("with the network".to_owned());
    let (mut panel, _answer) = open(request);
    let text = shown(&mut panel, 60, 24);
    assert!(!text.contains("session") && !text.contains("always"), "{text}");
    assert!(text.contains("with the\n network?"), "{text}");
}

/// The end of every hostile command can be reached, and nothing of it is interpreted.
#[test]
fn hostile_commands_are_shown_in_full() {
    let blank = "\n".repeat(500);
    let wide = " ".repeat(3000);
    for command in [
        format!("ls{blank}rm -rf ~ #END"),
        format!("ls{wide}rm -rf ~ #END"),
        format!("{}rm -rf ~ #END", "echo a; ".repeat(2000)),
        "ls \u{1b}[2K\u{1b}[1A\u{1b}[8m rm -rf ~ \u{1b}[0m#END".to_owned(),
        "ls #\u{202e}sl\u{202c}\u{2066} rm -rf ~\r#END".to_owned(),
    ] {
        let (mut panel, _answer) = open(request(&command));
        let mut all = String::new();
        for _ in 0..300 {
            let text = shown(&mut panel, 60, 24);
            assert!(text.lines().count() <= 22, "{text}");
            assert!(text.contains("Yes, once"), "{text}");
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{2066}', '\r']), "{text:?}");
            all.push_str(&text);
            press(&mut panel, "pageDown");
        }
        assert!(all.contains("#END"), "{}", all.len());
        let squeezed: String = all.split_whitespace().collect();
        assert!(squeezed.contains("rm-rf~"), "{command}");
    }
}

#[test]
fn small_screens_do_not_matter() {
    for (width, rows) in [(1, 1), (3, 3), (10, 5), (300, 100)] {
        let (mut panel, _answer) = open(request("make test"));
        shown(&mut panel, width, rows);
        press(&mut panel, "up enter");
        shown(&mut panel, width, rows);
    }
}
