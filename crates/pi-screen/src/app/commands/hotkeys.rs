//! `/hotkeys`: lists the keys by area, as they are bound.

use pi_base::text::one_line;
use pi_tui::input::Keymap;

use crate::app::App;
use crate::document::Document;

/// Areas with their actions and what they do. Actions on one line belong together.
const AREAS: &[(&str, &[(&[&str], &str)])] = &[
    (
        "Navigation",
        &[
            (
                &[
                    "tui.editor.cursorUp",
                    "tui.editor.cursorDown",
                    "tui.editor.cursorLeft",
                    "tui.editor.cursorRight",
                ],
                "Moves the cursor; up and down reach earlier prompts",
            ),
            (&["tui.editor.cursorWordLeft", "tui.editor.cursorWordRight"], "Moves by a word"),
            (&["tui.editor.cursorLineStart"], "Moves to the start of the line"),
            (&["tui.editor.cursorLineEnd"], "Moves to the end of the line"),
            (&["tui.editor.jumpForward"], "Jumps forward to a character"),
            (&["tui.editor.jumpBackward"], "Jumps back to a character"),
            (&["tui.editor.pageUp", "tui.editor.pageDown"], "Moves by a page"),
        ],
    ),
    (
        "Editing",
        &[
            (&["tui.input.submit"], "Sends the message; during a run, steers it"),
            (&["tui.input.newLine"], "Begins a new line"),
            (&["tui.editor.deleteWordBackward"], "Deletes the word before the cursor"),
            (&["tui.editor.deleteWordForward"], "Deletes the word after the cursor"),
            (&["tui.editor.deleteToLineStart"], "Deletes to the start of the line"),
            (&["tui.editor.deleteToLineEnd"], "Deletes to the end of the line"),
            (&["tui.editor.yank"], "Inserts what was deleted last"),
            (&["tui.editor.yankPop"], "Replaces it by what was deleted before"),
            (&["tui.editor.undo"], "Takes back a change of the text"),
        ],
    ),
    (
        "Full screen",
        &[
            (&["tui.altScreen.pageUp", "tui.altScreen.pageDown"], "Scrolls by a page"),
            (&["tui.altScreen.top", "tui.altScreen.bottom"], "Scrolls to the start or the end"),
            (
                &["tui.altScreen.previousPrompt", "tui.altScreen.nextPrompt"],
                "Scrolls to the previous or the next prompt",
            ),
            (&["tui.altScreen.search"], "Searches in the transcript"),
        ],
    ),
    (
        "Other",
        &[
            (&["tui.input.tab"], "Completes a path or a command"),
            (&["app.interrupt"], "Closes a menu, or stops what is running"),
            (&["app.clear"], "Stops what is running, or clears the editor; twice, leaves"),
            (&["app.exit"], "Leaves when the editor is empty"),
            (&["app.suspend"], "Suspends pi"),
            (&["app.thinking.cycle"], "Changes the thinking level"),
            (&["app.model.cycleForward", "app.model.cycleBackward"], "Switches the model"),
            (&["app.model.select"], "Selects a model from a list"),
            (&["app.tools.expand"], "Shows tool output whole, or its end"),
            (&["app.thinking.toggle"], "Shows or hides thinking"),
            (&["app.editor.external"], "Edits the message in your own editor"),
            (&["app.message.copy"], "Copies the last answer"),
            (&["app.message.followUp"], "Queues a message for the end of the run"),
            (&["app.message.dequeue"], "Takes queued messages back"),
            (&["app.history.search"], "Searches the prompts of all sessions"),
            (&["app.clipboard.pasteImage"], "Pastes a file, an image or a text"),
            (&["app.session.new"], "Starts a new session"),
            (&["app.session.tree"], "Shows the tree of the session"),
            (&["app.session.fork"], "Forks the session"),
            (&["app.session.resume"], "Continues another session"),
        ],
    ),
];

/// What is typed rather than bound.
const TYPED: &[(&str, &str)] = &[
    ("/", "Lists the commands"),
    ("!", "Runs a shell command"),
    ("!!", "Runs a shell command that the model does not see"),
    ("@", "Names a file"),
];

pub(super) fn run(app: &mut App, _argument: &str) {
    let mut text = tables(&app.keymap);
    let shortcuts = app.session.extensions().registry().shortcuts();
    if !shortcuts.is_empty() {
        let rows = shortcuts.iter().map(|shortcut| {
            let description = shortcut.description.clone().unwrap_or_default();
            (shortcut.key.clone(), description)
        });
        text.push_str(&table("Extensions", rows));
    }
    app.transcript.push(Box::new(Document::new(&text)));
}

/// Returns the tables of all areas. Actions without a key are left out.
fn tables(keymap: &Keymap) -> String {
    let mut text = "**Keys**\n\n".to_owned();
    for (area, actions) in AREAS {
        let rows = actions.iter().filter_map(|(actions, meaning)| {
            let keys: Vec<String> = actions
                .iter()
                .map(|action| keymap.label(action))
                .filter(|keys| !keys.is_empty())
                .collect();
            (!keys.is_empty()).then(|| (keys.join(" / "), (*meaning).to_owned()))
        });
        let typed = TYPED.iter().filter(|_| *area == "Other");
        let typed = typed.map(|(key, meaning)| ((*key).to_owned(), (*meaning).to_owned()));
        text.push_str(&table(area, rows.chain(typed)));
    }
    text
}

fn table(area: &str, rows: impl Iterator<Item = (String, String)>) -> String {
    let rows: String =
        rows.map(|(keys, meaning)| format!("| {} | {} |\n", cell(&keys), cell(&meaning))).collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("**{area}**\n\n| Key | Action |\n| --- | --- |\n{rows}\n"),
    }
}

/// Returns a text that a cell shows as it is.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for character in one_line(text).chars() {
        if character.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use pi_tui::input::defaults::Platform;

    use super::*;
    use crate::keys;

    #[test]
    fn every_action_that_is_named_exists() {
        let keymap = Keymap::with_defaults(Platform::Unix, &[keys::DEFAULTS]);
        let text = tables(&keymap);
        for (_, actions) in AREAS {
            for action in actions.iter().flat_map(|(actions, _)| *actions) {
                let is_own = keys::DEFAULTS.iter().any(|(name, _)| name == action);
                assert!(is_own || !keymap.label(action).is_empty(), "{action}");
            }
        }
        assert!(text.contains("| ctrl\\+o | Shows tool output whole"), "{text}");
        // Nothing is bound to it, so it is not listed.
        assert!(!text.contains("Forks the session"), "{text}");
    }
}
