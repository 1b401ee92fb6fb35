//! A login under way: pages to open, codes to enter, questions, progress. Escape cancels.
//!
//! The login runs in a task and reaches this panel through [`ScreenInteraction`], so the screen never
//! waits for it.

use std::sync::{Arc, Mutex};

use pi_ai::{CancelToken, HookFuture};
use pi_base::lock;
use pi_host::browser;
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{InputEvent, InputLine, Line, Span, Token, View, text};
use pi_web::oauth::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};
use tokio::sync::{Notify, oneshot};

use super::super::super::panel::{Panel, PanelEvent};
use super::super::dialog_frame::{Hints, framed, inner};
use super::super::question::title_lines;

/// The answers that are visible at once.
const ROWS: usize = 10;

/// The way from a login to the screen.
#[derive(Clone)]
pub(crate) struct ScreenInteraction {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    /// The program that opens pages; `None` if no browser is opened.
    browser: Option<String>,
}

#[derive(Default)]
struct State {
    notes: Vec<Note>,
    question: Option<Asked>,
    count: u64,
}

/// A line of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Note {
    Text(String),
    Link(String),
    Code(String),
    Progress(String),
}

/// A question without an answer yet.
struct Asked {
    id: u64,
    prompt: Prompt,
    answer: oneshot::Sender<String>,
}

impl ScreenInteraction {
    pub(crate) fn new(browser: Option<String>) -> Self {
        Self { state: Arc::default(), changed: Arc::default(), browser }
    }

    fn add(&self, notes: impl IntoIterator<Item = Note>) {
        lock(&self.state).notes.extend(notes);
        self.changed.notify_one();
    }

    fn open(&self, url: &str) {
        if let Some(program) = &self.browser {
            browser::open(program, url);
        }
    }
}

impl Interaction for ScreenInteraction {
    fn show(&self, event: LoginEvent) {
        match event {
            LoginEvent::Info(text) => self.add([Note::Text(text)]),
            LoginEvent::Progress(text) => {
                lock(&self.state).notes.retain(|note| !matches!(note, Note::Progress(_)));
                self.add([Note::Progress(text)]);
            }
            LoginEvent::AuthorizeUrl(url) => {
                self.open(&url);
                self.add([Note::Text("Sign in on this page:".to_owned()), Note::Link(url)]);
            }
            LoginEvent::DeviceCode { user_code, verification_url, complete_url, expires_in } => {
                self.open(complete_url.as_deref().unwrap_or(&verification_url));
                let minutes = expires_in.as_secs().div_ceil(60);
                self.add([
                    Note::Text("Open this page on any device:".to_owned()),
                    Note::Link(verification_url),
                    Note::Text(format!("Enter this code, which is valid for {minutes} minutes:")),
                    Note::Code(user_code),
                ]);
            }
            _ => {}
        }
    }

    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        let this = self.clone();
        Box::pin(async move {
            let (answer, receiver) = oneshot::channel();
            let id = {
                let mut state = lock(&this.state);
                state.count += 1;
                let id = state.count;
                state.question = Some(Asked { id, prompt, answer });
                id
            };
            this.changed.notify_one();
            let _closing = Closing { interaction: &this, id };
            receiver.await.map_err(|_| Cancelled)
        })
    }
}

/// Removes a question whose answer is no longer needed.
struct Closing<'a> {
    interaction: &'a ScreenInteraction,
    id: u64,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.interaction.state);
        if state.question.as_ref().is_some_and(|asked| asked.id == self.id) {
            state.question = None;
        }
        drop(state);
        self.interaction.changed.notify_one();
    }
}

/// The panel of a login.
pub(crate) struct FlowPanel {
    title: String,
    interaction: ScreenInteraction,
    cancel: CancelToken,
    field: Option<(u64, Field)>,
    hints: Hints,
}

/// The input for a question.
enum Field {
    Line { message: String, line: Box<InputLine>, default: Option<String> },
    List { message: String, list: Box<SelectList<String>> },
}

impl Field {
    fn of(prompt: &Prompt) -> Self {
        let message = prompt.message.clone();
        match &prompt.kind {
            PromptKind::Select { choices } => {
                let item =
                    |(value, label): &(String, String)| Item::new(value.clone(), label.as_str());
                let list = SelectList::new(choices.iter().map(item).collect(), ROWS);
                Self::List { message, list: Box::new(list) }
            }
            PromptKind::Secret => {
                Self::Line { message, line: Box::new(InputLine::masked()), default: None }
            }
            PromptKind::Text { default } => {
                let message = match default {
                    Some(default) => format!("{message} [{default}]"),
                    None => message,
                };
                Self::Line { message, line: Box::default(), default: default.clone() }
            }
            _ => Self::Line { message, line: Box::default(), default: None },
        }
    }
}

impl FlowPanel {
    pub(crate) fn new(
        title: String,
        interaction: ScreenInteraction,
        cancel: CancelToken,
        keymap: &Keymap,
    ) -> Self {
        let hints = [("tui.input.submit", "submit"), ("tui.select.cancel", "cancel")];
        Self { title, interaction, cancel, field: None, hints: Hints::new(keymap, &hints) }
    }

    /// Shows the question of the login, if it is a new one.
    fn take_changes(&mut self) {
        let state = lock(&self.interaction.state);
        let asked = state.question.as_ref().map(|asked| (asked.id, &asked.prompt));
        let is_same = match (&self.field, asked) {
            (Some((shown, _)), Some((id, _))) => *shown == id,
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.field = asked.map(|(id, prompt)| (id, Field::of(prompt)));
        }
    }

    fn answer(&mut self, value: String) -> PanelEvent {
        let asked = lock(&self.interaction.state).question.take();
        if let Some(asked) = asked {
            // A login that has ended needs no answer.
            let _ = asked.answer.send(value);
        }
        self.field = None;
        PanelEvent::Changed
    }
}

impl Panel for FlowPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let inside = inner(view);
        let mut body = vec![Line::new()];
        body.extend(title_lines(&self.title, None, inside));
        body.push(Line::new());
        for note in &lock(&self.interaction.state).notes {
            body.extend(text::wrap(&note.line(inside), inside.width));
        }
        match &mut self.field {
            Some((_, Field::Line { message, line, .. })) => {
                body.push(Line::new());
                body.extend(text::wrap(&Line::plain(message.as_str()), inside.width));
                body.push(line.line(inside));
            }
            Some((_, Field::List { message, list })) => {
                body.push(Line::new());
                body.extend(text::wrap(&Line::plain(message.as_str()), inside.width));
                body.extend(list.lines(inside));
            }
            None => {}
        }
        body.push(Line::new());
        body.extend(self.hints.lines(inside));
        body.push(Line::new());
        framed(&body, view)
    }

    fn update(&mut self) -> bool {
        self.take_changes();
        true
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent {
        self.take_changes();
        if let Input::Key(key) = input
            && keymap.is(key, "tui.select.cancel")
        {
            self.cancel.cancel();
            return PanelEvent::Changed;
        }
        let value = match &mut self.field {
            Some((_, Field::Line { line, default, .. })) => match line.handle(input, keymap) {
                InputEvent::Submit(text) if text.trim().is_empty() => {
                    default.clone().unwrap_or_default()
                }
                InputEvent::Submit(text) => text,
                InputEvent::Changed | InputEvent::Handled => return PanelEvent::Changed,
                _ => return PanelEvent::Ignored,
            },
            Some((_, Field::List { list, .. })) => {
                let Input::Key(key) = input else { return PanelEvent::Ignored };
                match list.handle(key, keymap) {
                    ListEvent::Confirmed => match list.selected() {
                        Some(item) => item.value.clone(),
                        None => return PanelEvent::Ignored,
                    },
                    ListEvent::Moved => return PanelEvent::Changed,
                    _ => return PanelEvent::Ignored,
                }
            }
            None => return PanelEvent::Ignored,
        };
        self.answer(value)
    }

    fn closed(&mut self) {
        self.cancel.cancel();
    }

    fn background(&self) -> Option<&Notify> {
        Some(&self.interaction.changed)
    }
}

impl Note {
    fn line(&self, view: View<'_>) -> Line {
        match self {
            Self::Text(text) => Line::plain(text.as_str()),
            Self::Progress(text) => Line::styled(text.as_str(), view.theme.fg(Token::Dim)),
            Self::Code(code) => Line::styled(code.as_str(), view.theme.fg(Token::Accent).bold()),
            Self::Link(url) => {
                let style = view.theme.fg(Token::Accent).underline();
                Line::from_spans([Span::new(url.as_str(), style).link(url.as_str())])
            }
        }
    }
}
