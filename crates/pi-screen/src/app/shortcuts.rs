//! Keyboard shortcuts of extensions.

use pi_coding_agent::extension::Registry;
use pi_tui::input::{Key, KeyId, Keymap};

use crate::app::App;

/// The actions whose keys no extension can take.
const RESERVED: &[&str] = &[
    "app.interrupt",
    "app.clear",
    "app.exit",
    "app.suspend",
    "app.thinking.cycle",
    "app.thinking.toggle",
    "app.model.cycleForward",
    "app.model.cycleBackward",
    "app.model.select",
    "app.tools.expand",
    "app.editor.external",
    "app.message.copy",
    "app.message.followUp",
    "tui.input.submit",
    "tui.input.copy",
    "tui.select.confirm",
    "tui.select.cancel",
    "tui.editor.deleteToLineEnd",
];

/// Returns the shortcuts that cannot be used or replace something, as path and message.
pub(crate) fn issues(registry: &Registry, keymap: &Keymap) -> Vec<(String, String)> {
    let mut issues = Vec::new();
    let mut earlier: Vec<(KeyId, String)> = Vec::new();
    for (name, path) in registry.shortcut_owners() {
        let Ok(id) = name.parse::<KeyId>() else {
            issues.push((path, format!("`{name}` is not a key; the shortcut is ignored.")));
            continue;
        };
        let key = Key::new(id.code, id.modifiers);
        let actions = keymap.actions(&key);
        if let Some(action) = actions.iter().find(|action| RESERVED.contains(&action.as_str())) {
            let text = format!("{name} is reserved for {action}; the shortcut is ignored.");
            issues.push((path, text));
            continue;
        }
        if let Some(action) = actions.first() {
            issues.push((path.clone(), format!("{name} runs the shortcut instead of {action}.")));
        } else if let Some((_, other)) = earlier.iter().find(|(other, _)| *other == id) {
            let text = format!("{name} runs this shortcut instead of that of {other}.");
            issues.push((path.clone(), text));
        }
        earlier.push((id, path));
    }
    issues
}

/// Runs the shortcut of a key. Returns false if it has none.
pub(crate) fn run(app: &mut App, key: &Key) -> bool {
    let extensions = app.session.extensions();
    if extensions.registry().is_empty() || app.editor.wants(key, &app.keymap) {
        return false;
    }
    let shortcuts = extensions.registry().shortcuts();
    let Some(shortcut) = shortcuts.into_iter().find(|shortcut| key.is(&shortcut.key)) else {
        return false;
    };
    if RESERVED.iter().any(|action| app.keymap.is(key, action)) {
        return false;
    }
    let (session, name) = (app.session.clone(), shortcut.key);
    let run = async move {
        let context = session.extension_context();
        session.extensions().run_shortcut(&name, context).await
    };
    app.tasks.spawn(run, |app, ended| {
        if let Some(Err(failure)) = ended {
            app.error(format!("{}: the shortcut failed: {}", failure.extension, failure.error));
        }
    });
    true
}

#[cfg(test)]
mod tests {
    use pi_coding_agent::extension::{Shortcut, command_handler};

    use super::*;

    #[test]
    fn reserved_and_shared_keys_are_reported() {
        let registry = Registry::default();
        let cases = [
            ("a", "ctrl+c"),
            ("a", "ctrl+shift+g"),
            ("a", "alt+9"),
            ("b", "alt+9"),
            ("b", "nokey+"),
        ];
        for (owner, key) in cases {
            let handler = command_handler(|_, _| async { Ok(()) });
            registry.register_shortcut(
                owner,
                Shortcut { key: key.to_owned(), description: None, handler },
            );
        }
        let keymap = Keymap::with_defaults(
            pi_tui::input::defaults::Platform::Unix,
            &[crate::keys::DEFAULTS],
        );
        let issues: Vec<String> = issues(&registry, &keymap)
            .iter()
            .map(|(path, text)| format!("{path}: {text}"))
            .collect();
        assert_eq!(
            issues,
            [
                "a: ctrl+c is reserved for tui.input.copy; the shortcut is ignored.",
                "a: ctrl+shift+g runs the shortcut instead of tui.altScreen.searchPrevious.",
                "b: alt+9 runs this shortcut instead of that of a.",
                "b: `nokey+` is not a key; the shortcut is ignored.",
            ]
        );
    }
}
