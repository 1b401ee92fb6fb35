//! The search in the prompts of all sessions.

use std::path::PathBuf;

use pi_base::text::one_line;
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{FilterList, ListEvent};
use pi_tui::{Line, Style, Token, View, text};

use super::super::footer::short_path;
use super::super::panel::{Panel, PanelEvent};
use super::frame;

const ROWS: usize = 10;

/// Characters of a prompt that are searched: each key searches all prompts.
const SEARCHED: usize = 500;

/// A prompt of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// Directory of the session.
    pub(crate) cwd: PathBuf,
}

/// The panel. It answers with the text of a prompt.
pub(crate) struct HistoryPanel {
    list: FilterList<Prompt>,
    home: Option<PathBuf>,
    hints: Vec<String>,
}

impl HistoryPanel {
    /// Shows prompts, newest first.
    pub(crate) fn new(
        prompts: Vec<Prompt>,
        search: &str,
        home: Option<PathBuf>,
        keymap: &Keymap,
    ) -> Self {
        let mut list = FilterList::new(prompts, ROWS, searched).keeping_order().with_classes(class);
        list.set_search(search);
        let hints = vec![
            format!("{} puts it into the editor", keymap.label("tui.select.confirm")),
            format!("{} closes", keymap.label("tui.select.cancel")),
        ];
        Self { list, home, hints }
    }

    fn content(&mut self, view: View<'_>) -> Vec<Line> {
        self.list.set_rows(frame::list_rows(ROWS, view));
        let theme = view.theme;
        let (muted, accent) = (theme.fg(Token::Muted), theme.fg(Token::Accent));
        let mut lines = vec![frame::title("Prompt history", view), Line::new()];
        lines.extend([self.list.search_line(view), Line::new()]);
        if self.list.is_empty() {
            let text = match self.list.items().is_empty() {
                true => "  No prompts yet",
                false => "  No matches",
            };
            lines.push(Line::styled(text, muted));
        }
        for (prompt, is_selected) in self.list.visible() {
            let (mark, style) = if is_selected { ("→ ", accent) } else { ("  ", Style::PLAIN) };
            let mut line = Line::styled(mark, style);
            line.push(one_line(&text::plain(&prompt.text)), style);
            lines.push(text::truncate(&line, view.width, "…"));
        }
        lines.extend(self.list.position(theme));
        if let Some(prompt) = self.list.selected() {
            let directory = short_path(&prompt.cwd, self.home.as_deref());
            lines.extend([Line::new(), Line::styled(format!("  in {directory}"), muted)]);
        }
        lines.push(Line::new());
        lines.extend(frame::hints(&self.hints, view));
        lines
    }
}

fn searched(prompt: &Prompt) -> String {
    prompt.text.chars().take(SEARCHED).collect()
}

/// Returns the class of a match: in one piece, or scattered letters.
fn class(prompt: &Prompt, search: &str) -> u8 {
    u8::from(!prompt.text.to_lowercase().contains(&search.to_lowercase()))
}

impl Panel<String> for HistoryPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        frame::bordered(self.content(view), view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        match self.list.handle(input, keymap) {
            ListEvent::Confirmed => {
                PanelEvent::Close(self.list.selected().map(|prompt| prompt.text.clone()))
            }
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{keymap, press, shown};
    use super::*;

    fn panel(search: &str) -> HistoryPanel {
        let prompt =
            |text: &str, cwd: &str| Prompt { text: text.to_owned(), cwd: PathBuf::from(cwd) };
        let prompts = vec![
            prompt("run the tests\nand fix what fails", "/home/user/proj"),
            prompt("rename the parser", "/home/user/other"),
            prompt("try the next step", "/home/user/proj"),
        ];
        HistoryPanel::new(prompts, search, Some(PathBuf::from("/home/user")), &keymap())
    }

    #[test]
    fn the_newest_prompt_is_first_and_a_prompt_is_one_row() {
        insta::assert_snapshot!(shown(&mut panel(""), 50, 30));
    }

    #[test]
    fn a_search_prefers_words_and_the_choice_is_the_whole_prompt() {
        let cases = [
            ("", "enter", Some("run the tests\nand fix what fails")),
            ("the n", "enter", Some("try the next step")),
            // Scattered letters match, too, but later.
            ("test", "enter", Some("run the tests\nand fix what fails")),
            ("rtp", "enter", Some("rename the parser")),
            ("", "escape", None),
        ];
        for (search, keys, expected) in cases {
            match press(&mut panel(search), keys) {
                PanelEvent::Close(text) => assert_eq!(text.as_deref(), expected, "{keys}"),
                _ => panic!("{keys} closes the panel"),
            }
        }
    }
}
