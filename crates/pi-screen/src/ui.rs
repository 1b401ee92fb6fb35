//! The user interface as extensions and the guard see it. Requests go to the event loop through a
//! channel; what they may read at any time is in [`Shared`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, mpsc as blocking};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_coding_agent::extension::{
    CompletionProvider, CompletionRequest, ComponentFactory, ComponentSlot, CustomOptions, Dialog,
    DialogAnswer, FooterData, InputListener, InputSubscription, Suggestions, Theme, ThemeError, Ui,
    UiUpdate,
};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Time within which the screen gives the terminal away.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(2);

/// A request to the screen.
pub(super) enum UiRequest {
    /// Shows a dialog. It closes when the receiver of the answer is gone.
    Dialog {
        dialog: Dialog,
        timeout: Option<Duration>,
        answer: oneshot::Sender<Option<DialogAnswer>>,
    },
    /// Asks whether an action may run. The panel closes when the receiver of the answer is gone.
    Approve {
        request: Box<ApprovalRequest>,
        answer: oneshot::Sender<Option<ApprovalDecision>>,
    },
    Update(UiUpdate),
    Custom {
        factory: ComponentFactory,
        options: CustomOptions,
        answer: oneshot::Sender<Option<Value>>,
    },
    Mount {
        slot: ComponentSlot,
        factory: Option<ComponentFactory>,
    },
    SelectTheme(String),
    AddCompletions(CompletionProvider),
    /// Computes the screen's own completions.
    Complete {
        request: CompletionRequest,
        answer: oneshot::Sender<Option<Suggestions>>,
    },
    /// Draws again what may look different now, such as code whose grammar was loaded.
    Redraw,
    /// Draws again what renderers of extensions drew.
    RedrawRendered,
    /// Gives the terminal to another program, and confirms that.
    Suspend(blocking::Sender<()>),
    /// Takes the terminal back.
    Resume,
}

/// The state that extensions may read at any time.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) editor_text: String,
    pub(super) has_editor_component: bool,
    pub(super) tools_expanded: bool,
    pub(super) theme: Theme,
    pub(super) theme_generation: u64,
    /// Columns and rows of the terminal.
    pub(super) size: (usize, usize),
    pub(super) footer: FooterData,
    /// Keys of the actions, by action.
    pub(super) keys: BTreeMap<String, Vec<String>>,
    /// All themes, by name.
    pub(super) themes: Vec<Theme>,
    pub(super) listeners: Vec<(u64, InputListener)>,
    next_listener: u64,
}

/// The user interface of the screen.
#[derive(Clone)]
pub(super) struct ScreenUi {
    // Unbounded: dialogs wait for their answer, and updates are paced by extensions.
    requests: mpsc::UnboundedSender<UiRequest>,
    shared: Arc<Mutex<Shared>>,
}

impl ScreenUi {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<UiRequest>) {
        let (requests, receiver) = mpsc::unbounded_channel();
        (Self { requests, shared: Arc::default() }, receiver)
    }

    /// Returns the state that extensions may read.
    pub(super) fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }

    /// Sends a request.
    pub(super) fn send(&self, request: UiRequest) {
        // A screen that is gone shows nothing.
        let _ = self.requests.send(request);
    }
}

impl Ui for ScreenUi {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(
        &self,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        let (answer, receiver) = oneshot::channel();
        self.send(UiRequest::Dialog { dialog, timeout, answer });
        Box::pin(async move { receiver.await.ok().flatten() })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        let (answer, receiver) = oneshot::channel();
        self.send(UiRequest::Approve { request: Box::new(request.clone()), answer });
        Box::pin(async move {
            let decision = receiver.await.ok().flatten();
            decision.unwrap_or(ApprovalDecision::Deny { reason: None })
        })
    }

    fn update(&self, update: UiUpdate) {
        self.send(UiRequest::Update(update));
    }

    fn custom(
        &self,
        factory: ComponentFactory,
        options: CustomOptions,
    ) -> BoxFuture<'_, Option<Value>> {
        let (answer, receiver) = oneshot::channel();
        self.send(UiRequest::Custom { factory, options, answer });
        Box::pin(async move { receiver.await.ok().flatten() })
    }

    fn mount(&self, slot: ComponentSlot, factory: Option<ComponentFactory>) {
        self.send(UiRequest::Mount { slot, factory });
    }

    fn has_editor_component(&self) -> bool {
        self.shared().has_editor_component
    }

    fn editor_text(&self) -> String {
        self.shared().editor_text.clone()
    }

    fn tools_expanded(&self) -> bool {
        self.shared().tools_expanded
    }

    fn theme(&self) -> Theme {
        self.shared().theme.clone()
    }

    fn themes(&self) -> Vec<String> {
        self.shared().themes.iter().map(|theme| theme.name.clone()).collect()
    }

    fn find_theme(&self, name: &str) -> Option<Theme> {
        self.shared().themes.iter().find(|theme| theme.name == name).cloned()
    }

    fn set_theme(&self, name: &str) -> Result<(), ThemeError> {
        if self.find_theme(name).is_none() {
            return Err(ThemeError(format!("there is no theme `{name}`")));
        }
        self.send(UiRequest::SelectTheme(name.to_owned()));
        Ok(())
    }

    fn theme_generation(&self) -> u64 {
        self.shared().theme_generation
    }

    fn terminal_size(&self) -> Option<(usize, usize)> {
        Some(self.shared().size)
    }

    fn footer_data(&self) -> FooterData {
        self.shared().footer.clone()
    }

    fn keybindings(&self) -> BTreeMap<String, Vec<String>> {
        self.shared().keys.clone()
    }

    fn redraw_rendered(&self) {
        self.send(UiRequest::RedrawRendered);
    }

    fn suspend(&self) {
        let (confirm, suspended) = blocking::channel();
        self.send(UiRequest::Suspend(confirm));
        // A screen that is gone needs not be waited for.
        let _ = suspended.recv_timeout(SUSPEND_TIMEOUT);
    }

    fn resume(&self) {
        self.send(UiRequest::Resume);
    }

    fn suggestions(&self, request: CompletionRequest) -> BoxFuture<'_, Option<Suggestions>> {
        let (answer, receiver) = oneshot::channel();
        self.send(UiRequest::Complete { request, answer });
        Box::pin(async move { receiver.await.ok().flatten() })
    }

    fn add_completion_provider(&self, provider: CompletionProvider) {
        self.send(UiRequest::AddCompletions(provider));
    }

    fn on_terminal_input(&self, listener: InputListener) -> InputSubscription {
        let id = {
            let mut shared = self.shared();
            shared.next_listener += 1;
            let id = shared.next_listener;
            shared.listeners.push((id, listener));
            id
        };
        let ui = self.clone();
        InputSubscription::new(move || ui.shared().listeners.retain(|(other, _)| *other != id))
    }
}
