//! The keys that the header names.

use pi_tui::input::Keymap;
use pi_tui::{Line, Style};

/// A key and what it does.
pub(super) struct Hint {
    key: String,
    meaning: &'static str,
}

impl Hint {
    fn new(key: impl Into<String>, meaning: &'static str) -> Self {
        Self { key: key.into(), meaning }
    }

    pub(super) fn line(&self, dim: Style, muted: Style) -> Line {
        let mut line = Line::styled(self.key.as_str(), dim);
        line.push(format!(" {}", self.meaning), muted);
        line
    }
}

/// Returns the hints of the short header.
pub(super) fn short(keymap: &Keymap) -> Vec<Hint> {
    let key = |action: &str| keymap.label(action);
    vec![
        Hint::new(key("app.interrupt"), "interrupt"),
        Hint::new(format!("{}/{}", key("app.clear"), key("app.exit")), "clear/exit"),
        Hint::new("/", "commands"),
        Hint::new("!", "bash"),
    ]
}

/// Returns the hints of the whole header.
pub(super) fn all(keymap: &Keymap) -> Vec<Hint> {
    let of_keys: &[(&str, &'static str)] = &[
        ("app.interrupt", "stops what is running"),
        ("app.clear", "stops what is running, or clears the editor; twice, leaves"),
        ("app.exit", "leaves when the editor is empty"),
        ("app.suspend", "suspends pi"),
        ("tui.editor.deleteToLineEnd", "deletes to the end of the line"),
        ("app.thinking.cycle", "changes the thinking level"),
        ("app.model.cycleForward", "switches to the next model"),
        ("app.model.cycleBackward", "switches to the previous model"),
        ("app.model.select", "selects a model"),
        ("app.tools.expand", "shows tool output whole"),
        ("app.thinking.toggle", "shows or hides thinking"),
        ("app.editor.external", "opens your own editor"),
        ("app.message.followUp", "queues a message for the end of the run"),
        ("app.message.dequeue", "takes queued messages back"),
        ("app.history.search", "searches earlier prompts"),
        ("app.message.copy", "copies the last answer"),
        ("app.clipboard.pasteImage", "pastes an image or text"),
    ];
    let bound = of_keys.iter().map(|(action, meaning)| Hint::new(keymap.label(action), meaning));
    let fixed = [
        Hint::new("/", "lists the commands"),
        Hint::new("!", "runs a shell command"),
        Hint::new("!!", "runs a shell command that the model does not see"),
        Hint::new("@", "names a file"),
    ];
    bound.filter(|hint| !hint.key.is_empty()).chain(fixed).collect()
}

/// Returns hints on one line.
pub(super) fn joined(hints: &[Hint], dim: Style, muted: Style) -> Line {
    let mut line = Line::new();
    for (at, hint) in hints.iter().enumerate() {
        if at > 0 {
            line.push(" · ", muted);
        }
        line.append(&hint.line(dim, muted));
    }
    line
}
