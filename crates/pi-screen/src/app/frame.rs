//! Frames: when one is due, and what it shows.

use std::time::Instant;

use pi_tui::{PlacedOverlay, View};

use crate::app::App;
use crate::app::dock;
use crate::app::events;
use crate::app::mounts;
use crate::app::notify;
use crate::app::publish;
use crate::app::search;

/// Draws a frame if one is due and the terminal is ready for it.
pub(crate) fn draw_if_due(app: &mut App, now: Instant) {
    if !app.display.is_due(now) {
        return;
    }
    app.themes.publish(&app.ui);
    let theme = app.themes.current();
    let size = app.display.size();
    publish::publish(app);
    mounts::before_frame(app);
    let view = View { width: size.columns, rows: size.rows, theme: &theme };
    let dock = dock::render(app, view, now);
    let mut overlays: Vec<PlacedOverlay> = app.mounts.overlays(view);
    overlays.extend(search::render(app, view).into_iter().chain(app.flash.render(view)));
    app.display.draw(app.transcript.blocks(), &dock, &overlays, view, now);
    if app.footer.is_uncounted {
        events::count_totals(app);
    }
}

/// Returns the time at which something changes by itself.
pub(crate) fn next_wake(app: &App, now: Instant) -> Option<Instant> {
    let times = [
        app.display.next_wake(),
        app.activity.next_frame(now),
        app.transcript.next_tick(now),
        app.flash.deadline(),
        search::is_running(app).then_some(now),
        app.panels.next_change(),
    ];
    times.into_iter().flatten().min()
}

/// Lets time pass.
pub(crate) fn on_time(app: &mut App, now: Instant) {
    app.display.on_time(now);
    notify::on_time(app, now);
    search::step(app);
    if app.flash.expire(now) {
        app.display.request_frame_now();
    }
    if app.transcript.tick(now) {
        app.display.request_frame_now();
    }
    let panel_changes = app.panels.next_change().is_some_and(|at| at <= now);
    if panel_changes || !app.activity.is_idle() {
        app.display.request_frame_now();
    }
}
