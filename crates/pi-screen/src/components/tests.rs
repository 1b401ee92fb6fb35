//! Tests of components of extensions, without a terminal.

use std::sync::{Arc, Mutex};

use pi_coding_agent::extension::{Component as Foreign, ComponentHandle, ComponentMessage};
use pi_tui::input::{Input, Key};
use pi_tui::overlay::{Anchor, Length, Margins, OverlayOptions};
use pi_tui::{Component as _, Theme, View};
use serde_json::json;
use tokio::sync::mpsc::error::TryRecvError;

use super::*;

/// A component that records its input and shows it.
struct Echo {
    handle: ComponentHandle,
    input: Arc<Mutex<Vec<String>>>,
}

impl Foreign for Echo {
    fn render(&mut self, width: usize) -> Vec<String> {
        let count = self.input.lock().expect("a lock").len();
        vec![
            format!("\u{1b}[31mred\u{1b}[0m \u{1b}[2J{count}"),
            "x".repeat(width + 50),
            "two\nlines".to_owned(),
        ]
    }

    fn handle_input(&mut self, data: &str) {
        self.input.lock().expect("a lock").push(data.to_owned());
        match data {
            "!" => panic!("a bug of the extension"),
            "q" => self.handle.done(json!("bye")),
            _ => self.handle.redraw(),
        }
    }
}

fn echo() -> (Adapter, Stale, Messages, Arc<Mutex<Vec<String>>>) {
    let input = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&input);
    let (adapter, stale, messages) =
        Adapter::new(Box::new(move |handle| Box::new(Echo { handle, input })));
    (adapter, stale, messages, recorded)
}

fn texts(adapter: &mut Adapter, theme: &Theme) -> Vec<String> {
    let view = View { width: 10, rows: 5, theme };
    Component::render(adapter, view).iter().map(pi_tui::Line::text).collect()
}

#[test]
fn lines_are_cut_and_cannot_steer_the_terminal() {
    let theme = Theme::plain();
    let (mut adapter, ..) = echo();
    assert_eq!(texts(&mut adapter, &theme), ["red 0", "xxxxxxxxxx", "two"]);
}

#[test]
fn input_and_messages_pass_through() {
    let theme = Theme::plain();
    let (mut adapter, stale, mut messages, recorded) = echo();
    texts(&mut adapter, &theme);
    assert!(adapter.handle(&Input::Key(Key::typed('a'))));
    assert_eq!(messages.try_recv().ok(), Some(ComponentMessage::Redraw));
    assert_eq!(texts(&mut adapter, &theme)[0], "red 1");
    recorded.lock().expect("a lock").push("from elsewhere".to_owned());
    assert_eq!(texts(&mut adapter, &theme)[0], "red 1", "nothing said that it changed");
    stale.set();
    assert_eq!(texts(&mut adapter, &theme)[0], "red 2");
    adapter.handle(&Input::Key(Key::typed('q')));
    assert_eq!(messages.try_recv().ok(), Some(ComponentMessage::Done(json!("bye"))));
}

#[test]
fn a_panic_is_contained() {
    let theme = Theme::plain();
    let (mut adapter, _, mut messages, _) = echo();
    assert!(!adapter.handle(&Input::Key(Key::typed('!'))));
    assert!(adapter.has_failed());
    assert!(messages.try_recv().is_err_and(|error| error == TryRecvError::Disconnected));
    assert_eq!(texts(&mut adapter, &theme), ["A compone…"]);
    let (mut adapter, ..) = Adapter::new(Box::new(|_| panic!("a bug in the factory")));
    assert_eq!(texts(&mut adapter, &theme), ["A compone…"]);
}

#[test]
fn overlay_options_are_read() {
    let default = OverlayOptions::default();
    let cases = [
        (json!({}), default),
        (json!("no"), default),
        (
            json!({ "width": 60, "minWidth": 20, "maxHeight": "50%", "anchor": "top-right" }),
            OverlayOptions {
                width: Some(Length::Cells(60)),
                min_width: 20,
                max_height: Some(Length::Percent(50)),
                anchor: Anchor::TopRight,
                ..default
            },
        ),
        (
            json!({ "row": "25%", "col": 3, "offsetX": -2, "offsetY": 4, "nonCapturing": true }),
            OverlayOptions {
                row: Some(Length::Percent(25)),
                column: Some(Length::Cells(3)),
                offset_x: -2,
                offset_y: 4,
                is_passive: true,
                ..default
            },
        ),
        (json!({ "margin": 2 }), OverlayOptions { margins: Margins::all(2), ..default }),
        (
            json!({ "margin": { "top": 1, "left": -5 } }),
            OverlayOptions { margins: Margins { top: 1, ..Margins::default() }, ..default },
        ),
        (json!({ "width": "wide", "anchor": "nowhere", "margin": "x" }), default),
    ];
    for (json, expected) in cases {
        assert_eq!(overlay_options(Some(&json)), expected, "{json}");
    }
}
