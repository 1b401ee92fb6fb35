//! The background processes of the session: their output, and ending them.

use std::sync::Arc;

use pi_base::text::line;
use pi_tools::{BackgroundId, BackgroundInfo, BackgroundProcesses, BackgroundState};
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Token, View};

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, framed, inner};
use super::frame;

/// Processes that are visible at once.
const ROWS: usize = 8;

/// The choice of the user for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Shows the output.
    Show(BackgroundId),
    /// Ends the process.
    Stop(BackgroundId),
}

/// A list of processes.
pub(crate) struct ProcessList {
    processes: Arc<BackgroundProcesses>,
    list: SelectList<BackgroundInfo>,
    hints: Hints,
}

impl ProcessList {
    pub(crate) fn new(processes: Arc<BackgroundProcesses>, keymap: &Keymap) -> Self {
        let hints = [
            ("tui.select.confirm", "shows the output"),
            ("x", "ends it"),
            ("tui.select.cancel", "back"),
        ];
        let list = SelectList::new(items(&processes), ROWS).with_columns(20, 60);
        Self { list, processes, hints: Hints::new(keymap, &hints) }
    }
}

fn items(processes: &BackgroundProcesses) -> Vec<Item<BackgroundInfo>> {
    let item = |info: BackgroundInfo| {
        let label = format!("{} {}", info.id, line(&info.command, 50));
        let state = info.state.describe();
        Item::new(info, label).description(state)
    };
    processes.list().into_iter().map(item).collect()
}

impl Panel<Answer> for ProcessList {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let inside = inner(view);
        self.list.set_rows(frame::list_rows(ROWS, view));
        let title = Line::styled("Background processes", inside.theme.fg(Token::Accent).bold());
        let mut body = vec![Line::new(), title, Line::new()];
        body.extend(self.list.lines(inside));
        body.push(Line::new());
        body.extend(self.hints.lines(inside));
        body.push(Line::new());
        framed(&body, view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        let selected = self.list.selected().map(|item| item.value.id);
        if key.is("x") {
            let is_running = |id: &BackgroundId| {
                self.processes.info(*id).is_some_and(|one| one.state == BackgroundState::Running)
            };
            return match selected.filter(is_running) {
                Some(id) => PanelEvent::Close(Some(Answer::Stop(id))),
                None => PanelEvent::Ignored,
            };
        }
        match self.list.handle(key, keymap) {
            ListEvent::Confirmed => PanelEvent::Close(selected.map(Answer::Show)),
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Moved => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }
}
