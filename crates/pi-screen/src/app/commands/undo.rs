//! `/undo` and `/redo`: take back the file changes of the last run, or repeat them, after a look at
//! them.

use pi_base::text::line;
use pi_config::checkpoints::checkpoint_directory;
use pi_host::undo::{self, Direction, Preview};

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
        Ok(preview) => {
            let panel = UndoPanel::new(preview, &app.keymap);
            app.panels.open_then(panel, apply);
        }
        Err(error) => app.status(error.to_string()),
    });
}

/// Changes the files as the preview showed.
fn apply(app: &mut App, preview: Preview) {
    if app.session.is_streaming() || app.session.is_bash_running() {
        return app.warning("Files are not restored during a run");
    }
    let work = move || undo::apply(&preview);
    app.tasks.spawn_blocking(work, |app, result| match result {
        Ok(restored) => {
            let files = restored.files.iter();
            let done = files.map(|file| format!("{} {}", file.verb, line(&file.path, usize::MAX)));
            app.status(done.collect::<Vec<_>>().join("\n"));
            for conflict in restored.conflicts {
                let path = line(&conflict.path, usize::MAX);
                app.warning(format!("left alone {path}: {}", conflict.reason));
            }
        }
        Err(error) => app.error(error.to_string()),
    });
}
