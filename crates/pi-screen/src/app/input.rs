//! Input on its way to the part that handles it: panel, viewport, action, editor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use pi_coding_agent::extension::{InputDecision, InputListener};
use pi_tui::editor::EditorEvent;
use pi_tui::input::{Input, Key, KeyKind, Reply};

use crate::app::App;
use crate::app::actions;
use crate::app::clipboard;
use crate::app::mounts;
use crate::app::prompt_history;
use crate::app::search;
use crate::app::shortcuts;
use crate::app::submit;
use crate::app::viewport;
use crate::display::Answered;
use crate::panel::PanelEvent;
use crate::queue::Message;

/// Handles one piece of input.
pub(crate) fn apply(app: &mut App, input: &Input) {
    if let Some(problem) = app.themes.refresh(Instant::now()) {
        app.warning(problem);
    }
    match input {
        Input::Key(key) if key.kind == KeyKind::Release => {}
        _ => match decided(app, input) {
            InputDecision::Pass => route(app, input),
            InputDecision::Consume => {}
            InputDecision::Replace(data) => {
                for input in Input::decode(&data) {
                    route(app, &input);
                }
            }
        },
    }
}

/// Passes input to the part that handles it.
fn route(app: &mut App, input: &Input) {
    match input {
        Input::Mouse(mouse) => viewport::mouse(app, *mouse),
        Input::Focus(is_focused) => app.display.set_focused(*is_focused),
        _ if search::handle(app, input) => {}
        _ if mounts::overlay_input(app, input) => {}
        _ if !app.panels.is_empty() => panel(app, input),
        Input::Key(key) if shortcuts::run(app, key) => {}
        Input::Key(key) if mounts::editor_input(app, Some(key), input) => {}
        Input::Key(key) => self::key(app, key, input),
        _ if mounts::editor_input(app, None, input) => {}
        Input::Paste(text) => match clipboard::dropped(app, text) {
            Some(paths) => {
                clipboard::insert_files(app, &paths);
                changed(app);
            }
            None => edit(app, input),
        },
        _ => edit(app, input),
    }
}

/// Shows input to the listeners of extensions, one after another. Each sees what those before it
/// left of the input.
fn decided(app: &App, input: &Input) -> InputDecision {
    // Called without the lock: a listener may ask the interface something.
    let listeners: Vec<InputListener> =
        app.ui.shared().listeners.iter().map(|(_, listener)| Arc::clone(listener)).collect();
    if listeners.is_empty() {
        return InputDecision::Pass;
    }
    let Some(original) = input.sent() else { return InputDecision::Pass };
    let mut data = original.clone().into_owned();
    for listener in &listeners {
        // A listener that panics changes nothing.
        match catch_unwind(AssertUnwindSafe(|| listener(&data))).unwrap_or_default() {
            InputDecision::Pass => {}
            InputDecision::Consume => return InputDecision::Consume,
            InputDecision::Replace(changed) => data = changed,
        }
    }
    if data == original { InputDecision::Pass } else { InputDecision::Replace(data) }
}

fn panel(app: &mut App, input: &Input) {
    let Some((id, event)) = app.panels.handle(input, &app.keymap) else { return };
    match event {
        PanelEvent::Ignored => {
            if let Input::Key(key) = input {
                viewport::key(app, key);
            }
        }
        PanelEvent::Changed => {}
        PanelEvent::Close(effect) => {
            app.panels.close(id);
            if let Some(effect) = effect {
                effect(app);
            }
        }
        PanelEvent::Do(effect) => effect(app),
    }
}

fn key(app: &mut App, key: &Key, input: &Input) {
    let menu_first = app.editor.wants(key, &app.keymap);
    if !menu_first && (viewport::key(app, key) || search::open(app, key) || actions::run(app, key))
    {
        return;
    }
    edit(app, input);
}

fn edit(app: &mut App, input: &Input) {
    match app.editor.handle(input, &app.keymap, &mut app.completions) {
        EditorEvent::Submit(text) => {
            let images = app.editor.take_submitted_images();
            prompt_history::add(app, &text);
            submit::submit(app, Message { text, images });
        }
        EditorEvent::Changed => changed(app),
        _ => {}
    }
}

/// Notes that the text of the editor changed.
fn changed(app: &mut App) {
    app.presses = Default::default();
    // Long pastes are expanded in the text, so it is not computed for no one.
    if !app.session.extensions().registry().is_empty() {
        app.ui.shared().editor_text = app.editor.text();
    }
}

/// Uses an answer of the terminal.
pub(crate) fn reply(app: &mut App, reply: &Reply) {
    match app.display.answered(reply) {
        Answered::Nothing => {}
        Answered::Colors => app.display.show_colors(&mut app.themes),
        Answered::Appearance(appearance) => {
            app.themes.set_colors(|colors| colors.scheme = Some(appearance));
        }
    }
}
