//! Components of extensions on the screen: instead of the editor for a while, above everything, or
//! in a slot for good.

mod editor;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use pi_coding_agent::extension::{
    ComponentFactory, ComponentMessage, ComponentSlot, CustomOptions,
};
use pi_tui::input::Input;
use pi_tui::overlay::{OverlayId, Overlays};
use pi_tui::{Component, Line, Lines, PlacedOverlay, Size, View};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::app::App;
use crate::app::header;
use crate::components::{Adapter, Messages, Stale, overlay_options};
use crate::panel::PanelId;
use crate::panels::custom::CustomPanel;
use crate::tasks::Tasks;
use crate::widgets::Widget;
use editor::EditorMount;
pub(crate) use editor::input as editor_input;

/// The components in slots of the screen, and the overlays.
#[derive(Default)]
pub(crate) struct Mounts {
    pub(crate) header: Option<Rc<RefCell<Adapter>>>,
    footer: Option<Adapter>,
    editor: Option<EditorMount>,
    overlays: Overlays,
    /// Components above the screen, for changes of its size.
    above: Vec<Weak<RefCell<Adapter>>>,
    /// Panels that show a component.
    panels: Vec<PanelId>,
    /// Size of the terminal in the last frame.
    size: Option<Size>,
}

/// The place of a component that takes the keyboard.
#[derive(Clone, Copy)]
enum Place {
    Panel(PanelId),
    Overlay(OverlayId),
}

/// A component above the screen.
struct Above(Rc<RefCell<Adapter>>);

impl Component for Above {
    fn render(&mut self, view: View<'_>) -> Lines {
        Component::render(&mut *self.0.borrow_mut(), view)
    }

    fn handle(&mut self, input: &Input) -> bool {
        self.0.borrow_mut().handle(input)
    }
}

/// Shows a component until it is done or no one waits for its result.
pub(crate) fn custom(
    app: &mut App,
    factory: ComponentFactory,
    options: &CustomOptions,
    mut answer: oneshot::Sender<Option<Value>>,
) {
    let (adapter, stale, mut messages) = Adapter::new(factory);
    let place = match options.overlay {
        true => {
            let options = overlay_options(options.overlay_options.as_ref());
            let adapter = Rc::new(RefCell::new(adapter));
            app.mounts.above.push(Rc::downgrade(&adapter));
            Place::Overlay(app.mounts.overlays.show(Box::new(Above(adapter)), options))
        }
        false => {
            let id = app.panels.open(CustomPanel(adapter));
            app.mounts.panels.push(id);
            Place::Panel(id)
        }
    };
    let tasks = app.tasks.clone();
    let shown = async move {
        let result = tokio::select! {
            biased;
            () = answer.closed() => return true,
            result = result(&mut messages, &stale, |message| follow(&tasks, place, message)) => result,
        };
        let is_done = result.is_some();
        // The caller may be gone.
        let _ = answer.send(result);
        is_done
    };
    app.tasks.spawn(shown, move |app, is_done| {
        let was_open = match place {
            Place::Panel(id) => {
                app.mounts.panels.retain(|other| *other != id);
                app.panels.close(id)
            }
            Place::Overlay(id) => app.mounts.overlays.hide(id).is_some(),
        };
        if !is_done && was_open {
            app.error("A component of an extension failed and was closed");
        }
    });
}

/// Applies a message of a component that takes the keyboard.
fn follow(tasks: &Tasks<App>, place: Place, message: ComponentMessage) {
    let Place::Overlay(id) = place else { return tasks.redraw() };
    tasks.apply(move |app| {
        let overlays = &mut app.mounts.overlays;
        match message {
            ComponentMessage::SetHidden(is_hidden) => overlays.set_hidden(id, is_hidden),
            ComponentMessage::SetFocused(true) => overlays.focus(id),
            ComponentMessage::SetFocused(false) => overlays.unfocus(id),
            ComponentMessage::SetOptions(options) => {
                overlays.set_options(id, overlay_options(Some(&options)));
            }
            _ => {}
        }
    });
}

/// Passes the messages of a component on until it is done, and returns its result. `None` if the
/// component is gone.
async fn result(
    messages: &mut Messages,
    stale: &Stale,
    mut follow: impl FnMut(ComponentMessage),
) -> Option<Value> {
    while let Some(message) = messages.recv().await {
        if let ComponentMessage::Done(result) = message {
            return Some(result);
        }
        stale.set();
        follow(message);
    }
    None
}

/// Puts a component into a slot, or restores what was there.
pub(crate) fn mount(app: &mut App, slot: ComponentSlot, factory: Option<ComponentFactory>) {
    let adapter = factory.map(|factory| {
        let (adapter, stale, messages) = Adapter::new(factory);
        tokio::task::spawn_local(listen(slot.clone(), stale, messages, app.tasks.clone()));
        adapter
    });
    match slot {
        ComponentSlot::Header => {
            app.mounts.header = adapter.map(|adapter| Rc::new(RefCell::new(adapter)));
            show_header(app);
        }
        ComponentSlot::Footer => app.mounts.footer = adapter,
        ComponentSlot::Editor => {
            app.ui.shared().has_editor_component = adapter.is_some();
            app.mounts.editor = adapter.map(EditorMount::new);
        }
        ComponentSlot::Widget { key, placement } => {
            let widget = adapter.map(|adapter| Widget::Component(Box::new(adapter)));
            app.widgets.set(key, widget, placement);
        }
        _ => {}
    }
}

/// Applies the messages of a component in a slot, until it is gone.
async fn listen(slot: ComponentSlot, stale: Stale, mut messages: Messages, tasks: Tasks<App>) {
    // The header is part of the transcript, which keeps what it has drawn.
    let follow = |message| match (&slot, message) {
        (ComponentSlot::Header, _) => tasks.apply(|app| app.transcript.blocks().touch_all()),
        (ComponentSlot::Editor, message) => tasks.apply(|app| editor::message(app, message)),
        _ => tasks.redraw(),
    };
    while let Some(result) = result(&mut messages, &stale, follow).await {
        if slot == ComponentSlot::Editor
            && let Value::String(text) = result
        {
            tasks.apply(move |app| editor::submitted(app, text));
        }
    }
}

/// Removes all components.
pub(crate) fn reset(app: &mut App) {
    let had_header = app.mounts.header.is_some();
    app.ui.shared().has_editor_component = false;
    for panel in std::mem::take(&mut app.mounts).panels {
        app.panels.close(panel);
    }
    if had_header {
        show_header(app);
    }
}

/// Shows the header that is the current one now.
fn show_header(app: &mut App) {
    let prefix = header::blocks(app);
    app.transcript.set_prefix(prefix);
    app.display.redraw();
}

/// Prepares the components for a frame.
pub(crate) fn before_frame(app: &mut App) {
    let size = app.display.size();
    if app.mounts.size.replace(size).is_some_and(|last| last != size) {
        app.mounts.above.retain(|component| component.strong_count() > 0);
        for component in app.mounts.above.iter().filter_map(Weak::upgrade) {
            component.borrow_mut().invalidate();
        }
    }
    editor::before_frame(app);
}

impl Mounts {
    /// Returns the lines of the footer, if an extension replaced it.
    pub(crate) fn footer(&mut self, view: View<'_>) -> Option<Vec<Line>> {
        let footer = self.footer.as_mut().filter(|footer| !footer.has_failed())?;
        Some(Component::render(footer, view).to_vec())
    }

    /// Returns the lines of the editor, if an extension replaced it.
    pub(crate) fn editor(&mut self, view: View<'_>) -> Option<Vec<Line>> {
        let editor = self.editor.as_mut().filter(|editor| !editor.adapter.has_failed())?;
        Some(Component::render(&mut editor.adapter, view).to_vec())
    }

    /// Returns the overlays at their places.
    pub(crate) fn overlays(&mut self, view: View<'_>) -> Vec<PlacedOverlay> {
        self.overlays.render(view)
    }
}

/// Passes input to the overlay that has the focus. Returns false if there is none.
pub(crate) fn overlay_input(app: &mut App, input: &Input) -> bool {
    if app.mounts.overlays.is_empty() {
        return false;
    }
    app.mounts.overlays.handle(input, app.display.size()).is_some()
}
