//! Text of others, shown exactly: what a terminal would obey or hide is spelled out.
//!
//! A command that the user is asked about may contain characters that move the cursor, reverse the
//! direction of text or have no width. They are shown as `^[` or `\u{202e}` in the color of
//! warnings, so that what is read is what would run.

use pi_tui::{Line, Style, View, text};

/// Returns a text as wrapped lines. `odd` is the style of what is spelled out.
pub(super) fn lines(source: &str, style: Style, odd: Style, view: View<'_>) -> Vec<Line> {
    // A line break may be written as CR LF; a lone CR is odd.
    let source = source.replace("\r\n", "\n");
    let source = source.trim_matches('\n');
    source.split('\n').flat_map(|line| text::wrap(&exact(line, style, odd), view.width)).collect()
}

/// Returns one line of text.
pub(super) fn exact(source: &str, style: Style, odd: Style) -> Line {
    let mut line = Line::new();
    let mut plain = String::new();
    for character in source.chars() {
        match spelled(character) {
            None => plain.push(character),
            Some(spelled) => {
                line.push(std::mem::take(&mut plain), style);
                line.push(spelled, odd);
            }
        }
    }
    line.push(plain, style);
    line
}

/// Returns what is shown for a character that is not shown as itself.
fn spelled(character: char) -> Option<String> {
    match character {
        '\t' => Some("   ".to_owned()),
        '\u{7f}' => Some("^?".to_owned()),
        '\0'..='\u{1f}' => {
            char::from_u32(character as u32 + 0x40).map(|letter| format!("^{letter}"))
        }
        _ if is_deceptive(character) => Some(format!("\\u{{{:x}}}", character as u32)),
        _ => None,
    }
}

/// Returns true for characters that are invisible, look like a space without being one, or change
/// the order of others.
fn is_deceptive(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    (character.is_whitespace() && character != '\u{3000}')
        || character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use pi_tui::Theme;

    use super::*;

    #[test]
    fn hostile_text_is_spelled_out() {
        let cases = [
            ("plain äöü 漢字 🦀", "plain äöü 漢字 🦀"),
            ("echo \u{1b}[2J\u{1b}]0;title\u{7}", "echo ^[[2J^[]0;title^G"),
            ("rm -rf ~\rls      ", "rm -rf ~^Mls      "),
            ("ls\u{8}\u{8}rm", "ls^H^Hrm"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("\u{202e}gpj.exe\u{202c}", "\\u{202e}gpj.exe\\u{202c}"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("r\u{200b}m \u{feff}x", "r\\u{200b}m \\u{feff}x"),
            ("rm\u{a0}-rf", "rm\\u{a0}-rf"),
            ("x\u{3164}y\u{ffa0}", "x\\u{3164}y\\u{ffa0}"),
            ("a\u{e0041}\u{e007f}", "a\\u{e0041}\\u{e007f}"),
            ("a\u{200d}b\u{ad}", "a\\u{200d}b\\u{ad}"),
            ("a\tb\0c\u{7f}", "a   b^@c^?"),
        ];
        for (source, shown) in cases {
            assert_eq!(exact(source, Style::PLAIN, Style::PLAIN).text(), shown, "{source:?}");
        }
    }

    /// Wrapping loses spaces at line breaks, and nothing else.
    #[test]
    fn nothing_is_hidden_by_the_width() {
        let theme = Theme::plain();
        let source = format!("echo hello{}; rm -rf ~\n\n\n{}end", " ".repeat(500), "x".repeat(300));
        for width in [1, 7, 40, 80] {
            let view = View { width, rows: 24, theme: &theme };
            let shown: String = lines(&source, Style::PLAIN, Style::PLAIN, view)
                .iter()
                .map(|line| {
                    assert!(line.width() <= width);
                    line.text()
                })
                .collect();
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(squeezed(&shown), squeezed(&source), "{width}");
        }
    }
}
