//! The user interface as extensions see it: dialogs, updates, components and state, as data.
//!
//! [`Ui`] is implemented by screens, by RPC mode and by [`NoUi`]. Every method has a default that
//! is right where no user is present: dialogs resolve to nothing, updates are dropped.

mod component;
mod handle;

use std::sync::Arc;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_protocol::CancelToken;
use serde::Serialize;
use serde_json::Value;

pub use component::{
    Component, ComponentFactory, ComponentHandle, ComponentMessage, ComponentSlot, CustomOptions,
};
pub(crate) use handle::DialogCounter;
pub use handle::ExtensionUi;

use super::registry::CompletionProvider;
use crate::guard::{ApprovalDecision, ApprovalRequest, approve_with_dialogs};

/// A user interface.
///
/// Contract: [`Ui::dialog`] and [`Ui::custom`] resolve when the user answers or closes what is
/// shown; dropping the future closes it. All other methods return at once.
pub trait Ui: Send + Sync {
    /// Returns true if a user can answer dialogs.
    fn is_present(&self) -> bool {
        false
    }

    /// Shows a dialog. `None` if the user closed it or no user is present. Callers go through
    /// [`ExtensionUi`], which handles time-outs and cancellation.
    fn dialog(
        &self,
        _dialog: Dialog,
        _timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        Box::pin(std::future::ready(None))
    }

    /// Asks the user whether an action may run. Without an own way to ask, dialogs do it.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(approve_with_dialogs(self, request))
    }

    /// Changes what is shown.
    fn update(&self, _update: UiUpdate) {}

    /// Shows a component that takes the keyboard until it is done, and returns its result.
    fn custom(
        &self,
        _factory: ComponentFactory,
        _options: CustomOptions,
    ) -> BoxFuture<'_, Option<Value>> {
        Box::pin(std::future::ready(None))
    }

    /// Puts a component into a slot of the screen; `None` restores the built-in one.
    fn mount(&self, _slot: ComponentSlot, _factory: Option<ComponentFactory>) {}

    /// Returns true if an extension has replaced the editor.
    fn has_editor_component(&self) -> bool {
        false
    }

    /// Returns the text in the editor.
    fn editor_text(&self) -> String {
        String::new()
    }

    /// Returns true if tool results are shown in full.
    fn tools_expanded(&self) -> bool {
        false
    }

    /// Returns the current theme.
    fn theme(&self) -> Theme {
        Theme::default()
    }

    /// Returns the names of all themes.
    fn themes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the theme of this name.
    fn find_theme(&self, _name: &str) -> Option<Theme> {
        None
    }

    /// Selects a theme.
    fn set_theme(&self, _name: &str) -> Result<(), ThemeError> {
        Err(ThemeError("UI not available".to_owned()))
    }

    /// Adds a source of completions for the editor.
    fn add_completion_provider(&self, _provider: CompletionProvider) {}

    /// Calls `listener` with raw terminal input before the screen sees it. The listener returns
    /// true to consume the input. Dropping the guard removes the listener.
    fn on_terminal_input(&self, _listener: InputListener) -> InputSubscription {
        InputSubscription::default()
    }
}

/// Receives raw terminal input; returns true to consume it.
pub type InputListener = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Keeps an [`InputListener`] until it is dropped.
#[derive(Default)]
#[must_use = "dropping it removes the listener"]
pub struct InputSubscription(Option<Box<dyn FnOnce() + Send>>);

impl InputSubscription {
    /// Calls `remove` when the subscription is dropped.
    pub fn new(remove: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(remove)))
    }
}

impl Drop for InputSubscription {
    fn drop(&mut self) {
        if let Some(remove) = self.0.take() {
            remove();
        }
    }
}

impl std::fmt::Debug for InputSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InputSubscription")
    }
}

/// A dialog that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields say it.
pub enum Dialog {
    /// A choice among several options.
    Select { title: String, options: Vec<String> },
    /// A yes-or-no question.
    Confirm { title: String, message: String },
    /// A line of text.
    Input { title: String, placeholder: Option<String> },
    /// Several lines of text.
    Editor { title: String, prefill: Option<String> },
}

impl Dialog {
    /// Returns the kind of the dialog, as events and protocols name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Select { .. } => "select",
            Self::Confirm { .. } => "confirm",
            Self::Input { .. } => "input",
            Self::Editor { .. } => "editor",
        }
    }

    /// Returns the title of the dialog.
    pub fn title(&self) -> &str {
        match self {
            Self::Select { title, .. }
            | Self::Confirm { title, .. }
            | Self::Input { title, .. }
            | Self::Editor { title, .. } => title,
        }
    }
}

/// The answer to a [`Dialog`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialogAnswer {
    /// The selected option or the text.
    Text(String),
    /// The answer to a yes-or-no dialog.
    Confirmed(bool),
}

impl DialogAnswer {
    /// Returns the text, if the answer is one.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Confirmed(_) => None,
        }
    }
}

/// Limits of a dialog.
#[derive(Debug, Clone, Default)]
pub struct DialogOptions {
    /// The dialog closes without an answer after this time.
    pub timeout: Option<Duration>,
    /// The dialog closes without an answer when this token is cancelled.
    pub cancel: Option<CancelToken>,
}

/// A change of what is shown, without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields say it.
pub enum UiUpdate {
    Notify {
        message: String,
        kind: NotifyKind,
    },
    /// Sets a text in the status line; `None` removes it.
    SetStatus {
        key: String,
        text: Option<String>,
    },
    /// Sets lines beside the editor; `None` removes them.
    SetWidget {
        key: String,
        lines: Option<Vec<String>>,
        placement: WidgetPlacement,
    },
    SetTitle {
        title: String,
    },
    SetEditorText {
        text: String,
    },
    PasteToEditor {
        text: String,
    },
    /// Sets the text beside the spinner; `None` restores the built-in one.
    SetWorkingMessage {
        message: Option<String>,
    },
    SetWorkingVisible {
        visible: bool,
    },
    /// Sets the frames of the spinner; `None` restores the built-in ones.
    SetWorkingIndicator {
        frames: Option<Vec<String>>,
    },
    SetHiddenThinkingLabel {
        label: Option<String>,
    },
    SetToolsExpanded {
        expanded: bool,
    },
}

/// Severity of a notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names say it.
pub enum NotifyKind {
    #[default]
    Info,
    Warning,
    Error,
}

impl NotifyKind {
    /// Returns the name used in protocols.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Position of a widget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum WidgetPlacement {
    #[default]
    AboveEditor,
    BelowEditor,
}

/// A theme: its name and the escape sequences of its colors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theme {
    /// Name of the theme.
    pub name: String,
    /// Escape sequence that begins each color, by the color's name; empty without a screen.
    pub foreground: std::collections::BTreeMap<String, String>,
    /// Escape sequence that begins each background, by its name; empty without a screen.
    pub background: std::collections::BTreeMap<String, String>,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            name: "system".to_owned(),
            foreground: Default::default(),
            background: Default::default(),
        }
    }
}

impl Theme {
    /// Colors a text; a color that the theme does not define leaves it plain.
    pub fn fg(&self, color: &str, text: &str) -> String {
        match self.foreground.get(color) {
            Some(start) => format!("{start}{text}\u{1b}[39m"),
            None => text.to_owned(),
        }
    }

    /// Colors the background of a text; a color that the theme does not define leaves it plain.
    pub fn bg(&self, color: &str, text: &str) -> String {
        match self.background.get(color) {
            Some(start) => format!("{start}{text}\u{1b}[49m"),
            None => text.to_owned(),
        }
    }
}

/// A theme could not be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ThemeError(pub String);

/// The user interface of a program without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUi;

impl Ui for NoUi {}

impl dyn Ui + '_ {
    /// Shows a message.
    pub fn notify(&self, message: impl Into<String>, kind: NotifyKind) {
        self.update(UiUpdate::Notify { message: message.into(), kind });
    }
}
