//! Tests of dialogs, without a terminal.

use std::time::{Duration, Instant};

use pi_coding_agent::extension::{Dialog, DialogAnswer};
use tokio::sync::oneshot;

use super::super::super::panel::{Panel as _, PanelEvent};
use super::super::testing::{keymap, press, shown};
use super::DialogPanel;

fn open(dialog: Dialog) -> (DialogPanel, oneshot::Receiver<Option<DialogAnswer>>) {
    let (sender, receiver) = oneshot::channel();
    (DialogPanel::new(dialog, None, sender, &keymap()), receiver)
}

fn select(options: &[&str]) -> Dialog {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Dialog::Select { title: "Pick one".to_owned(), options }
}

fn confirm() -> Dialog {
    Dialog::Confirm { title: "Delete?".to_owned(), message: "It is gone then.".to_owned() }
}

fn input() -> Dialog {
    Dialog::Input { title: "Name".to_owned(), placeholder: Some("of the branch".to_owned()) }
}

fn editor() -> Dialog {
    Dialog::Editor { title: "Edit this".to_owned(), prefill: Some("text".to_owned()) }
}

#[test]
fn keys_lead_to_answers() {
    let text = |text: &str| Some(DialogAnswer::Text(text.to_owned()));
    let cases = [
        (select(&["red", "green"]), "enter", text("red")),
        (select(&["red", "green"]), "down enter", text("green")),
        (select(&["red", "green"]), "\"j\" enter", text("green")),
        (select(&["red", "green"]), "up enter", text("green")),
        (select(&["red", "green"]), "escape", None),
        (select(&[]), "enter escape", None),
        (confirm(), "enter", Some(DialogAnswer::Confirmed(true))),
        (confirm(), "\"j\" enter", Some(DialogAnswer::Confirmed(false))),
        (confirm(), "ctrl+c", None),
        (input(), "\"abc\" enter", text("abc")),
        (input(), "enter", text("")),
        (input(), "\"abc\" escape", None),
        (editor(), "enter", text("text")),
        (editor(), "shift+enter \"more\" enter", text("text\nmore")),
        (editor(), "escape", None),
    ];
    for (dialog, keys, expected) in cases {
        let label = format!("{dialog:?} {keys}");
        let (mut panel, mut answer) = open(dialog);
        shown(&mut panel, 60, 20);
        assert!(matches!(press(&mut panel, keys), PanelEvent::Close(None)), "{label}");
        assert_eq!(answer.try_recv().expect(&label), expected, "{label}");
    }
}

#[test]
fn dialogs_look_alike() {
    for (name, dialog) in [
        ("select", select(&["red", "green", "blue"])),
        ("confirm", confirm()),
        ("input", input()),
        ("editor", editor()),
    ] {
        insta::assert_snapshot!(name, shown(&mut open(dialog).0, 60, 20));
    }
}

#[test]
fn a_long_title_scrolls_in_half_of_the_screen() {
    let title: Vec<String> = (1..=50).map(|line| format!("line {line}")).collect();
    let dialog = Dialog::Select { title: title.join("\n"), options: vec!["Yes".to_owned()] };
    let (mut panel, _answer) = open(dialog);
    let first = shown(&mut panel, 40, 20);
    assert!(first.lines().count() <= 20, "{first}");
    assert!(first.contains("line 1\n") && !first.contains("line 20\n"), "{first}");
    for _ in 0..10 {
        press(&mut panel, "pageDown");
        shown(&mut panel, 40, 20);
    }
    let last = shown(&mut panel, 40, 20);
    assert!(last.contains("line 50\n") && last.contains("Yes"), "{last}");
}

#[test]
fn the_time_that_is_left_is_in_the_title() {
    let (sender, _receiver) = oneshot::channel();
    let timeout = Some(Duration::from_millis(9_500));
    let mut panel = DialogPanel::new(select(&["a"]), timeout, sender, &keymap());
    assert!(shown(&mut panel, 40, 20).contains("Pick one (10s)"));
    let change = panel.next_change().expect("the seconds change");
    assert!(change > Instant::now() && change < Instant::now() + Duration::from_secs(1));
}

/// Every size is drawn, in any state.
#[test]
fn small_screens_do_not_matter() {
    for (width, rows) in [(1, 1), (2, 3), (5, 5), (20, 4), (200, 60)] {
        for dialog in [select(&["red", "漢字"]), confirm(), input(), editor()] {
            shown(&mut open(dialog).0, width, rows);
        }
    }
}
