//! Code in the boxes of tools.

use std::path::Path;

use pi_tui::highlight::{self, Highlighter, Readiness};
use pi_tui::{Line, Style, Token, text};

use super::layout::text_lines;
use super::options::Look;

/// Returns the lines of a file, highlighted by the extension of its path once the grammar is there.
pub(super) fn highlighted(source: &str, path: &str, look: Look<'_>) -> Vec<Line> {
    let theme = look.view.theme;
    let path = Path::new(path);
    // Some languages are known by a whole name: Makefile.
    let language = path.extension().or(path.file_name()).and_then(|name| name.to_str());
    let language = language.unwrap_or_default();
    let plain = text::plain(source);
    let highlighter = match highlight::prepare(language, &plain) {
        Readiness::Ready => Highlighter::new(language),
        Readiness::Loading | Readiness::Unknown => None,
    };
    let Some(mut highlighter) = highlighter else {
        return text_lines(source, theme.fg(Token::ToolOutput));
    };
    let lines = plain.split('\n').map(|line| {
        let mut drawn = Line::new();
        for (token, text) in highlighter.line(line) {
            drawn.push(text, token.map_or(Style::PLAIN, |token| theme.fg(token)));
        }
        drawn
    });
    lines.collect()
}
