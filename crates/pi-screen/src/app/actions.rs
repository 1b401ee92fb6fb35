//! The actions of keys while the editor has the focus, as a table.

use pi_coding_agent::session::CycleDirection;
use pi_tui::input::Key;

use crate::app::App;
use crate::app::clipboard;
use crate::app::commands;
use crate::app::external_editor;
use crate::app::interrupt;
use crate::app::prompt_history;
use crate::app::submit;
use crate::app::suspend;

/// An action; returns false if the key means something else at the moment.
type Action = fn(&mut App) -> bool;

const ACTIONS: &[(&str, Action)] = &[
    ("app.interrupt", interrupt::interrupt),
    ("app.clear", interrupt::clear),
    ("app.exit", interrupt::exit),
    ("app.suspend", suspend::suspend),
    ("app.editor.external", external_editor::open),
    ("app.clipboard.pasteImage", clipboard::paste),
    ("app.message.copy", clipboard::copy_last_answer),
    ("app.message.followUp", submit::follow_up),
    ("app.message.dequeue", submit::dequeue),
    ("app.history.search", prompt_history::search),
    ("app.thinking.cycle", cycle_thinking),
    ("app.thinking.toggle", toggle_thinking),
    ("app.model.select", |app| commands::run(app, "/model")),
    ("app.model.cycleForward", |app| cycle_model(app, CycleDirection::Forward)),
    ("app.model.cycleBackward", |app| cycle_model(app, CycleDirection::Backward)),
    ("app.tools.expand", toggle_tools),
    ("app.session.new", |app| commands::run(app, "/new")),
    ("app.session.tree", |app| commands::run(app, "/tree")),
    ("app.session.fork", |app| commands::run(app, "/fork")),
    ("app.session.resume", |app| commands::run(app, "/resume")),
];

/// Runs the action of a key. Returns false if it has none.
pub(crate) fn run(app: &mut App, key: &Key) -> bool {
    let actions: Vec<Action> = app
        .keymap
        .actions(key)
        .iter()
        .filter_map(|id| ACTIONS.iter().find(|(name, _)| name == id))
        .map(|(_, action)| *action)
        .collect();
    actions.into_iter().any(|action| action(app))
}

/// Runs an action by its name. Returns false if there is none, or if it means something else at the
/// moment.
pub(crate) fn run_named(app: &mut App, name: &str) -> bool {
    let found = ACTIONS.iter().find(|(action, _)| *action == name);
    found.is_some_and(|(_, action)| action(app))
}

/// Shows or hides the whole output of tools.
pub(crate) fn toggle_tools(app: &mut App) -> bool {
    let expanded = !app.transcript.is_expanded();
    set_expanded(app, expanded);
    app.status(if expanded { "Tool output: expanded" } else { "Tool output: collapsed" });
    true
}

/// Sets whether the whole output of tools is shown.
pub(crate) fn set_expanded(app: &mut App, expanded: bool) {
    app.start.set_expanded(expanded);
    app.transcript.set_expanded(expanded);
    app.ui.shared().tools_expanded = expanded;
    app.display.redraw();
}

/// Shows or hides thinking, and remembers it.
fn toggle_thinking(app: &mut App) -> bool {
    let hidden = !app.preferences.hide_thinking;
    app.preferences.hide_thinking = hidden;
    app.transcript.set_hide_thinking(hidden);
    app.display.redraw();
    crate::app::settings::store(app, &["hideThinkingBlock"], hidden.into());
    app.status(if hidden { "Thinking blocks: hidden" } else { "Thinking blocks: visible" });
    true
}

fn cycle_thinking(app: &mut App) -> bool {
    let session = app.session.clone();
    app.tasks.spawn(async move { session.cycle_thinking_level().await }, |app, result| {
        match result {
            Ok(Some(level)) => app.status(format!("Thinking level: {}", level.as_str())),
            Ok(None) => app.status("The model has no thinking levels"),
            Err(error) => app.error(error.to_string()),
        }
        app.footer.refresh(&app.session);
    });
    true
}

fn cycle_model(app: &mut App, direction: CycleDirection) -> bool {
    let session = app.session.clone();
    let cycle = async move { session.cycle_model(direction).await };
    app.tasks.spawn(cycle, |app, result| {
        match result {
            Ok(Some(cycle)) => {
                let name = &cycle.model.name;
                app.status(format!(
                    "Switched to {name} (thinking: {})",
                    cycle.thinking_level.as_str()
                ));
            }
            Ok(None) => app.status("There is no other model to switch to"),
            Err(error) => app.error(error.to_string()),
        }
        app.footer.refresh(&app.session);
    });
    true
}
