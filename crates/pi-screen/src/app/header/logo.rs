//! The logo: a π of half blocks in fixed colors.

use pi_tui::theme::Theme;
use pi_tui::theme::builtin::{LOGO_BLUE, LOGO_RED, LOGO_YELLOW};
use pi_tui::{Line, Style, Token};

/// Returns the two rows, each with the space before the text beside it.
pub(super) fn rows(is_wordmark: bool, theme: &Theme) -> [Line; 2] {
    if is_wordmark {
        let mut top = Line::styled("pi", theme.fg(Token::Accent).bold());
        top.push(" ", Style::PLAIN);
        return [top, Line::new()];
    }
    let mut top = Line::styled("▀", Style::fg(LOGO_RED).on(LOGO_BLUE));
    top.push("▀█", Style::fg(LOGO_RED));
    top.push("  ", Style::PLAIN);
    let mut bottom = Line::styled("█▀", Style::fg(LOGO_BLUE));
    bottom.push(" ", Style::PLAIN);
    bottom.push("█", Style::fg(LOGO_YELLOW));
    bottom.push(" ", Style::PLAIN);
    [top, bottom]
}
