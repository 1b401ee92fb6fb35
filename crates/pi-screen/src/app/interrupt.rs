//! Keys that stop something: escape, the clear key, the exit key, suspending.

use std::time::{Duration, Instant};

use crate::activity::Work;
use crate::app::App;
use crate::app::commands;
use crate::app::submit;
use crate::preferences::DoubleEscape;

/// Time in which a second press counts as a double press.
const DOUBLE: Duration = Duration::from_millis(500);

/// Stops what is running; with nothing running and an empty editor, two presses open the tree.
pub(crate) fn interrupt(app: &mut App) -> bool {
    match app.activity.work() {
        Work::Retrying { .. } => {
            app.session.abort_retry();
            return true;
        }
        Work::Compacting(_) => {
            app.session.abort_compaction();
            return true;
        }
        Work::Summarizing => {
            app.session.abort_branch_summary();
            return true;
        }
        Work::Answering | Work::Idle => {}
    }
    if app.session.is_streaming() {
        abort(app);
        return true;
    }
    if app.session.is_bash_running() {
        app.session.abort_bash();
        return true;
    }
    if app.editor.starts_with("!") {
        app.editor.clear();
        return true;
    }
    if !app.editor.is_empty() || app.preferences.double_escape == DoubleEscape::None {
        return true;
    }
    let now = Instant::now();
    if app.presses.escape.take().is_some_and(|last| now.duration_since(last) < DOUBLE) {
        match app.preferences.double_escape {
            DoubleEscape::Tree => commands::run(app, "/tree"),
            DoubleEscape::Fork => commands::run(app, "/fork"),
            DoubleEscape::None => false,
        };
    } else {
        app.presses.escape = Some(now);
    }
    true
}

/// Aborts the run. What was queued returns to the editor.
fn abort(app: &mut App) {
    let session = app.session.clone();
    let aborted = async move {
        let texts = session.clear_queue().await;
        session.abort().await;
        texts
    };
    app.tasks.spawn(aborted, |app, texts| {
        let mut queued = texts.steering;
        queued.extend(texts.follow_up);
        submit::take_back(app, queued);
    });
}

/// Stops what is running, otherwise empties the editor; pressed twice, leaves.
pub(crate) fn clear(app: &mut App) -> bool {
    let now = Instant::now();
    if app.presses.clear.take().is_some_and(|last| now.duration_since(last) < DOUBLE) {
        app.quit();
        return true;
    }
    app.presses.clear = Some(now);
    match app.preferences.clear_interrupts && is_working(app) {
        true => interrupt(app),
        false => {
            app.editor.clear();
            true
        }
    }
}

/// Returns true if there is something that an interrupt stops.
fn is_working(app: &App) -> bool {
    !app.activity.is_idle() || app.session.is_streaming() || app.session.is_bash_running()
}

/// Leaves if the editor is empty.
pub(crate) fn exit(app: &mut App) -> bool {
    if !app.editor.is_empty() {
        return false;
    }
    app.quit();
    true
}
