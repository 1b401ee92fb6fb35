//! A component of an extension in place of the editor.
//!
//! The component has the text. The built-in editor keeps a copy, so that commands and shortcuts that
//! read or set the text need not know who shows it.

use pi_coding_agent::extension::ComponentMessage;
use pi_tui::Component as _;
use pi_tui::input::{Input, Key};

use crate::app::App;
use crate::app::actions;
use crate::app::submit;
use crate::app::viewport;
use crate::components::Adapter;
use crate::queue::Message;

/// The component in place of the editor.
pub(super) struct EditorMount {
    pub(super) adapter: Adapter,
    /// The text that the component and the built-in editor both have; `None` before the first frame.
    text: Option<String>,
}

impl EditorMount {
    pub(super) fn new(adapter: Adapter) -> Self {
        Self { adapter, text: None }
    }
}

/// Gives the component the text, if the program changed it.
pub(super) fn before_frame(app: &mut App) {
    let Some(mount) = &mut app.mounts.editor else { return };
    let text = app.editor.text();
    if mount.text.as_ref() == Some(&text) {
        return;
    }
    if !(mount.text.is_none() && text.is_empty()) {
        mount.adapter.set_text(&text);
    }
    app.ui.shared().editor_text.clone_from(&text);
    mount.text = Some(text);
}

/// Passes input to the component. Returns false if there is none. The component handles the keys of
/// the application; while it does not answer, the application does.
pub(crate) fn input(app: &mut App, key: Option<&Key>, input: &Input) -> bool {
    let Some(mount) = app.mounts.editor.as_ref().filter(|mount| !mount.adapter.has_failed()) else {
        return false;
    };
    let is_late = mount.adapter.is_late();
    if key.is_some_and(|key| viewport::key(app, key) || is_late && actions::run(app, key)) {
        return true;
    }
    if let Some(mount) = &mut app.mounts.editor {
        mount.adapter.handle(input);
    }
    true
}

/// Applies a message of the component.
pub(super) fn message(app: &mut App, message: ComponentMessage) {
    match message {
        ComponentMessage::TextChanged(text) => changed(app, &text),
        ComponentMessage::Action(action) => drop(actions::run_named(app, &action)),
        _ => {}
    }
}

/// Submits the text of the component.
pub(super) fn submitted(app: &mut App, text: String) {
    changed(app, "");
    submit::submit(app, Message::new(text));
}

fn changed(app: &mut App, text: &str) {
    app.presses = Default::default();
    app.editor.set_text(text);
    text.clone_into(&mut app.ui.shared().editor_text);
    if let Some(mount) = &mut app.mounts.editor {
        // As the built-in editor has it: it may normalize the text.
        mount.text = Some(app.editor.text());
    }
}
