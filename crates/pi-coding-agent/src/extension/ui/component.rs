//! Components that extensions put on a screen: lines out, keys in.

use serde_json::Value;
use tokio::sync::mpsc;

use super::WidgetPlacement;

/// A part of the screen that an extension draws.
///
/// Contract: `render` returns styled lines, none wider than `width` columns. Both methods return at
/// once; a component of a slow extension returns the lines it has and requests another frame
/// through its [`ComponentHandle`] when it has more.
pub trait Component: Send {
    /// Returns the lines of the component.
    fn render(&mut self, width: usize) -> Vec<String>;

    /// Receives a key or a paste, as the terminal sent it.
    fn handle_input(&mut self, _data: &str) {}

    /// Drops cached lines, because the theme or the size changed.
    fn invalidate(&mut self) {}

    /// Sets the text of a component that replaces the editor.
    fn set_text(&mut self, _text: &str) {}

    /// Returns true if the component is rendered for every frame, because its lines may change
    /// without a request for a frame.
    fn is_live(&self) -> bool {
        false
    }

    /// Returns true if the component does not answer at the moment. Keys that must always work are
    /// then handled without it.
    fn is_late(&self) -> bool {
        false
    }
}

/// Builds a component on the screen that shows it.
pub type ComponentFactory = Box<dyn FnOnce(ComponentHandle) -> Box<dyn Component> + Send>;

/// The screen, as one component sees it.
#[derive(Debug, Clone)]
pub struct ComponentHandle {
    messages: mpsc::UnboundedSender<ComponentMessage>,
}

/// A message of a component to its screen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ComponentMessage {
    /// The lines changed.
    Redraw,
    /// The component is done; the value is the result of [`super::Ui::custom`]. Of a component that
    /// replaces the editor, the text to submit.
    Done(Value),
    /// Hides an overlay or shows it again.
    SetHidden(bool),
    /// Gives the focus to an overlay, or takes it.
    SetFocused(bool),
    /// Changes size and position of an overlay.
    SetOptions(Value),
    /// The text of a component that replaces the editor changed.
    TextChanged(String),
    /// A component that replaces the editor received the key of an action of the application.
    Action(String),
}

impl ComponentHandle {
    /// Creates a handle and the receiver that the screen polls. The channel is unbounded because a
    /// component sends when it changes, which a person or a timer paces.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<ComponentMessage>) {
        let (messages, receiver) = mpsc::unbounded_channel();
        (Self { messages }, receiver)
    }

    /// Sends a message to the screen.
    pub fn send(&self, message: ComponentMessage) {
        // A screen that is gone needs no message.
        let _ = self.messages.send(message);
    }

    /// Requests another frame.
    pub fn redraw(&self) {
        self.send(ComponentMessage::Redraw);
    }

    /// Ends the component with a result.
    pub fn done(&self, result: Value) {
        self.send(ComponentMessage::Done(result));
    }
}

/// A place on the screen that holds a component.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The names say it.
pub enum ComponentSlot {
    Header,
    Footer,
    Editor,
    Widget { key: String, placement: WidgetPlacement },
}

/// The presentation of a custom component.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomOptions {
    /// The component is drawn over the screen instead of in place of the editor.
    pub overlay: bool,
    /// Size and position of the overlay, in the vocabulary of the TypeScript pi.
    pub overlay_options: Option<Value>,
}
