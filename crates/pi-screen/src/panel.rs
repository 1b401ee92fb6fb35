//! Panels: what replaces the editor for a while, such as the model selector or a dialog.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Instant;

use pi_tui::input::{Input, Keymap};
use pi_tui::{Line, LineCache, Lines, View};

use tokio::sync::Notify;

use super::tasks::Effect;

/// A part of the screen that replaces the editor and takes the keyboard.
///
/// `E` is what the panel answers with; a panel without answers reports through a channel. The answer
/// goes to the caller of `prelude`, or becomes an effect on the application ([`Panels::open_then`]).
///
/// Contract: the lines change only by input, with the view, or if `update` returns true; the caller
/// keeps them until then. `handle` returns at once; slow work is started by an effect.
pub(super) trait Panel<E = Infallible> {
    /// Returns the lines, borders included.
    fn render(&mut self, view: View<'_>) -> Vec<Line>;

    /// Handles a key, a paste or a click on the panel (rows and columns count from its corner).
    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<E>;

    /// Takes what work in the background has found, before a frame. Returns true if the lines
    /// change.
    fn update(&mut self) -> bool {
        false
    }

    /// Called when the panel is closed from outside, such as by the end of a dialog's time.
    fn closed(&mut self) {}

    /// Returns what is notified when work in the background has something to show. The panel takes
    /// it with its next `update`.
    fn background(&self) -> Option<&Notify> {
        None
    }

    /// Returns the time at which the panel looks different by itself.
    fn next_change(&self) -> Option<Instant> {
        None
    }
}

/// Consequence of input to a panel.
pub(super) enum PanelEvent<E = Infallible> {
    /// The input has no meaning here.
    Ignored,
    /// The panel may look different now.
    Changed,
    /// The panel closes; then the effect is applied.
    Close(Option<E>),
    /// The effect is applied and the panel stays open.
    Do(E),
}

impl<E> PanelEvent<E> {
    /// Returns the event with another answer.
    pub(super) fn map<F>(self, change: impl FnOnce(E) -> F) -> PanelEvent<F> {
        match self {
            Self::Ignored => PanelEvent::Ignored,
            Self::Changed => PanelEvent::Changed,
            Self::Close(answer) => PanelEvent::Close(answer.map(change)),
            Self::Do(answer) => PanelEvent::Do(change(answer)),
        }
    }
}

/// Identity of an open panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PanelId(u64);

/// The open panels of an application with the state `S`; the last one is shown.
pub(super) struct Panels<S> {
    next: u64,
    open: Vec<(PanelId, Box<dyn Panel<Effect<S>>>)>,
    /// Lines of the panel that is shown.
    lines: LineCache,
}

impl<S> Default for Panels<S> {
    fn default() -> Self {
        Self { next: 0, open: Vec::new(), lines: LineCache::default() }
    }
}

impl<S: 'static> Panels<S> {
    /// Opens a panel without answers.
    pub(super) fn open(&mut self, panel: impl Panel + 'static) -> PanelId {
        self.open_then(panel, |_, never| match never {})
    }

    /// Opens a panel that answers with a value; `then` is applied to each answer.
    pub(super) fn open_then<A: 'static>(
        &mut self,
        panel: impl Panel<A> + 'static,
        then: impl Fn(&mut S, A) + 'static,
    ) -> PanelId {
        self.next += 1;
        let id = PanelId(self.next);
        let panel = Answering { panel, then: Rc::new(then), answer: PhantomData };
        self.open.push((id, Box::new(panel)));
        self.lines.clear();
        id
    }

    /// Waits until work in the background of the panel that is shown has something to show.
    pub(super) async fn background(&self) {
        match self.open.last().and_then(|(_, panel)| panel.background()) {
            Some(changed) => changed.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Closes a panel, wherever it is in the stack. Returns false if it was closed already.
    pub(super) fn close(&mut self, id: PanelId) -> bool {
        let Some(at) = self.open.iter().position(|(other, _)| *other == id) else { return false };
        let (_, mut panel) = self.open.remove(at);
        self.lines.clear();
        panel.closed();
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the time at which the panel that is shown looks different by itself.
    pub(super) fn next_change(&self) -> Option<Instant> {
        self.open.last().and_then(|(_, panel)| panel.next_change())
    }

    /// Returns the lines of the panel that is shown.
    pub(super) fn render(&mut self, view: View<'_>) -> Option<Lines> {
        let (_, panel) = self.open.last_mut()?;
        if panel.update() {
            self.lines.clear();
        }
        Some(self.lines.get(view, || fitted(panel.render(view), view)))
    }

    /// Passes input to the panel that is shown.
    pub(super) fn handle(
        &mut self,
        input: &Input,
        keymap: &Keymap,
    ) -> Option<(PanelId, PanelEvent<Effect<S>>)> {
        let (id, panel) = self.open.last_mut()?;
        self.lines.clear();
        Some((*id, panel.handle(input, keymap)))
    }
}

/// Rows of the screen that are not for a panel: the footer and the last row of the transcript.
const OTHER_ROWS: usize = 3;
/// A screen with fewer rows is small.
const SMALL: usize = 24;

/// Leaves out empty lines, then borders, then the hints at the end, as far as a panel is higher than a
/// small screen: without that, its title would be above the screen.
pub(super) fn fitted(mut lines: Vec<Line>, view: View<'_>) -> Vec<Line> {
    if view.rows >= SMALL {
        return lines;
    }
    let most = view.rows.saturating_sub(OTHER_ROWS).max(1);
    let is_border = |line: &Line| {
        let text = line.text();
        let mut characters = text.trim().chars().peekable();
        characters.peek().is_some() && characters.all(|character| character == '─')
    };
    let is_empty = |line: &Line| line.caret.is_none() && line.text().trim().is_empty();
    for is_spare in [&is_empty as &dyn Fn(&Line) -> bool, &is_border] {
        for at in (0..lines.len()).rev() {
            if lines.len() > most && is_spare(&lines[at]) {
                lines.remove(at);
            }
        }
    }
    let is_needed =
        |line: &Line| line.caret.is_some() || line.text().trim().starts_with(['→', '›']);
    while lines.len() > most && lines.last().is_some_and(|line| !is_needed(line)) {
        lines.pop();
    }
    lines
}

/// A panel whose answers become effects.
struct Answering<P, A, F> {
    panel: P,
    then: Rc<F>,
    answer: PhantomData<A>,
}

impl<S, A, P, F> Panel<Effect<S>> for Answering<P, A, F>
where
    A: 'static,
    P: Panel<A>,
    F: Fn(&mut S, A) + 'static,
{
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        self.panel.render(view)
    }

    fn update(&mut self) -> bool {
        self.panel.update()
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Effect<S>> {
        let event = self.panel.handle(input, keymap);
        event.map(|answer| -> Effect<S> {
            let then = self.then.clone();
            Box::new(move |state: &mut S| then(state, answer))
        })
    }

    fn closed(&mut self) {
        self.panel.closed();
    }

    fn background(&self) -> Option<&Notify> {
        self.panel.background()
    }

    fn next_change(&self) -> Option<Instant> {
        self.panel.next_change()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_keeps_title_and_selection_on_a_small_screen() {
        let theme = pi_tui::Theme::plain();
        let texts = ["────", "", "Title", "", "→ one", "  two", "", "enter selects", "────"];
        let lines = || texts.iter().map(|text| Line::plain(*text)).collect::<Vec<_>>();
        for (rows, expected) in [
            (24, &texts[..]),
            (12, &texts[..]),
            (11, &["────", "", "Title", "", "→ one", "  two", "enter selects", "────"]),
            (8, &["────", "Title", "→ one", "  two", "enter selects"]),
            (7, &["Title", "→ one", "  two", "enter selects"]),
            (5, &["Title", "→ one"]),
            (1, &["Title", "→ one"]),
        ] {
            let view = View { width: 20, rows, theme: &theme };
            let fitted: Vec<String> = fitted(lines(), view).iter().map(Line::text).collect();
            assert_eq!(fitted, expected, "{rows}");
        }
    }
}
