//! The dialogs of extensions: select, confirm, input and editor.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use pi_coding_agent::extension::{Dialog, DialogAnswer};
use pi_tui::editor::{Border, Editor, EditorEvent};
use pi_tui::input::{Input, Keymap};
use pi_tui::list::Item;
use pi_tui::{Component as _, Line, NoCompleter, Token, View};
use tokio::sync::oneshot;

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, border, indented, inner};
use super::entry::Entry;
use super::question::{Question, title_lines};

/// A dialog. It sends its answer once; closed from outside, it sends none.
pub(crate) struct DialogPanel {
    kind: Kind,
    deadline: Option<Instant>,
    /// The seconds that the last frame showed.
    shown_seconds: Option<u64>,
    answer: Option<oneshot::Sender<Option<DialogAnswer>>>,
}

enum Kind {
    Question(Box<Question<DialogAnswer>>),
    Entry(Box<Entry>),
    Editing(Box<Editing>),
}

/// Several lines of text.
struct Editing {
    title: String,
    editor: Editor,
    hints: Hints,
}

impl DialogPanel {
    pub(crate) fn new(
        dialog: Dialog,
        timeout: Option<Duration>,
        answer: oneshot::Sender<Option<DialogAnswer>>,
        keymap: &Keymap,
    ) -> Self {
        let kind = match dialog {
            Dialog::Select { title, options } => {
                let item = |text: String| Item::new(DialogAnswer::Text(text.clone()), text);
                let items = options.into_iter().map(item).collect();
                Kind::Question(Box::new(Question::new(&title, "", items, keymap)))
            }
            Dialog::Confirm { title, message } => {
                let items = [("Yes", true), ("No", false)]
                    .map(|(label, yes)| Item::new(DialogAnswer::Confirmed(yes), label));
                let question = Question::new(&title, &message, items.into(), keymap);
                let permits = |answer: &DialogAnswer| *answer == DialogAnswer::Confirmed(true);
                Kind::Question(Box::new(question.permitting(permits)))
            }
            Dialog::Input { title, placeholder } => {
                let entry = Entry::new(&title, keymap);
                Kind::Entry(Box::new(entry.placeholder(placeholder)))
            }
            Dialog::Editor { title, prefill } => {
                Kind::Editing(Box::new(Editing::new(title, prefill.as_deref(), keymap)))
            }
            // A dialog of a newer library: only its title is known.
            other => Kind::Question(Box::new(Question::new(other.title(), "", Vec::new(), keymap))),
        };
        Self {
            kind,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            shown_seconds: None,
            answer: Some(answer),
        }
    }

    fn close(&mut self, answer: Option<DialogAnswer>) -> PanelEvent {
        if let Some(sender) = self.answer.take() {
            // The caller may be gone already.
            let _ = sender.send(answer);
        }
        PanelEvent::Close(None)
    }

    /// Returns the time that is left, in seconds.
    fn seconds(&self, now: Instant) -> Option<u64> {
        let left = self.deadline?.saturating_duration_since(now);
        Some(left.as_millis().div_ceil(1000) as u64)
    }
}

impl Panel for DialogPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let seconds = self.seconds(Instant::now());
        self.shown_seconds = seconds;
        match &mut self.kind {
            Kind::Question(question) => question.lines(view, seconds),
            Kind::Entry(entry) => entry.lines(view, seconds),
            Kind::Editing(editing) => editing.lines(view, seconds),
        }
    }

    fn update(&mut self) -> bool {
        self.shown_seconds != self.seconds(Instant::now())
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent {
        let event = match &mut self.kind {
            Kind::Question(question) => question.handle(input, keymap),
            Kind::Entry(entry) => entry.handle(input, keymap).map(DialogAnswer::Text),
            Kind::Editing(editing) => editing.handle(input, keymap).map(DialogAnswer::Text),
        };
        match event {
            PanelEvent::Ignored => PanelEvent::Ignored,
            PanelEvent::Close(answer) => self.close(answer),
            _ => PanelEvent::Changed,
        }
    }

    fn next_change(&self) -> Option<Instant> {
        let (deadline, shown) = (self.deadline?, self.shown_seconds?);
        deadline.checked_sub(Duration::from_secs(shown.checked_sub(1)?))
    }
}

impl Editing {
    fn new(title: String, prefill: Option<&str>, keymap: &Keymap) -> Self {
        let mut editor = Editor::new();
        editor.set_text(prefill.unwrap_or_default());
        let hints = [
            ("tui.input.submit", "submit"),
            ("tui.input.newLine", "newline"),
            ("tui.select.cancel", "cancel"),
        ];
        Self { title, editor, hints: Hints::new(keymap, &hints) }
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        if let Input::Key(key) = input
            && keymap.is(key, "tui.select.cancel")
            && !self.editor.wants(key, keymap)
        {
            return PanelEvent::Close(None);
        }
        // The text as it is, not trimmed as for a prompt.
        let text = self.editor.text();
        match self.editor.handle(input, keymap, &mut NoCompleter) {
            EditorEvent::Submit(_) => PanelEvent::Close(Some(text)),
            EditorEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }

    fn lines(&mut self, view: View<'_>, countdown: Option<u64>) -> Vec<Line> {
        let inside = inner(view);
        let style = view.theme.fg(Token::BorderMuted);
        self.editor.set_border(Border { style, label: None });
        let mut lines = vec![border(view), Line::new()];
        let mut title = title_lines(&self.title, countdown, inside);
        for line in &mut title {
            // The title of an editor is lighter than that of a question.
            *line = Line::styled(line.text(), view.theme.fg(Token::Accent));
        }
        lines.extend(indented(&title, view));
        lines.push(Line::new());
        lines.extend(self.editor.render(view).iter().cloned());
        lines.push(Line::new());
        lines.extend(indented(&self.hints.lines(inside), view));
        lines.extend([Line::new(), border(view)]);
        lines
    }
}
