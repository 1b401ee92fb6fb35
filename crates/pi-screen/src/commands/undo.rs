//! `/undo` and `/redo`: take back the file changes of the last run, or repeat them, after a look at
//! them.

use pi_coding_agent::checkpoint_directory;
use pi_host::undo::{self, Direction};

use crate::app::App;
use crate::panels::undo::UndoPanel;

pub(super) fn undo(app: &mut App, _argument: &str) {
    preview(app, Direction::Undo);
}

pub(super) fn redo(app: &mut App, _argument: &str) {
    preview(app, Direction::Redo);
}

fn preview(app: &mut App, direction: Direction) {
    if app.session.is_streaming() || app.session.is_bash_running() {
        let key = app.keymap.label("app.interrupt");
        return app.warning(format!("Files are not restored during a run; {key} stops it"));
    }
    let store = checkpoint_directory(&app.environment.agent_directory, &app.session.id());
    if !store.is_dir() {
        return app.status("No run of this session changed files");
    }
    let root = app.session.workspace().cwd().to_owned();
    let work = move || undo::preview(&store, &root, direction);
    app.tasks.spawn_blocking(work, |app, preview| match preview {
        Ok(preview) => drop(app.open(UndoPanel::new(preview, &app.keymap.clone()))),
        Err(error) => app.status(error.to_string()),
    });
}
