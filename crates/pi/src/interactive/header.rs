//! The top of the transcript: logo, version and key hints.

use pi_tui::{Block, Line, Lines, Token, View, text};

use super::app::App;
use super::preferences::QuietStartup;

/// Returns the blocks before the first message.
pub(super) fn blocks(app: &App) -> Vec<Box<dyn Block>> {
    match app.preferences.quiet_startup {
        QuietStartup::Yes => Vec::new(),
        QuietStartup::Header | QuietStartup::No => {
            vec![Box::new(Header { hints: hints(app), cache: Default::default() })]
        }
    }
}

struct Header {
    hints: Vec<(String, &'static str)>,
    cache: pi_tui::LineCache,
}

fn hints(app: &App) -> Vec<(String, &'static str)> {
    let keys = |action: &str| app.keymap.label(action);
    vec![
        (keys("app.interrupt"), "interrupt"),
        (format!("{}/{}", keys("app.clear"), keys("app.exit")), "clear/exit"),
        ("/".to_owned(), "commands"),
        ("!".to_owned(), "bash"),
        (keys("app.tools.expand"), "more"),
    ]
}

impl Block for Header {
    fn render(&mut self, view: View<'_>) -> Lines {
        let hints = &self.hints;
        self.cache.get(view, || {
            let (dim, muted) = (view.theme.fg(Token::Dim), view.theme.fg(Token::Muted));
            let mut line = Line::new();
            for (at, (key, meaning)) in hints.iter().enumerate() {
                if at > 0 {
                    line.push(" · ", muted);
                }
                line.push(key.as_str(), dim);
                line.push(format!(" {meaning}"), muted);
            }
            let mut lines = vec![Line::new()];
            lines.push(Line::styled(format!(" pi v{}", env!("CARGO_PKG_VERSION")), dim));
            lines.extend(
                text::wrap(&line, view.width.saturating_sub(2))
                    .iter()
                    .map(|line| line.indented(1, dim)),
            );
            lines.push(Line::new());
            lines
        })
    }
}
