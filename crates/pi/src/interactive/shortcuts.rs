//! Keyboard shortcuts of extensions.

use pi_tui::input::Key;

use super::app::App;

/// The actions whose keys no extension can take: without them the user could not get out.
const RESERVED: &[&str] = &["app.interrupt", "app.clear", "app.exit", "app.suspend"];

/// Runs the shortcut of a key. Returns false if it has none.
pub(super) fn run(app: &mut App, key: &Key) -> bool {
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
