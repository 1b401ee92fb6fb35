//! The selector of the thinking level.

use pi_ai::ThinkingLevel;
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{FilterList, ListEvent};
use pi_tui::{Line, Style, Token, View, text};

use super::super::panel::{Panel, PanelEvent};
use super::frame;

/// Choice of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) level: ThinkingLevel,
    /// The level becomes the default.
    pub(crate) as_default: bool,
}

/// The panel.
pub(crate) struct ThinkingPanel {
    list: FilterList<ThinkingLevel>,
    current: ThinkingLevel,
    default: ThinkingLevel,
    cycle: String,
    hints: Vec<String>,
}

/// Returns what a level means. The budgets are the defaults of `thinkingBudgets`.
pub(super) fn description(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "does not think",
        ThinkingLevel::Minimal => "thinks for a moment (~1k tokens)",
        ThinkingLevel::Low => "thinks a little (~2k tokens)",
        ThinkingLevel::Medium => "thinks (~8k tokens)",
        ThinkingLevel::High => "thinks long (~16k tokens)",
        ThinkingLevel::Xhigh => "thinks longer than high",
        ThinkingLevel::Max => "thinks as long as the model can",
    }
}

/// Returns the row of a level.
pub(super) fn row(
    level: ThinkingLevel,
    remark: &str,
    is_selected: bool,
    is_marked: bool,
    view: View<'_>,
) -> Line {
    let accent = view.theme.fg(Token::Accent);
    let (style, muted) = match is_selected {
        true => (accent, accent),
        false => (Style::PLAIN, view.theme.fg(Token::Muted)),
    };
    let mut line = Line::styled(frame::marks(is_selected, is_marked), style);
    line.push(level.as_str(), style);
    line.push(" ".repeat(14_usize.saturating_sub(line.width())), style);
    line.push(format!("{}{remark}", description(level)), muted);
    text::truncate(&line, view.width, "…")
}

impl ThinkingPanel {
    pub(crate) fn new(
        levels: Vec<ThinkingLevel>,
        current: ThinkingLevel,
        default: ThinkingLevel,
        keymap: &Keymap,
    ) -> Self {
        let rows = levels.len();
        let mut list = FilterList::new(levels, rows, |level| level.as_str().to_owned());
        list.select_where(|level| *level == current);
        let label = |action| keymap.label(action);
        Self {
            list,
            current,
            default,
            cycle: label("app.thinking.cycle"),
            hints: vec![
                format!("{} selects", label("tui.select.confirm")),
                format!("{} makes it the default", label("app.thinking.save")),
                format!("{} closes", label("tui.select.cancel")),
            ],
        }
    }

    fn choose(&self, as_default: bool) -> PanelEvent<Answer> {
        match self.list.selected() {
            Some(level) => PanelEvent::Close(Some(Answer { level: *level, as_default })),
            None => PanelEvent::Changed,
        }
    }

    fn content(&mut self, view: View<'_>) -> Vec<Line> {
        let mut lines = vec![Line::new(), Line::plain("Thinking Level"), Line::new()];
        let hint = format!("{} goes through the levels without this list", self.cycle);
        lines.extend(frame::sentence(&hint, Style::PLAIN, view));
        lines.extend([Line::new(), self.list.search_line(view), Line::new()]);
        if self.list.is_empty() {
            lines.push(Line::styled("  No levels match", view.theme.fg(Token::Muted)));
        }
        for (level, is_selected) in self.list.visible() {
            let remark = if *level == self.default { " · default" } else { "" };
            lines.push(row(*level, remark, is_selected, *level == self.current, view));
        }
        lines.push(Line::new());
        lines.extend(frame::hints(&self.hints, view));
        lines
    }
}

impl Panel<Answer> for ThinkingPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        frame::bordered(self.content(view), view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        if let Input::Key(key) = input
            && keymap.is(key, "app.thinking.save")
        {
            return self.choose(true);
        }
        match self.list.handle(input, keymap) {
            ListEvent::Confirmed => self.choose(false),
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}
