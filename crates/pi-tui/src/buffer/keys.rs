//! The commands of the editor and the actions that keybindings name them by.

use crate::input::{Key, Keymap};

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

/// Returns the command of a key.
pub(crate) fn command(key: &Key, keymap: &Keymap) -> Option<Command> {
    keymap.actions(key).iter().find_map(|action| {
        COMMANDS.iter().find(|(name, _)| name == action).map(|(_, command)| *command)
    })
}

/// Returns the text that a key types.
pub(crate) fn typed(key: &Key) -> Option<&str> {
    let text = key.text.as_deref()?;
    (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
}
