//! The user interface as extensions see it: dialogs, updates, components and state, as data.
//!
//! [`Ui`] is implemented by screens, by RPC mode and by [`NoUi`]. Every method has a default that
//! is right where no user is present: dialogs resolve to nothing, updates are dropped.

mod approve;
mod component;
mod handle;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_protocol::CancelToken;
use serde::Serialize;
use serde_json::Value;

pub(crate) use approve::UiApprover;
use approve::approve_with_dialogs;
pub use component::{
    Component, ComponentFactory, ComponentHandle, ComponentMessage, ComponentSlot, CustomOptions,
};
pub use handle::ExtensionUi;
pub(crate) use handle::{DialogCounter, EmitEvent};

use super::registry::{CompletionProvider, CompletionRequest, Suggestions};
use crate::approval::{ApprovalDecision, ApprovalRequest};

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

    /// Returns a number that changes with the theme.
    fn theme_generation(&self) -> u64 {
        0
    }

    /// Returns columns and rows of the terminal; `None` if components cannot be shown.
    fn terminal_size(&self) -> Option<(usize, usize)> {
        None
    }

    /// Returns what the footer shows besides the session.
    fn footer_data(&self) -> FooterData {
        FooterData::default()
    }

    /// Returns the keys of all actions, by the name of the action.
    fn keybindings(&self) -> BTreeMap<String, Vec<String>> {
        BTreeMap::new()
    }

    /// Gives the terminal to another program. Returns when the terminal is free.
    fn suspend(&self) {}

    /// Takes the terminal back.
    fn resume(&self) {}

    /// Draws again what renderers of extensions drew.
    fn redraw_rendered(&self) {}

    /// Selects a theme.
    fn set_theme(&self, _name: &str) -> Result<(), ThemeError> {
        Err(ThemeError("UI not available".to_owned()))
    }

    /// Returns the completions of the screen itself, without those of extensions.
    fn suggestions(&self, _request: CompletionRequest) -> BoxFuture<'_, Option<Suggestions>> {
        Box::pin(std::future::ready(None))
    }

    /// Adds a source of completions for the editor. It is asked before the screen's own.
    fn add_completion_provider(&self, _provider: CompletionProvider) {}

    /// Calls `listener` with raw terminal input before the screen sees it. Dropping the guard
    /// removes the listener.
    fn on_terminal_input(&self, _listener: InputListener) -> InputSubscription {
        InputSubscription::default()
    }
}

/// Receives raw terminal input.
pub type InputListener = Arc<dyn Fn(&str) -> InputDecision + Send + Sync>;

/// The decision of an [`InputListener`] about raw terminal input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InputDecision {
    /// The input goes on.
    #[default]
    Pass,
    /// The input ends here.
    Consume,
    /// Other input goes on instead.
    Replace(String),
}

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
    /// Shows a message; without a kind it is an information.
    Notify {
        message: String,
        kind: Option<NotifyKind>,
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
        /// Above the editor if absent.
        placement: Option<WidgetPlacement>,
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
        interval_ms: Option<u64>,
    },
    SetHiddenThinkingLabel {
        label: Option<String>,
    },
    SetToolsExpanded {
        expanded: bool,
    },
    /// Offers more themes: files, or directories with files.
    AddThemes {
        paths: Vec<PathBuf>,
    },
    /// Removes everything that extensions have put on the screen: their session ends.
    Reset,
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
    /// File of the theme; `None` for a built-in one.
    pub path: Option<PathBuf>,
    /// The theme is made for a light background.
    pub is_light: bool,
    /// Escape sequence that begins each color, by the color's name; empty without a screen.
    pub foreground: BTreeMap<String, String>,
    /// Escape sequence that begins each background, by its name; empty without a screen.
    pub background: BTreeMap<String, String>,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            name: "system".to_owned(),
            path: None,
            is_light: false,
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

/// Content of the footer besides the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FooterData {
    /// Branch of the repository, `detached` without one; `None` outside of a repository.
    pub branch: Option<String>,
    /// Texts that extensions set with [`UiUpdate::SetStatus`], by key.
    pub statuses: BTreeMap<String, String>,
    /// Number of providers that can be used.
    pub available_providers: usize,
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
        self.update(UiUpdate::Notify { message: message.into(), kind: Some(kind) });
    }
}
