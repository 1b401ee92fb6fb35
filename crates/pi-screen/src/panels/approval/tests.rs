//! Tests of the approval panel, without a terminal.

use std::time::Instant;

use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use pi_guard::Decision;
use pi_guard::policy::{Part, PathAccess, Scope};
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
        // Nothing that approves is selected.
        ("enter", deny(None)),
        ("up up up enter", ApprovalDecision::Once),
        ("\"kk\" enter", ApprovalDecision::Session),
        ("up enter", ApprovalDecision::Always),
        ("down enter \"too_wide\" enter", deny(Some("too_wide"))),
        ("down enter enter", deny(None)),
        ("down enter escape up enter", deny(None)),
        ("\"y\"", ApprovalDecision::Once),
        ("\"s\"", ApprovalDecision::Session),
        ("\"a\"", ApprovalDecision::Always),
        ("\"n\"", deny(None)),
        ("\"r\" \"why\" enter", deny(Some("why"))),
        ("\"1\"", ApprovalDecision::Once),
        ("\"3\"", ApprovalDecision::Always),
        ("\"4\"", deny(None)),
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
    insta::assert_snapshot!("small", shown(&mut panel, 40, 10));
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let mut request = request("edit src/main.rs");
    request.change = Some("-let a = 1;\n+let a = 2;\u{202e}".to_owned());
    let (mut panel, _answer) = open(request);
    let text = shown(&mut panel, 60, 40);
    assert!(text.contains("-let a = 1;\n +let a = 2;\\u{202e}"), "{text}");
    let (change, reason) = (text.find("-let a"), text.find("not known to be safe"));
    assert!(change < reason, "{text}");
}

#[test]
fn the_selected_choice_is_visible_in_a_line_too() {
    let (mut panel, mut answer) = open(request("make"));
    assert!(shown(&mut panel, 40, 12).contains(" s:session a:always [n:no] r:why"));
    press(&mut panel, "up");
    assert!(shown(&mut panel, 40, 12).contains(" [a:always] n:no"));
    press(&mut panel, "left");
    assert!(shown(&mut panel, 40, 12).contains(" [s:session] a:always"));
    press(&mut panel, "right right enter");
    assert_eq!(answer.try_recv().unwrap(), Some(ApprovalDecision::Deny { reason: None }));
}

#[test]
fn parts_with_the_same_reason_share_a_line() {
    let part = |what: &str| {
        let scope = Scope::Script { text: what.to_owned() };
        Part::new(what, Decision::Ask, "its effects are not known", scope)
    };
    let what = "./a\n./b\n./a";
    let parts = vec![part("./a"), part("./b"), part("./a")];
    let request = ApprovalRequest::new("bash", "call-1", what, "/home/user/proj", parts);
    let (mut panel, _answer) = open(request);
    let text = shown(&mut panel, 80, 40);
    assert!(text.contains("- ./a, ./b: its effects are not known"), "{text}");
    assert_eq!(text.matches("not known").count(), 1, "{text}");
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

/// The end of every hostile command can be reached, nothing of it is interpreted, and it is not
/// approved before.
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
        let (mut panel, mut answer) = open(request(&command));
        let mut all = String::new();
        for _ in 0..400 {
            let text = shown(&mut panel, 60, 24);
            assert!(text.lines().count() <= 20, "{text}");
            assert!(text.contains("No") || text.contains("n:no"), "{text}");
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{2066}', '\r']), "{text:?}");
            all.push_str(&text);
            if !all.contains("#END") {
                press(&mut panel, "\"ysa123\" up up up enter down enter down enter down");
                assert!(answer.try_recv().is_err(), "{all}");
            }
            press(&mut panel, "pageDown");
        }
        assert!(all.contains("#END"), "{}", all.len());
        let squeezed: String = all.split_whitespace().collect();
        assert!(squeezed.contains("rm-rf~"), "{command}");
        press(&mut panel, "\"y\"");
        assert_eq!(answer.try_recv().unwrap(), Some(ApprovalDecision::Once));
    }
}

/// Requests of every kind: a command, a long one, a file with its change, a host, a tool, a second
/// try.
fn kinds() -> Vec<(&'static str, ApprovalRequest)> {
    let part = |what: &str, scope| Part::new(what, Decision::Ask, "no rule for it", scope);
    let of = |tool: &str, what: &str, scope| {
        ApprovalRequest::new(tool, "id", what, "/home/user/proj", vec![part(what, scope)])
    };
    let path = Scope::Path { path: "/home/user/proj".into(), access: PathAccess::Write };
    let mut write = of("write", "src/deep/in/a/directory/main.rs", path);
    let lines: Vec<String> = (0..120).map(|number| format!("+let x{number} = {number};")).collect();
    write.change = Some(lines.join("\n"));
    let mut again = request("npm install");
    again.wider = Some("with access to registry.example.com".to_owned());
    let once = Scope::Once { text: "rm -rf build".to_owned() };
    let tool = Scope::Tool { name: "mcp__tickets__close".to_owned() };
    vec![
        ("command", request("make test")),
        ("long command", request(&format!("{}echo END", "echo one more; ".repeat(60)))),
        ("destruction", of("bash", "rm -rf build", once)),
        ("write", write),
        ("host", of("fetch", "example.com", Scope::Host { host: "example.com".to_owned() })),
        ("tool", of("mcp__tickets__close", "{\"id\": 7, \"reason\": \"done\"}", tool)),
        ("again", again),
    ]
}

#[test]
fn every_request_can_be_read_and_answered_at_every_size() {
    let sizes = [
        (40, 10),
        (40, 12),
        (50, 10),
        (60, 12),
        (60, 16),
        (80, 10),
        (80, 15),
        (80, 24),
        (100, 30),
        (120, 40),
        (200, 50),
        (45, 11),
    ];
    for (name, request) in kinds() {
        for (width, rows) in sizes {
            let case = format!("{name} {width}x{rows}");
            let (sender, mut answer) = oneshot::channel();
            let mut panel = ApprovalPanel::new(request.clone(), sender, &keymap());
            let first = shown(&mut panel, width, rows);
            panel.shown = Instant::now().checked_sub(UNREAD);
            assert!(first.starts_with([' ', '─']), "{case}\n{first}");
            let begin: String = request.what.chars().take(8).collect();
            assert!(first.contains(&begin), "{case}\n{first}");
            let (mut all, mut before) = (first.clone(), String::new());
            for _ in 0..200 {
                let now = shown(&mut panel, width, rows);
                assert!(now.lines().count() + 4 <= rows, "{case}\n{now}");
                if now == before {
                    break;
                }
                all.push_str(&now);
                before = now;
                press(&mut panel, "pageDown");
            }
            let last = all.split('\n').any(|line| line.contains("/home/user/proj"));
            assert!(last, "{case}\n{all}");
            assert!(all.contains("no rule") || all.contains("not known"), "{case}\n{all}");
            for (letter, word) in [('y', "once"), ('n', "o")] {
                let options =
                    before.lines().any(|line| line.contains(letter) && line.contains(word));
                assert!(options, "{case}\n{before}");
            }
            let is_lasting = !request.remembered.is_empty();
            assert_eq!(before.contains("session"), is_lasting, "{case}\n{before}");
            press(&mut panel, "\"y\"");
            assert_eq!(answer.try_recv().expect(&case), Some(ApprovalDecision::Once));
        }
    }
}

#[test]
fn a_part_that_scrolled_past_in_another_width_is_read_again() {
    let long = format!("{}echo END", "echo one more; ".repeat(60));
    let (mut panel, mut answer) = open(request(&long));
    shown(&mut panel, 40, 10);
    press(&mut panel, "pageDown pageDown");
    // Wider, the same position is further into the text.
    shown(&mut panel, 80, 12);
    for _ in 0..100 {
        press(&mut panel, "pageDown");
        shown(&mut panel, 80, 12);
    }
    press(&mut panel, "\"y\"");
    assert!(answer.try_recv().is_err());
    for _ in 0..100 {
        press(&mut panel, "pageUp");
        shown(&mut panel, 80, 12);
    }
    for _ in 0..100 {
        press(&mut panel, "pageDown");
        shown(&mut panel, 80, 12);
    }
    press(&mut panel, "\"y\"");
    assert_eq!(answer.try_recv().unwrap(), Some(ApprovalDecision::Once));
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
