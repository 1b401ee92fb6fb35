//! What the terminal shows outside of the screen: progress, status, notifications.

use std::time::{Duration, Instant};

use pi_coding_agent::session::SessionEvent;
use pi_config::settings::Notifications;
use pi_tui::terminal::capabilities::Notification;
use pi_tui::terminal::sequences::{self, Activity};

use crate::app::App;

/// Terminals forget progress that is not repeated.
const REPEAT: Duration = Duration::from_secs(1);

/// State that the terminal was told last.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The time of the last progress; `None` if none is shown.
    progress: Option<Instant>,
    has_status: bool,
    is_blocked: bool,
}

/// Follows the session.
pub(crate) fn on_event(app: &mut App, event: &SessionEvent, now: Instant) {
    match event {
        SessionEvent::AgentStart => {
            status(app, Activity::Working);
            progress(app, now);
        }
        SessionEvent::TurnStart { .. } | SessionEvent::ToolExecutionEnd { .. }
            if app.told.is_blocked =>
        {
            app.told.is_blocked = false;
            status(app, Activity::Working);
        }
        SessionEvent::AgentSettled { .. } => {
            app.told.is_blocked = false;
            end_progress(app);
            status(app, Activity::Done);
            notify(app, "The run is complete");
        }
        _ => {}
    }
}

/// Tells that the session waits for an answer of the user.
pub(crate) fn blocked(app: &mut App, title: &str) {
    app.told.is_blocked = true;
    status(app, Activity::Blocked);
    notify(app, title.lines().next().unwrap_or("A question is waiting"));
}

/// Repeats the progress, if it is time.
pub(crate) fn on_time(app: &mut App, now: Instant) {
    if app.told.progress.is_some_and(|at| now.duration_since(at) >= REPEAT) {
        progress(app, now);
    }
}

/// Takes everything back, because the program ends.
pub(crate) fn end(app: &mut App) {
    end_progress(app);
    if std::mem::take(&mut app.told.has_status) {
        app.display.send(sequences::clear_status());
    }
}

fn progress(app: &mut App, now: Instant) {
    if app.preferences.terminal.show_progress {
        app.told.progress = Some(now);
        app.display.send(sequences::progress(true));
    }
}

fn end_progress(app: &mut App) {
    if app.told.progress.take().is_some() {
        app.display.send(sequences::progress(false));
    }
}

/// Only terminals that said that they know the sequence get it.
fn status(app: &mut App, activity: Activity) {
    if app.display.startup().has_program_status() {
        app.told.has_status = true;
        app.display.send(sequences::status(activity, "pi", None, None));
    }
}

/// Notifies a user who looks at another window.
fn notify(app: &mut App, message: &str) {
    if app.display.is_focused() {
        return;
    }
    let kind = match app.preferences.notify {
        Notifications::Off => return,
        Notifications::Bell => Notification::Bell,
        Notifications::Desktop => app.display.capabilities.notification,
    };
    let directory = app.session.workspace().cwd().file_name().unwrap_or_default();
    let title = app.session.name().unwrap_or_else(|| directory.to_string_lossy().into_owned());
    let multiplexer = app.display.capabilities.multiplexer;
    let bytes = sequences::notification(kind, multiplexer, &format!("pi - {title}"), message);
    app.display.send(bytes);
}
