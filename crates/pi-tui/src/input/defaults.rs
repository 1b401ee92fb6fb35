//! The default keys of the toolkit's own actions.

use super::keymap::Binding;

/// The platform, as far as default keys depend on it. Windows terminals take some keys themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Platform {
    /// Linux, macOS and other systems.
    #[default]
    Unix,
    /// Windows.
    Windows,
    /// Linux in a Windows terminal.
    Wsl,
}

/// Returns the tables of default keys for a platform. Later tables replace keys of earlier ones.
pub fn tables(platform: Platform) -> &'static [&'static [Binding]] {
    match platform {
        Platform::Unix => &[COMMON, UNIX],
        Platform::Windows => &[COMMON, WINDOWS_TERMINAL, WINDOWS],
        Platform::Wsl => &[COMMON, WINDOWS_TERMINAL, WSL],
    }
}

const COMMON: &[Binding] = &[
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
    ("tui.editor.deleteCharBackward", &["backspace", "shift+backspace"]),
    ("tui.editor.deleteCharForward", &["delete", "ctrl+d", "shift+delete"]),
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
    ("tui.altScreen.pageUp", &["pageUp"]),
    ("tui.altScreen.pageDown", &["pageDown"]),
    ("tui.altScreen.halfPageUp", &[]),
    ("tui.altScreen.halfPageDown", &[]),
    ("tui.altScreen.lineUp", &[]),
    ("tui.altScreen.lineDown", &[]),
    ("tui.altScreen.searchNext", &["enter", "ctrl+g"]),
    ("tui.altScreen.searchPrevious", &["shift+enter", "ctrl+shift+g"]),
    ("tui.altScreen.searchClose", &["escape"]),
    ("tui.altScreen.top", &["ctrl+home"]),
    ("tui.altScreen.bottom", &["ctrl+end"]),
];

const UNIX: &[Binding] = &[
    ("tui.altScreen.previousPrompt", &["ctrl+shift+up", "ctrl+up"]),
    ("tui.altScreen.nextPrompt", &["ctrl+shift+down", "ctrl+down"]),
    ("tui.altScreen.search", &["ctrl+shift+f"]),
];

const WINDOWS_TERMINAL: &[Binding] = &[
    ("tui.altScreen.previousPrompt", &["ctrl+up"]),
    ("tui.altScreen.nextPrompt", &["ctrl+down"]),
    ("tui.altScreen.search", &["ctrl+f"]),
];

const WINDOWS: &[Binding] = &[("tui.editor.undo", &["ctrl+z"])];

const WSL: &[Binding] = &[("tui.editor.undo", &["alt+z"])];

/// Old names of actions that do not follow the pattern `NAME` of `tui.editor.NAME`.
const RENAMED: &[(&str, &str)] = &[
    ("newLine", "tui.input.newLine"),
    ("submit", "tui.input.submit"),
    ("tab", "tui.input.tab"),
    ("copy", "tui.input.copy"),
    ("selectUp", "tui.select.up"),
    ("selectDown", "tui.select.down"),
    ("selectPageUp", "tui.select.pageUp"),
    ("selectPageDown", "tui.select.pageDown"),
    ("selectConfirm", "tui.select.confirm"),
    ("selectCancel", "tui.select.cancel"),
];

/// Returns the present name of an action that a keybindings file names by an old short name.
pub(super) fn renamed(old: &str) -> Option<String> {
    if let Some((_, name)) = RENAMED.iter().find(|(short, _)| *short == old) {
        return Some((*name).to_owned());
    }
    let name = format!("tui.editor.{old}");
    COMMON.iter().any(|(action, _)| *action == name).then_some(name)
}
