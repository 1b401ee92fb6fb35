//! `/fork`: continues with a copy of the session up to a message of the user.

use pi_session::ForkPosition;

use crate::app::App;
use crate::panels::fork::ForkPanel;

pub(super) fn run(app: &mut App, _argument: &str) {
    let session = app.session.clone();
    // Reads all entries.
    app.tasks.spawn_blocking(
        move || session.user_messages(),
        |app, messages| match messages {
            Ok(messages) if messages.is_empty() => {
                app.status("There is no message to fork from yet");
            }
            Ok(messages) => {
                app.panels.open_then(ForkPanel::new(messages, &app.keymap), fork);
            }
            Err(error) => app.error(error.to_string()),
        },
    );
}

fn fork(app: &mut App, entry: String) {
    let runtime = app.runtime.clone();
    let forked = async move { runtime.fork(&entry, ForkPosition::Before).await };
    app.tasks.spawn(forked, |app, result| match result {
        Ok(replaced) if replaced.cancelled => app.status("An extension kept the session"),
        Ok(replaced) => {
            if let Some(text) = replaced.text
                && app.editor.is_empty()
            {
                app.editor.set_text(&text);
            }
            app.status("Forked to a new session");
        }
        Err(error) => app.error(error.to_string()),
    });
}
