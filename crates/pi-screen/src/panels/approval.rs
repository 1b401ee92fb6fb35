//! The question whether an action may run: what it is, why it is asked, and how far a yes reaches.
//!
//! `content` lays the request out, this file handles keys.

mod content;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{InputEvent, InputLine, Line, LineCache, Token, View};
use tokio::sync::oneshot;

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, framed, inner};
use super::scroll::Scroll;

/// The time before keys count. Who types while the question appears has not read it.
const UNREAD: Duration = Duration::from_millis(500);

/// Rows of the panel and the footer besides the description and the scope.
const OTHER_ROWS: usize = 15;

/// The question whether an action may run.
pub(crate) struct ApprovalPanel {
    request: ApprovalRequest,
    options: SelectList<Choice>,
    /// The line for a reason, while one is given.
    reason: Option<InputLine>,
    scroll: Scroll,
    scroll_keys: String,
    hints: Hints,
    reason_hints: Hints,
    /// The first frame.
    shown: Option<Instant>,
    answer: Option<oneshot::Sender<Option<ApprovalDecision>>>,
    /// The description, which may be long and depends only on the width.
    description: LineCache,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Once,
    Session,
    Always,
    No,
    NoWithReason,
}

impl ApprovalPanel {
    pub(crate) fn new(
        request: ApprovalRequest,
        answer: oneshot::Sender<Option<ApprovalDecision>>,
        keymap: &Keymap,
    ) -> Self {
        let mut items = vec![Item::new(Choice::Once, "Yes, once")];
        if !request.remembered.is_empty() {
            items.push(Item::new(Choice::Session, "Yes, for this session"));
        }
        if request.rule.is_some() {
            items.push(Item::new(Choice::Always, "Yes, always"));
        }
        items.push(Item::new(Choice::No, "No"));
        items.push(Item::new(Choice::NoWithReason, "No, and give a reason"));
        let rows = items.len();
        let (up, down) = (keymap.label("tui.select.pageUp"), keymap.label("tui.select.pageDown"));
        let hints =
            [("↑↓", "navigate"), ("tui.select.confirm", "select"), ("tui.select.cancel", "no")];
        let reason_hints = [("tui.input.submit", "deny"), ("tui.select.cancel", "back")];
        Self {
            request,
            options: SelectList::new(items, rows).with_letter_keys(),
            reason: None,
            scroll: Scroll::default(),
            scroll_keys: format!("{up}/{down}"),
            hints: Hints::new(keymap, &hints),
            reason_hints: Hints::new(keymap, &reason_hints),
            shown: None,
            answer: Some(answer),
            description: LineCache::default(),
        }
    }

    fn choose(&mut self, choice: Choice) -> PanelEvent {
        let decision = match choice {
            Choice::Once => ApprovalDecision::Once,
            Choice::Session => ApprovalDecision::Session,
            Choice::Always => ApprovalDecision::Always,
            Choice::No => ApprovalDecision::Deny { reason: None },
            Choice::NoWithReason => {
                self.reason = Some(InputLine::new());
                return PanelEvent::Changed;
            }
        };
        self.close(decision)
    }

    fn close(&mut self, decision: ApprovalDecision) -> PanelEvent {
        if let Some(sender) = self.answer.take() {
            // The run may be over already.
            let _ = sender.send(Some(decision));
        }
        PanelEvent::Close(None)
    }

    fn give_reason(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent {
        let Some(line) = &mut self.reason else { return PanelEvent::Ignored };
        match line.handle(input, keymap) {
            InputEvent::Submit(reason) => {
                let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
                self.close(ApprovalDecision::Deny { reason })
            }
            InputEvent::Cancel => {
                self.reason = None;
                PanelEvent::Changed
            }
            InputEvent::Ignored => self.scrolled(input, keymap),
            _ => PanelEvent::Changed,
        }
    }

    fn scrolled(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent {
        match input {
            Input::Key(key) if self.scroll.handle(key, keymap) => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }

    /// Returns true if the user cannot have read the question yet.
    fn is_unread(&self, now: Instant) -> bool {
        self.shown.is_none_or(|shown| now.duration_since(shown) < UNREAD)
    }

    fn lines(&mut self, view: View<'_>) -> Vec<Line> {
        let inside = inner(view);
        let selected = self.options.selected().map(|item| item.value);
        let reach = match self.reason {
            Some(_) => Vec::new(),
            None => selected
                .map(|choice| content::reach(choice, &self.request, inside))
                .unwrap_or_default(),
        };
        let rows =
            view.rows.saturating_sub(OTHER_ROWS + reach.len()).clamp(3, (view.rows / 2).max(3));
        let mut body = content::title(&self.request, inside);
        body.push(Line::new());
        let request = &self.request;
        let description = self.description.get(inside, || content::description(request, inside));
        body.extend(self.scroll.visible(&description, rows, &self.scroll_keys, inside));
        body.push(Line::new());
        match &mut self.reason {
            None => {
                body.extend(self.options.lines(inside));
                body.push(Line::new());
                body.extend(reach);
                body.push(Line::new());
                body.extend(self.hints.lines(inside));
            }
            Some(line) => {
                let title = "What should the agent do instead?";
                body.push(Line::styled(title, inside.theme.fg(Token::Accent)));
                body.push(line.line(inside));
                body.push(Line::new());
                body.extend(self.reason_hints.lines(inside));
            }
        }
        framed(&body, view)
    }
}

impl Panel for ApprovalPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        self.shown.get_or_insert_with(Instant::now);
        self.lines(view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent {
        if self.is_unread(Instant::now()) {
            // Not passed on: in the editor or elsewhere the key would be as surprising.
            return PanelEvent::Changed;
        }
        if self.reason.is_some() {
            return self.give_reason(input, keymap);
        }
        if let PanelEvent::Changed = self.scrolled(input, keymap) {
            return PanelEvent::Changed;
        }
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        match self.options.handle(key, keymap) {
            ListEvent::Confirmed => match self.options.selected().map(|item| item.value) {
                Some(choice) => self.choose(choice),
                None => PanelEvent::Ignored,
            },
            ListEvent::Cancelled => self.close(ApprovalDecision::Deny { reason: None }),
            ListEvent::Moved => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }
}
