//! `/new`: starts a new session. What was typed stays in the editor's history.

use crate::app::App;

pub(super) fn run(app: &mut App, _argument: &str) {
    let runtime = app.runtime.clone();
    app.tasks.spawn(async move { runtime.new_session(None).await }, |app, result| match result {
        Ok(replaced) if replaced.cancelled => app.status("An extension kept the session"),
        Ok(_) => app.status("✓ New session started"),
        Err(error) => app.error(error.to_string()),
    });
}
