//! The commands of the editor and the actions that keybindings name them by.

use crate::input::{Key, KeyCode, Keymap, Modifiers, keymap::Binding};

/// A command of the editor or of an input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    PageUp,
    PageDown,
    HistoryPrevious,
    HistoryNext,
    JumpForward,
    JumpBackward,
    DeleteBackward,
    DeleteForward,
    DeleteWordBackward,
    DeleteWordForward,
    DeleteToLineStart,
    DeleteToLineEnd,
    Yank,
    YankPop,
    Undo,
    NewLine,
    Submit,
    Tab,
}

const COMMANDS: &[(&str, Command)] = &[
    ("tui.editor.cursorUp", Command::Up),
    ("tui.editor.cursorDown", Command::Down),
    ("tui.editor.cursorLeft", Command::Left),
    ("tui.editor.cursorRight", Command::Right),
    ("tui.editor.cursorWordLeft", Command::WordLeft),
    ("tui.editor.cursorWordRight", Command::WordRight),
    ("tui.editor.cursorLineStart", Command::LineStart),
    ("tui.editor.cursorLineEnd", Command::LineEnd),
    ("tui.editor.pageUp", Command::PageUp),
    ("tui.editor.pageDown", Command::PageDown),
    ("tui.editor.historyPrevious", Command::HistoryPrevious),
    ("tui.editor.historyNext", Command::HistoryNext),
    ("tui.editor.jumpForward", Command::JumpForward),
    ("tui.editor.jumpBackward", Command::JumpBackward),
    ("tui.editor.deleteCharBackward", Command::DeleteBackward),
    ("tui.editor.deleteCharForward", Command::DeleteForward),
    ("tui.editor.deleteWordBackward", Command::DeleteWordBackward),
    ("tui.editor.deleteWordForward", Command::DeleteWordForward),
    ("tui.editor.deleteToLineStart", Command::DeleteToLineStart),
    ("tui.editor.deleteToLineEnd", Command::DeleteToLineEnd),
    ("tui.editor.yank", Command::Yank),
    ("tui.editor.yankPop", Command::YankPop),
    ("tui.editor.undo", Command::Undo),
    ("tui.input.newLine", Command::NewLine),
    ("tui.input.submit", Command::Submit),
    ("tui.input.tab", Command::Tab),
];

/// The default keys of the editor, of input lines and of menus.
pub const BINDINGS: &[Binding] = &[
    ("tui.editor.cursorUp", &["up"]),
    ("tui.editor.cursorDown", &["down"]),
    ("tui.editor.historyPrevious", &[]),
    ("tui.editor.historyNext", &[]),
    ("tui.editor.cursorLeft", &["left", "ctrl+b"]),
    ("tui.editor.cursorRight", &["right", "ctrl+f"]),
    ("tui.editor.cursorWordLeft", &["alt+left", "ctrl+left", "alt+b"]),
    ("tui.editor.cursorWordRight", &["alt+right", "ctrl+right", "alt+f"]),
    ("tui.editor.cursorLineStart", &["home", "ctrl+a"]),
    ("tui.editor.cursorLineEnd", &["end", "ctrl+e"]),
    ("tui.editor.jumpForward", &["ctrl+]"]),
    ("tui.editor.jumpBackward", &["ctrl+alt+]"]),
    ("tui.editor.pageUp", &["pageUp", "ctrl+pageUp"]),
    ("tui.editor.pageDown", &["pageDown", "ctrl+pageDown"]),
    ("tui.editor.deleteCharBackward", &["backspace"]),
    ("tui.editor.deleteCharForward", &["delete", "ctrl+d"]),
    ("tui.editor.deleteWordBackward", &["ctrl+w", "alt+backspace"]),
    ("tui.editor.deleteWordForward", &["alt+d", "alt+delete"]),
    ("tui.editor.deleteToLineStart", &["ctrl+u"]),
    ("tui.editor.deleteToLineEnd", &["ctrl+k"]),
    ("tui.editor.yank", &["ctrl+y"]),
    ("tui.editor.yankPop", &["alt+y"]),
    ("tui.editor.undo", &["ctrl+-"]),
    ("tui.input.newLine", &["shift+enter", "ctrl+j"]),
    ("tui.input.submit", &["enter"]),
    ("tui.input.tab", &["tab"]),
    ("tui.input.copy", &["ctrl+c"]),
    ("tui.select.up", &["up"]),
    ("tui.select.down", &["down"]),
    ("tui.select.pageUp", &["pageUp"]),
    ("tui.select.pageDown", &["pageDown"]),
    ("tui.select.confirm", &["enter"]),
    ("tui.select.cancel", &["escape", "ctrl+c"]),
];

/// Returns the command of a key.
pub(crate) fn command(key: &Key, keymap: &Keymap) -> Option<Command> {
    let bound = keymap.actions(key).iter().find_map(|action| {
        COMMANDS.iter().find(|(name, _)| name == action).map(|(_, command)| *command)
    });
    bound.or(match (key.code, key.modifiers) {
        (KeyCode::Backspace, Modifiers::SHIFT) => Some(Command::DeleteBackward),
        (KeyCode::Delete, Modifiers::SHIFT) => Some(Command::DeleteForward),
        _ => None,
    })
}

/// Returns the text that a key types.
pub(crate) fn typed(key: &Key) -> Option<&str> {
    let text = key.text.as_deref()?;
    (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
}
