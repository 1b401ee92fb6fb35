//! Text and thinking of a complete answer. Tool calls and failures have files of their own.

use pi_tui::{Line, Token};

use super::layout::{mark_prompt, padded, text_lines};
use super::markdown::{self, Prose};
use super::options::Look;

/// The line in the place of hidden thinking.
const HIDDEN_THINKING: &str = "Thinking...";

/// Returns the lines of a text. `is_prompt` marks its beginning as a target of jumps.
pub(super) fn text(source: &str, is_prompt: bool, look: Look<'_>) -> Vec<Line> {
    below_gap(markdown::lines(source, Prose::Answer, look), is_prompt)
}

/// Returns the lines of thinking, or one line if it is hidden.
pub(super) fn thinking(source: &str, look: Look<'_>) -> Vec<Line> {
    if source.trim().is_empty() {
        return Vec::new();
    }
    if look.hides_thinking() {
        return hidden_thinking(look);
    }
    below_gap(markdown::lines(source, Prose::Thinking, look), false)
}

/// Returns the lines in the place of hidden thinking.
pub(super) fn hidden_thinking(look: Look<'_>) -> Vec<Line> {
    let style = look.view.theme.fg(Token::ThinkingText).italic();
    let label = look.options.hidden_thinking_label.as_deref().unwrap_or(HIDDEN_THINKING);
    below_gap(padded(text_lines(label, style), look), false)
}

/// Returns lines below an empty one, if there are any.
pub(super) fn below_gap(mut lines: Vec<Line>, is_prompt: bool) -> Vec<Line> {
    if lines.is_empty() {
        return lines;
    }
    if is_prompt {
        mark_prompt(&mut lines);
    }
    lines.insert(0, Line::new());
    lines
}
