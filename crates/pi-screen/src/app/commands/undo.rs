//! `/undo` and `/redo`: take back the last run or repeat it, after a look at its file changes.

use std::path::PathBuf;
use std::time::Instant;

use pi_base::text::line;
use pi_coding_agent::session::Navigation;
use pi_config::checkpoints::checkpoint_directory;
use pi_host::undo::{self, Direction, RewindPlan, RewindScope, Rewound};

use crate::activity::Work;
use crate::app::App;
use crate::panels::undo::UndoPanel;

pub(super) fn undo(app: &mut App, _argument: &str) {
    plan(app, Direction::Undo);
}

pub(super) fn redo(app: &mut App, _argument: &str) {
    plan(app, Direction::Redo);
}

/// Returns the checkpoints of the session.
pub(super) fn store(app: &App) -> PathBuf {
    checkpoint_directory(&app.environment.agent_directory, &app.session.id())
}

fn plan(app: &mut App, direction: Direction) {
    // The checkpoint after a run is taken before the session settles.
    let is_settling = !app.activity.is_idle();
    if is_settling || app.session.is_streaming() || app.session.is_bash_running() {
        let key = app.keymap.label("app.interrupt");
        return app.warning(format!("Files are not restored during a run; {key} stops it"));
    }
    let store = store(app);
    if !store.is_dir() {
        return app.status("No run of this session changed files");
    }
    let session = app.session.clone();
    let work = move || match direction {
        Direction::Undo => undo::plan_undo(&session, &store),
        Direction::Redo => undo::plan_redo(&session, &store),
    };
    app.tasks.spawn_blocking(work, |app, plan| match plan {
        Ok(plan) => ask(app, plan),
        Err(error) => app.status(error.to_string()),
    });
}

fn ask(app: &mut App, plan: RewindPlan) {
    let Some(preview) = &plan.files else { return };
    let panel = UndoPanel::undo(preview, plan.entry.is_some(), &app.keymap);
    app.panels.open_then(panel, move |app, scope| {
        rewind(app, plan.clone(), scope, Navigation::default());
    });
}

/// Moves the session back as planned. Its events rebuild the transcript.
pub(super) fn rewind(app: &mut App, plan: RewindPlan, scope: RewindScope, navigation: Navigation) {
    if app.session.is_streaming() || app.session.is_bash_running() {
        return app.warning("Files are not restored during a run");
    }
    let summarizes = navigation.summarize && scope != RewindScope::Files;
    if summarizes {
        app.activity.set(Work::Summarizing, Instant::now());
    }
    let session = app.session.clone();
    let work = async move { undo::rewind(&session, plan, scope, navigation).await };
    app.tasks.spawn(work, move |app, result| {
        if summarizes {
            app.activity.set(Work::Idle, Instant::now());
        }
        match result {
            Ok(rewound) => report(app, rewound, scope, summarizes),
            Err(error) => app.error(error.to_string()),
        }
    });
}

fn report(app: &mut App, rewound: Rewound, scope: RewindScope, summarizes: bool) {
    let Rewound { restored, navigation, .. } = rewound;
    if navigation.cancelled {
        return app.status(match summarizes {
            true => "Summary cancelled; the session stays where it was",
            false => "An extension kept the session where it was",
        });
    }
    if scope != RewindScope::Files {
        if let Some(text) = navigation.text
            && app.editor.is_empty()
        {
            app.editor.set_text(&text);
        }
        app.footer.refresh(&app.session);
        if restored.files.is_empty() {
            app.status("Navigated to the selected entry");
        }
    }
    let files = restored.files.iter();
    let done: Vec<String> =
        files.map(|file| format!("{} {}", file.verb, line(&file.path, usize::MAX))).collect();
    if !done.is_empty() {
        app.status(done.join("\n"));
    }
    for conflict in &restored.conflicts {
        let path = line(&conflict.path, usize::MAX);
        app.warning(format!("left alone {path}: {}", conflict.reason));
    }
    if let Some(reason) = &restored.stopped {
        app.warning(format!("not all changes were taken back: {reason}"));
    }
}
