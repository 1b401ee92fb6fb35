//! Tests of the transcript: each tool and message as lines, any order of events, log and live.

mod events;
mod messages;
mod session;
mod tools;

use pi_tui::{Line, Theme, Token, View, highlight};

use super::Transcript;
use super::foreign::Foreign;
use super::options::{Look, Options};

/// Backgrounds, and the letters that stand for them.
const BACKGROUNDS: &[(Token, char)] = &[
    (Token::ToolPendingBg, 'P'),
    (Token::ToolSuccessBg, 'S'),
    (Token::ToolErrorBg, 'E'),
    (Token::UserMessageBg, 'U'),
    (Token::CustomMessageBg, 'C'),
];

/// Options of a user in `/home/user/proj`.
pub(super) fn options() -> Options {
    Options { home: Some("/home/user".into()), ..Options::default() }
}

/// Draws with these options in the dark theme.
pub(super) fn drawn(
    width: usize,
    options: &Options,
    draw: impl FnOnce(Look<'_>) -> Vec<Line>,
) -> String {
    let theme = Theme::dark();
    let view = View { width, rows: 24, theme: &theme };
    text(&draw(Look { view, options, foreign: &Foreign::default(), toggled: false }), width, &theme)
}

/// Returns lines as text: a letter for the background, `>` for a target of jumps, the text.
pub(super) fn text(lines: &[Line], width: usize, theme: &Theme) -> String {
    let mut text = String::new();
    for line in lines {
        assert!(line.width() <= width, "{} columns: {line:?}", line.width());
        let first = line.spans().first().map(|span| span.style.bg);
        let letter = BACKGROUNDS.iter().find(|(token, _)| Some(theme.bg(*token)) == first);
        text.push(letter.map_or(' ', |(_, letter)| *letter));
        text.push(if line.is_prompt { '>' } else { '|' });
        text.push_str(line.text().trim_end());
        text.push('\n');
    }
    text
}

/// Waits for the grammars of the tests: colors must not change in the middle of a comparison.
pub(super) fn load_grammars() {
    while highlight::prepare("rust", "fn main() {}") == highlight::Readiness::Loading {
        std::thread::yield_now();
    }
}

/// Returns all lines of a transcript.
pub(super) fn lines(transcript: &mut Transcript, width: usize) -> Vec<Line> {
    let theme = Theme::dark();
    let view = View { width, rows: 24, theme: &theme };
    let blocks = transcript.blocks();
    let mut lines = Vec::new();
    let mut next = blocks.first();
    while let Some(id) = next {
        lines.extend(blocks.lines(id, view).iter().cloned());
        next = blocks.next(id);
    }
    lines
}

/// Returns a transcript as text.
pub(super) fn screen(transcript: &mut Transcript, width: usize) -> String {
    text(&lines(transcript, width), width, &Theme::dark())
}
