//! Shared parts of the tests of panels.

use std::rc::Rc;

use pi_tui::input::defaults::Platform;
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::{Theme, View};

use super::super::panel::{Panel, PanelEvent};

thread_local! {
    // One theme, so that panels may keep their lines.
    static THEME: Rc<Theme> = Rc::new(Theme::plain());
}

/// Returns the default keys.
pub(super) fn keymap() -> Keymap {
    Keymap::with_defaults(Platform::Unix, &[super::super::keys::DEFAULTS])
}

/// Returns the lines of a panel without styles.
pub(super) fn shown<E>(panel: &mut dyn Panel<E>, width: usize, rows: usize) -> String {
    let theme = THEME.with(Rc::clone);
    panel.update();
    let lines = panel.render(View { width, rows, theme: &theme });
    let texts: Vec<String> = lines
        .iter()
        .map(|line| {
            assert!(line.width() <= width, "{:?} is wider than {width}", line.text());
            line.text().trim_end().to_owned()
        })
        .collect();
    texts.join("\n")
}

/// Presses keys, one after the other; a text in quotes is typed. Returns the last event.
pub(super) fn press<E>(panel: &mut dyn Panel<E>, keys: &str) -> PanelEvent<E> {
    let keymap = keymap();
    let mut event = PanelEvent::Ignored;
    for name in keys.split_whitespace() {
        match name.strip_prefix('"') {
            Some(text) => {
                for character in text.trim_end_matches('"').chars() {
                    event = panel.handle(&Input::Key(Key::typed(character)), &keymap);
                }
            }
            None => {
                let id: pi_tui::input::KeyId = name.parse().expect("a key");
                event = panel.handle(&Input::Key(Key::new(id.code, id.modifiers)), &keymap);
            }
        }
    }
    event
}
