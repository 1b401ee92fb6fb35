//! The user interface as one extension uses it: dialogs with limits, and events around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_agent::BoxFuture;
use serde_json::Value;

use super::{
    ComponentFactory, ComponentSlot, CustomOptions, Dialog, DialogAnswer, DialogOptions,
    NotifyKind, Theme, Ui, UiUpdate, WidgetPlacement,
};
use crate::event::SessionEvent;

/// Counts the dialogs that are open, and those that ever were.
#[derive(Debug, Clone, Default)]
pub(crate) struct DialogCounter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    open: AtomicUsize,
    opened: AtomicUsize,
}

impl DialogCounter {
    fn begin(&self) -> OpenDialog {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        OpenDialog {
            counter: self.clone(),
            outermost: self.0.open.fetch_add(1, Ordering::Relaxed) == 0,
        }
    }

    /// Returns true while a dialog is open.
    pub(crate) fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of dialogs so far.
    pub(crate) fn opened(&self) -> usize {
        self.0.opened.load(Ordering::Relaxed)
    }
}

/// A dialog is open until this is dropped.
struct OpenDialog {
    counter: DialogCounter,
    outermost: bool,
}

impl Drop for OpenDialog {
    fn drop(&mut self) {
        self.counter.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends an event to the session, if it is still alive.
pub(crate) type EmitEvent = Arc<dyn Fn(SessionEvent) -> BoxFuture<'static, ()> + Send + Sync>;

/// The user interface as one extension uses it.
#[derive(Clone)]
pub struct ExtensionUi {
    ui: Arc<dyn Ui>,
    dialogs: DialogCounter,
    emit: Option<EmitEvent>,
}

impl ExtensionUi {
    pub(crate) fn new(ui: Arc<dyn Ui>, dialogs: DialogCounter, emit: Option<EmitEvent>) -> Self {
        Self { ui, dialogs, emit }
    }

    /// Returns the interface itself, for what has no method here.
    pub fn interface(&self) -> &Arc<dyn Ui> {
        &self.ui
    }

    /// Returns true if a user can answer dialogs.
    pub fn is_present(&self) -> bool {
        self.ui.is_present()
    }

    /// Shows a dialog within limits. `None` if it was closed, cancelled or timed out.
    pub async fn dialog(&self, dialog: Dialog, options: DialogOptions) -> Option<DialogAnswer> {
        if options.cancel.as_ref().is_some_and(pi_protocol::CancelToken::is_cancelled) {
            return None;
        }
        let (kind, title) = (dialog.kind(), dialog.title().to_owned());
        self.prompting(kind, Some(title), async {
            let cancelled = async {
                match &options.cancel {
                    Some(cancel) => cancel.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let timed_out = async {
                match options.timeout {
                    Some(timeout) => tokio::time::sleep(timeout).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancelled => None,
                answer = self.ui.dialog(dialog, options.timeout) => answer,
                () = timed_out => None,
            }
        })
        .await
    }

    /// Emits `ui_prompt_start` and `ui_prompt_end` around the outermost dialog.
    async fn prompting<T>(
        &self,
        kind: &'static str,
        title: Option<String>,
        shown: impl Future<Output = T>,
    ) -> T {
        let open = self.dialogs.begin();
        let Some(emit) = self.emit.as_ref().filter(|_| open.outermost && self.is_present()) else {
            return shown.await;
        };
        const REASON: &str = "ui_prompt";
        let started = SessionEvent::UiPromptStart { reason: REASON, kind, title: title.clone() };
        // The dialog is out before extensions hear of it, and does not wait for them.
        let (answer, ()) = tokio::join!(shown, emit(started));
        drop(open);
        emit(SessionEvent::UiPromptEnd { reason: REASON, kind, title }).await;
        answer
    }

    /// Lets the user select one of several options.
    pub async fn select<S: Into<String>>(
        &self,
        title: impl Into<String>,
        options: impl IntoIterator<Item = S>,
    ) -> Option<String> {
        let options = options.into_iter().map(Into::into).collect();
        let dialog = Dialog::Select { title: title.into(), options };
        self.dialog(dialog, DialogOptions::default()).await?.into_text()
    }

    /// Asks a yes-or-no question. No if no user answers.
    pub async fn confirm(&self, title: impl Into<String>, message: impl Into<String>) -> bool {
        let dialog = Dialog::Confirm { title: title.into(), message: message.into() };
        let answer = self.dialog(dialog, DialogOptions::default()).await;
        answer == Some(DialogAnswer::Confirmed(true))
    }

    /// Asks for one line of text.
    pub async fn input(
        &self,
        title: impl Into<String>,
        placeholder: Option<&str>,
    ) -> Option<String> {
        let dialog =
            Dialog::Input { title: title.into(), placeholder: placeholder.map(str::to_owned) };
        self.dialog(dialog, DialogOptions::default()).await?.into_text()
    }

    /// Asks for several lines of text.
    pub async fn editor(&self, title: impl Into<String>, prefill: Option<&str>) -> Option<String> {
        let dialog = Dialog::Editor { title: title.into(), prefill: prefill.map(str::to_owned) };
        self.dialog(dialog, DialogOptions::default()).await?.into_text()
    }

    /// Shows a component that takes the keyboard until it is done, and returns its result.
    pub async fn custom(&self, factory: ComponentFactory, options: CustomOptions) -> Option<Value> {
        self.prompting("custom", None, self.ui.custom(factory, options)).await
    }

    /// Shows a message.
    pub fn notify(&self, message: impl Into<String>, kind: NotifyKind) {
        self.ui.notify(message, kind);
    }

    /// Sets a text in the status line; `None` removes it.
    pub fn set_status(&self, key: &str, text: Option<&str>) {
        let (key, text) = (key.to_owned(), text.map(str::to_owned));
        self.ui.update(UiUpdate::SetStatus { key, text });
    }

    /// Sets lines beside the editor; `None` removes them.
    pub fn set_widget(&self, key: &str, lines: Option<Vec<String>>, placement: WidgetPlacement) {
        let placement = (placement != WidgetPlacement::default()).then_some(placement);
        self.ui.update(UiUpdate::SetWidget { key: key.to_owned(), lines, placement });
    }

    /// Puts a component into a slot of the screen; `None` restores the built-in one.
    pub fn mount(&self, slot: ComponentSlot, factory: Option<ComponentFactory>) {
        self.ui.mount(slot, factory);
    }

    /// Returns the current theme.
    pub fn theme(&self) -> Theme {
        self.ui.theme()
    }
}

impl std::fmt::Debug for ExtensionUi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExtensionUi").field("present", &self.is_present()).finish_non_exhaustive()
    }
}
