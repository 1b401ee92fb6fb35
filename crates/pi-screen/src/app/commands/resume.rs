//! `/resume`: selects another session.

use std::path::PathBuf;

use crate::app::App;
use crate::panels::resume::{Answer, Options, ResumePanel};

pub(super) fn run(app: &mut App, _argument: &str) {
    let cwd = app.session.workspace().cwd().to_owned();
    let panel = ResumePanel::new(Options {
        environment: &app.environment,
        shared_directory: shared_directory(app),
        cwd,
        open: app.session.file(),
        can_rename: true,
        keymap: &app.keymap,
    });
    app.panels.open_then(panel, |app, answer| match answer {
        Answer::Open(path) => open(app, path),
        Answer::NameOpenSession(name) => super::name::run(app, &name),
    });
}

/// Continues with the session of a file. What is in the editor stays there.
pub(super) fn open(app: &mut App, path: PathBuf) {
    open_then(app, path, |app| app.status("Session resumed"));
}

/// Continues with the session of a file, and applies `then` when it is shown.
pub(super) fn open_then(app: &mut App, path: PathBuf, then: impl FnOnce(&mut App) + 'static) {
    if app.session.file().as_ref() == Some(&path) {
        return app.status("This session is open already");
    }
    let runtime = app.runtime.clone();
    let switched = async move { runtime.switch_session(&path).await };
    app.tasks.spawn(switched, |app, result| match result {
        Ok(replaced) if replaced.cancelled => app.status("An extension kept the session"),
        Ok(_) => then(app),
        Err(error) => app.error(error.to_string()),
    });
}

/// Returns the directory of all sessions, if there is one.
fn shared_directory(app: &App) -> Option<PathBuf> {
    let (directory, cwd) =
        app.session.with_log(|log| (log.directory().map(PathBuf::from), log.cwd().to_owned()));
    let own = pi_session::session_directory(&app.environment.agent_directory, &cwd);
    directory.filter(|directory| *directory != own)
}
