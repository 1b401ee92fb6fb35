//! `/clone`: continues with a copy of the current branch.

use crate::app::App;

pub(super) fn run(app: &mut App, _argument: &str) {
    let runtime = app.runtime.clone();
    app.tasks.spawn(async move { runtime.clone_session().await }, |app, result| match result {
        Ok(replaced) if replaced.cancelled => app.status("An extension kept the session"),
        Ok(_) => app.status("Cloned to a new session"),
        Err(error) => app.error(error.to_string()),
    });
}
