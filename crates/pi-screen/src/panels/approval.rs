//! The question whether an action may run: what it is, why it is asked, and how far a yes reaches.
//!
//! Nothing that was not shown can be approved: as long as lines are below, only a refusal counts.
//! `content` lays the request out, this file handles keys.

mod content;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::{InputEvent, InputLine, Line, LineCache, Token, View};
use tokio::sync::oneshot;

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, framed, indented, inner};
use super::scroll::Scroll;

/// The time before keys count. Who types while the question appears has not read it.
const UNREAD: Duration = Duration::from_millis(500);

/// Rows of the screen that the panel leaves to the footer and the line above it.
const OTHER_ROWS: usize = 4;
/// Least rows for the description with one row for each choice. With fewer, the choices share a line.
const ROOMY: usize = 8;

/// The question whether an action may run.
pub(crate) struct ApprovalPanel {
    request: ApprovalRequest,
    choices: Vec<Choice>,
    selected: usize,
    /// The line for a reason, while one is given.
    reason: Option<InputLine>,
    scroll: Scroll,
    scroll_keys: String,
    hints: Hints,
    reason_hints: Hints,
    /// The first frame.
    shown: Option<Instant>,
    answer: Option<oneshot::Sender<Option<ApprovalDecision>>>,
    /// The description, which may be long and depends only on the width; also without empty lines
    /// between its parts.
    description: LineCache,
    compact: LineCache,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Once,
    Session,
    Always,
    No,
    NoWithReason,
}

impl Choice {
    fn approves(self) -> bool {
        matches!(self, Self::Once | Self::Session | Self::Always)
    }

    /// Returns the key that chooses it, besides its number.
    fn key(self) -> char {
        match self {
            Self::Once => 'y',
            Self::Session => 's',
            Self::Always => 'a',
            Self::No => 'n',
            Self::NoWithReason => 'r',
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Once => "Yes, once",
            Self::Session => "Yes, for this session",
            Self::Always => "Yes, always",
            Self::No => "No",
            Self::NoWithReason => "No, and give a reason",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::No => "no",
            Self::NoWithReason => "why",
        }
    }
}

impl ApprovalPanel {
    pub(crate) fn new(
        request: ApprovalRequest,
        answer: oneshot::Sender<Option<ApprovalDecision>>,
        keymap: &Keymap,
    ) -> Self {
        let mut choices = vec![Choice::Once];
        if !request.remembered.is_empty() {
            choices.push(Choice::Session);
        }
        if request.rule.is_some() {
            choices.push(Choice::Always);
        }
        choices.extend([Choice::No, Choice::NoWithReason]);
        // Nothing is selected that approves.
        let selected = choices.iter().position(|choice| !choice.approves()).unwrap_or_default();
        let (up, down) = (keymap.label("tui.select.pageUp"), keymap.label("tui.select.pageDown"));
        let hints =
            [("↑↓", "navigate"), ("tui.select.confirm", "select"), ("tui.select.cancel", "no")];
        let reason_hints = [("tui.input.submit", "deny"), ("tui.select.cancel", "back")];
        Self {
            request,
            choices,
            selected,
            reason: None,
            scroll: Scroll::default(),
            scroll_keys: format!("{up}/{down}"),
            hints: Hints::new(keymap, &hints),
            reason_hints: Hints::new(keymap, &reason_hints),
            shown: None,
            answer: Some(answer),
            description: LineCache::default(),
            compact: LineCache::default(),
        }
    }

    fn choose(&mut self, choice: Choice) -> PanelEvent {
        if choice.approves() && !self.scroll.is_read() {
            // The rest comes first.
            return PanelEvent::Changed;
        }
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
        let title = content::title(&self.request, inside);
        let most = view.rows.saturating_sub(OTHER_ROWS).max(4);
        let request = &self.request;
        let description =
            self.description.get(inside, || content::description(request, false, inside));
        let compact = self.compact.get(inside, || content::description(request, true, inside));
        let choices_in_line =
            |is_read| content::choices_in_line(&self.choices, self.selected, is_read, inside);
        let answers = match self.reason {
            Some(_) => (2, 2),
            None => (self.choices.len(), choices_in_line(true).len()),
        };
        // Borders, empty lines and hints.
        let frame = 2 + 3 + self.hints.lines(inside).len();
        let roomy = most.saturating_sub(frame + title.len() + answers.0);
        let small = most.saturating_sub(title.len() + answers.1);
        // The small form is for what it shows at once, and for small screens.
        let is_roomy = roomy >= description.len() || roomy >= ROOMY && small < compact.len();
        let rows = if is_roomy { roomy } else { small };
        let has_room = is_roomy || small >= description.len();
        let description = if has_room { description } else { compact };
        let mut body = title;
        if is_roomy {
            body.push(Line::new());
        }
        body.extend(self.scroll.visible(&description, rows, &self.scroll_keys, inside));
        if is_roomy {
            body.push(Line::new());
        }
        let is_read = self.scroll.is_read();
        match &mut self.reason {
            Some(line) => {
                let title = "What should the agent do instead?";
                body.push(Line::styled(title, inside.theme.fg(Token::Accent)));
                body.push(line.line(inside));
            }
            None if is_roomy => {
                body.extend(content::choices(&self.choices, self.selected, is_read, inside));
            }
            None => body.extend(choices_in_line(is_read)),
        }
        if !is_roomy {
            return indented(&body, view).collect();
        }
        body.push(Line::new());
        let hints = if self.reason.is_some() { &self.reason_hints } else { &self.hints };
        body.extend(hints.lines(inside));
        framed(&body, view)
    }

    /// Returns the choice that a key means: its letter or its number.
    fn choice_of(&self, input: &Input) -> Option<Choice> {
        let Input::Key(key) = input else { return None };
        let typed = typed(key)?;
        let number = typed.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
        let mut choices = self.choices.iter().enumerate();
        let is_meant =
            |(at, choice): &(usize, &Choice)| choice.key() == typed || number == Some(at + 1);
        choices.find(is_meant).map(|(_, choice)| *choice)
    }

    fn move_by(&mut self, forward: bool) -> PanelEvent {
        let count = self.choices.len();
        let step = if forward { 1 } else { count - 1 };
        self.selected = (self.selected + step) % count;
        PanelEvent::Changed
    }
}

/// Returns the character that a key types.
fn typed(key: &Key) -> Option<char> {
    let mut characters = key.text.as_deref()?.chars();
    characters.next().filter(|_| characters.next().is_none())
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
        if let Some(choice) = self.choice_of(input) {
            return self.choose(choice);
        }
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        // The choices may stand side by side.
        if keymap.is(key, "tui.select.up") || key.is("left") || typed(key) == Some('k') {
            self.move_by(false)
        } else if keymap.is(key, "tui.select.down") || key.is("right") || typed(key) == Some('j') {
            self.move_by(true)
        } else if keymap.is(key, "tui.select.confirm") {
            match self.choices.get(self.selected) {
                Some(choice) => self.choose(*choice),
                None => PanelEvent::Ignored,
            }
        } else if keymap.is(key, "tui.select.cancel") {
            self.close(ApprovalDecision::Deny { reason: None })
        } else {
            PanelEvent::Ignored
        }
    }
}
