//! Components of extensions on the screen: instead of the editor for a while, above everything, or
//! in a slot for good.

use std::cell::RefCell;
use std::rc::Rc;

use pi_coding_agent::extension::{
    ComponentFactory, ComponentMessage, ComponentSlot, CustomOptions,
};
use pi_tui::input::{Input, Key};
use pi_tui::overlay::{OverlayId, Overlays};
use pi_tui::{Component as _, Line, PlacedOverlay, View};
use serde_json::Value;
use tokio::sync::oneshot;

use super::app::App;
use super::components::{Adapter, Messages, Stale, overlay_options};
use super::panel::PanelId;
use super::panels::custom::CustomPanel;
use super::tasks::Tasks;
use super::widgets::Widget;
use super::{actions, events, submit, viewport};

/// The components in slots of the screen, and the overlays.
#[derive(Default)]
pub(super) struct Mounts {
    pub(super) header: Option<Rc<RefCell<Adapter>>>,
    footer: Option<Adapter>,
    editor: Option<Adapter>,
    overlays: Overlays,
}

/// The place of a component that takes the keyboard.
enum Place {
    Panel(PanelId),
    Overlay(OverlayId),
}

/// Shows a component until it is done or no one waits for its result.
pub(super) fn custom(
    app: &mut App,
    factory: ComponentFactory,
    options: &CustomOptions,
    mut answer: oneshot::Sender<Option<Value>>,
) {
    let (adapter, stale, mut messages) = Adapter::new(factory);
    let place = match options.overlay {
        true => {
            let options = overlay_options(options.overlay_options.as_ref());
            Place::Overlay(app.mounts.overlays.show(Box::new(adapter), options))
        }
        false => Place::Panel(app.open(CustomPanel(adapter))),
    };
    let tasks = app.tasks.clone();
    let shown = async move {
        let result = tokio::select! {
            biased;
            () = answer.closed() => return true,
            result = result(&mut messages, &stale, || tasks.redraw()) => result,
        };
        let is_done = result.is_some();
        // The caller may be gone.
        let _ = answer.send(result);
        is_done
    };
    app.tasks.spawn(shown, move |app, is_done| {
        match place {
            Place::Panel(id) => app.panels.close(id),
            Place::Overlay(id) => drop(app.mounts.overlays.hide(id)),
        }
        if !is_done {
            app.error("A component of an extension failed and was closed");
        }
    });
}

/// Requests frames for a component until it is done, and returns its result. `None` if the component
/// is gone.
async fn result(messages: &mut Messages, stale: &Stale, redraw: impl Fn()) -> Option<Value> {
    while let Some(message) = messages.recv().await {
        match message {
            ComponentMessage::Done(result) => return Some(result),
            _ => {
                stale.set();
                redraw();
            }
        }
    }
    None
}

/// Puts a component into a slot, or restores what was there.
pub(super) fn mount(app: &mut App, slot: ComponentSlot, factory: Option<ComponentFactory>) {
    let adapter = factory.map(|factory| {
        let (adapter, stale, messages) = Adapter::new(factory);
        tokio::task::spawn_local(listen(slot.clone(), stale, messages, app.tasks.clone()));
        adapter
    });
    match slot {
        ComponentSlot::Header => {
            app.mounts.header = adapter.map(|adapter| Rc::new(RefCell::new(adapter)));
            events::rebuild(app);
            app.display.redraw();
        }
        ComponentSlot::Footer => app.mounts.footer = adapter,
        ComponentSlot::Editor => {
            app.ui.shared().has_editor_component = adapter.is_some();
            app.mounts.editor = adapter;
        }
        ComponentSlot::Widget { key, placement } => {
            let widget = adapter.map(|adapter| Widget::Component(Box::new(adapter)));
            app.widgets.set(key, widget, placement);
        }
        _ => {}
    }
}

/// Applies the messages of a component in a slot, until it is gone. The text that the component of
/// the editor is done with is submitted.
async fn listen(slot: ComponentSlot, stale: Stale, mut messages: Messages, tasks: Tasks) {
    // The header is part of the transcript, which keeps what it has drawn.
    let redraw = || match slot {
        ComponentSlot::Header => tasks.apply(|app| app.transcript.blocks().touch_all()),
        _ => tasks.redraw(),
    };
    while let Some(result) = result(&mut messages, &stale, redraw).await {
        if slot == ComponentSlot::Editor
            && let Value::String(text) = result
        {
            tasks.apply(move |app| submit::submit(app, text));
        }
    }
}

impl Mounts {
    /// Returns the lines of the footer, if an extension replaced it.
    pub(super) fn footer(&mut self, view: View<'_>) -> Option<Vec<Line>> {
        let footer = self.footer.as_mut().filter(|footer| !footer.has_failed())?;
        Some(pi_tui::Component::render(footer, view).to_vec())
    }

    /// Returns the lines of the editor, if an extension replaced it.
    pub(super) fn editor(&mut self, view: View<'_>) -> Option<Vec<Line>> {
        let editor = self.editor.as_mut().filter(|editor| !editor.has_failed())?;
        Some(pi_tui::Component::render(editor, view).to_vec())
    }

    /// Returns the overlays at their places.
    pub(super) fn overlays(&mut self, view: View<'_>) -> Vec<PlacedOverlay> {
        self.overlays.render(view)
    }
}

/// Passes input to the overlay that has the focus. Returns false if there is none.
pub(super) fn overlay_input(app: &mut App, input: &Input) -> bool {
    if app.mounts.overlays.is_empty() {
        return false;
    }
    app.mounts.overlays.handle(input, app.display.size()).is_some()
}

/// Passes input to the component that replaced the editor, after the keys of the application.
/// Returns false if there is none.
pub(super) fn editor_input(app: &mut App, key: Option<&Key>, input: &Input) -> bool {
    if app.mounts.editor.as_ref().is_none_or(Adapter::has_failed) {
        return false;
    }
    if key.is_some_and(|key| viewport::key(app, key) || actions::run(app, key)) {
        return true;
    }
    if let Some(editor) = &mut app.mounts.editor {
        editor.handle(input);
    }
    true
}
