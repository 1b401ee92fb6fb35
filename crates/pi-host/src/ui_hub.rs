//! The user interface of a session with any number of clients.
//!
//! Clients are attached and detached at any time. A question reaches all of them, also those that
//! come while it is open. The first answer wins, the dialogs of the others close, they are told who
//! answered, and a [`Recorder`] notes it. What only one client can do, such as showing a component,
//! is done by the newest client with a screen.

mod question;
mod sticky;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_coding_agent::extension::{
    CompletionProvider, CompletionRequest, ComponentFactory, ComponentSlot, CustomOptions, Dialog,
    DialogAnswer, FooterData, InputListener, InputSubscription, NotifyKind, Suggestions, Theme,
    ThemeError, Ui, UiUpdate,
};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use serde_json::Value;
use tokio::sync::watch;

pub use question::{Answered, OpenQuestion, QuestionKind};
use question::{Asked, Questions};
use sticky::Sticky;

/// What happens to a question while no client is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// The question is declined at once.
    Decline,
    /// The question stays open until a client answers it. Time decides nothing.
    Wait,
}

/// Notes who answered a question.
pub type Recorder = Arc<dyn Fn(&Answered) + Send + Sync>;

/// The user interface of one session. Clones are the same interface.
#[derive(Clone)]
pub struct UiHub(Arc<Shared>);

struct Shared {
    absence: Absence,
    state: Mutex<State>,
    /// Changes with the list of clients.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    next: u64,
    clients: Vec<Client>,
    sticky: Sticky,
    questions: Questions,
    recorder: Option<Recorder>,
}

#[derive(Clone)]
struct Client {
    id: u64,
    name: Option<String>,
    ui: Arc<dyn Ui>,
    closes: Option<Recorder>,
}

/// A client that attaches.
pub struct NewClient {
    /// Name under which the answers of the client are recorded; without one they are not.
    pub name: Option<String>,
    /// The user of the client.
    pub ui: Arc<dyn Ui>,
    /// Called when another client has answered, before the dialog of this one closes. Without it,
    /// the user gets a notice.
    pub closes: Option<Recorder>,
}

impl NewClient {
    /// Creates a client whose user gets a notice when another client has answered.
    pub fn new(name: Option<String>, ui: Arc<dyn Ui>) -> Self {
        Self { name, ui, closes: None }
    }

    /// Sets the function that is called when another client has answered.
    #[must_use]
    pub fn closes(mut self, closes: Recorder) -> Self {
        self.closes = Some(closes);
        self
    }
}

impl std::fmt::Debug for NewClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewClient").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A client of a hub, until it is dropped.
#[must_use = "dropping it detaches the client"]
pub struct Attachment {
    hub: UiHub,
    id: u64,
}

impl Attachment {
    /// Detaches the client. Its open dialogs close without an answer.
    pub fn detach(self) {}
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.hub.state().clients.retain(|client| client.id != self.id);
        self.hub.signal();
    }
}

impl std::fmt::Debug for Attachment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Attachment").field(&self.id).finish()
    }
}

impl UiHub {
    /// Creates a hub without clients.
    pub fn new(absence: Absence) -> Self {
        let changed = watch::Sender::new(0);
        Self(Arc::new(Shared { absence, state: Mutex::default(), changed }))
    }

    /// Attaches a client. It gets what extensions show at the moment, and every open question.
    pub fn attach(&self, client: NewClient) -> Attachment {
        let (client, shown) = {
            let mut state = self.state();
            state.next += 1;
            let NewClient { name, ui, closes } = client;
            let client = Client { id: state.next, name, ui, closes };
            state.clients.push(client.clone());
            (client, state.sticky.updates())
        };
        for update in shown {
            client.ui.update(update);
        }
        self.signal();
        Attachment { hub: self.clone(), id: client.id }
    }

    /// Returns the number of attached clients.
    pub fn clients(&self) -> usize {
        self.state().clients.len()
    }

    /// Returns the questions that wait for an answer, oldest first.
    pub fn open_questions(&self) -> Vec<OpenQuestion> {
        self.state().questions.list()
    }

    /// Sets the function that notes who answered.
    pub fn set_recorder(&self, recorder: Recorder) {
        self.state().recorder = Some(recorder);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    fn signal(&self) {
        self.0.changed.send_modify(|generation| *generation += 1);
    }

    /// Returns the clients whose users can answer.
    fn present(&self) -> Vec<Client> {
        let clients = self.state().clients.clone();
        clients.into_iter().filter(|client| client.ui.is_present()).collect()
    }

    /// Returns the client that does what only one can do: the newest with a screen, or the newest.
    fn primary(&self) -> Option<Arc<dyn Ui>> {
        let clients = self.state().clients.clone();
        let screen = clients.iter().rev().find(|client| client.ui.terminal_size().is_some());
        screen.or(clients.last()).map(|client| Arc::clone(&client.ui))
    }

    /// Calls the primary client; `fallback` if no client is attached.
    fn with_primary<T>(&self, fallback: T, call: impl FnOnce(&dyn Ui) -> T) -> T {
        self.primary().map_or(fallback, |ui| call(&*ui))
    }

    /// Asks all clients and returns the first answer; `declined` if there is no client to ask.
    async fn ask<T: Send + 'static>(
        &self,
        question: OpenQuestion,
        declined: impl FnOnce() -> T,
        show: impl Fn(Arc<dyn Ui>) -> BoxFuture<'static, T>,
        describe: impl FnOnce(&T) -> String,
    ) -> T {
        let open = self.state().questions.open(question.clone());
        let _closed = Closed { hub: self, open };
        let mut changed = self.0.changed.subscribe();
        let mut asked = Asked::default();
        let (by, answer) = loop {
            changed.mark_unchanged();
            let present = self.present();
            if present.is_empty() && self.0.absence == Absence::Decline {
                return declined();
            }
            asked.keep(|id| present.iter().any(|client| client.id == id));
            for client in present {
                if !asked.has(client.id) {
                    asked.add(client.id, show(Arc::clone(&client.ui)));
                }
            }
            tokio::select! {
                answer = asked.first() => break answer,
                // The sender lives as long as `self`.
                _ = changed.changed() => {}
            }
        };
        self.tell(by, Answered { question, answer: describe(&answer), by: String::new() }, asked);
        answer
    }

    /// Closes the dialogs of the other clients, and tells these and the recorder who answered.
    fn tell<T>(&self, by: u64, mut answered: Answered, asked: Asked<T>) {
        let (clients, recorder) = {
            let state = self.state();
            (state.clients.clone(), state.recorder.clone())
        };
        let name = clients.iter().find(|client| client.id == by).and_then(|one| one.name.clone());
        let recorder = recorder.filter(|_| name.is_some());
        answered.by = name.unwrap_or_else(|| "another client".to_owned());
        let (told, shown): (Vec<&Client>, Vec<&Client>) =
            clients.iter().filter(|client| client.id != by).partition(|one| one.closes.is_some());
        for closes in told.iter().filter_map(|client| client.closes.as_ref()) {
            closes(&answered);
        }
        drop(asked);
        for client in shown {
            let text = format!("{} answered: {}", answered.by, answered.question.title);
            client.ui.notify(text, NotifyKind::Info);
        }
        if let Some(recorder) = recorder {
            recorder(&answered);
        }
    }
}

/// Removes a question from the list when its future ends.
struct Closed<'a> {
    hub: &'a UiHub,
    open: u64,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.hub.state().questions.close(self.open);
    }
}

impl Ui for UiHub {
    fn is_present(&self) -> bool {
        self.0.absence == Absence::Wait || !self.present().is_empty()
    }

    fn dialog(
        &self,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        let question = OpenQuestion::of_dialog(&dialog);
        Box::pin(self.ask(
            question,
            || None,
            move |ui| {
                let dialog = dialog.clone();
                Box::pin(async move { ui.dialog(dialog, timeout).await })
            },
            question::describe_answer,
        ))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        let question = OpenQuestion::of_approval(request);
        let request = Arc::new(request.clone());
        Box::pin(self.ask(
            question,
            || ApprovalDecision::Deny { reason: None },
            move |ui| {
                let request = Arc::clone(&request);
                Box::pin(async move { ui.approve(&request).await })
            },
            question::describe_decision,
        ))
    }

    fn update(&self, update: UiUpdate) {
        let clients = {
            let mut state = self.state();
            state.sticky.keep(&update);
            state.clients.clone()
        };
        for client in clients {
            client.ui.update(update.clone());
        }
    }

    fn custom(
        &self,
        factory: ComponentFactory,
        options: CustomOptions,
    ) -> BoxFuture<'_, Option<Value>> {
        let primary = self.primary();
        Box::pin(async move { primary?.custom(factory, options).await })
    }

    fn mount(&self, slot: ComponentSlot, factory: Option<ComponentFactory>) {
        self.with_primary((), |ui| ui.mount(slot, factory));
    }

    fn has_editor_component(&self) -> bool {
        self.with_primary(false, |ui| ui.has_editor_component())
    }

    fn editor_text(&self) -> String {
        self.with_primary(String::new(), |ui| ui.editor_text())
    }

    fn tools_expanded(&self) -> bool {
        self.with_primary(false, |ui| ui.tools_expanded())
    }

    fn theme(&self) -> Theme {
        self.with_primary(Theme::default(), |ui| ui.theme())
    }

    fn themes(&self) -> Vec<String> {
        self.with_primary(Vec::new(), |ui| ui.themes())
    }

    fn find_theme(&self, name: &str) -> Option<Theme> {
        self.with_primary(None, |ui| ui.find_theme(name))
    }

    fn theme_generation(&self) -> u64 {
        self.with_primary(0, |ui| ui.theme_generation())
    }

    fn terminal_size(&self) -> Option<(usize, usize)> {
        self.with_primary(None, |ui| ui.terminal_size())
    }

    fn footer_data(&self) -> FooterData {
        self.with_primary(FooterData::default(), |ui| ui.footer_data())
    }

    fn keybindings(&self) -> BTreeMap<String, Vec<String>> {
        self.with_primary(BTreeMap::new(), |ui| ui.keybindings())
    }

    fn suspend(&self) {
        self.with_primary((), |ui| ui.suspend());
    }

    fn resume(&self) {
        self.with_primary((), |ui| ui.resume());
    }

    fn redraw_rendered(&self) {
        let clients = self.state().clients.clone();
        clients.iter().for_each(|client| client.ui.redraw_rendered());
    }

    fn set_theme(&self, name: &str) -> Result<(), ThemeError> {
        let none = Err(ThemeError("UI not available".to_owned()));
        self.with_primary(none, |ui| ui.set_theme(name))
    }

    fn suggestions(&self, request: CompletionRequest) -> BoxFuture<'_, Option<Suggestions>> {
        let primary = self.primary();
        Box::pin(async move { primary?.suggestions(request).await })
    }

    fn add_completion_provider(&self, provider: CompletionProvider) {
        self.with_primary((), |ui| ui.add_completion_provider(provider));
    }

    fn on_terminal_input(&self, listener: InputListener) -> InputSubscription {
        self.with_primary(InputSubscription::default(), |ui| ui.on_terminal_input(listener))
    }
}

impl std::fmt::Debug for UiHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UiHub").field("clients", &self.clients()).finish_non_exhaustive()
    }
}
