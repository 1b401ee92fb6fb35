//! Text of others, shown exactly: what a terminal would obey or hide is spelled out.
//!
//! A command that the user is asked about may contain characters that move the cursor, reverse the
//! direction of text or have no width. They are shown as `^[` or by their number in the color of
//! warnings, so that what is read is what would run.

use pi_base::text::spelled;
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
            Some(_) if character == '\t' => plain.push_str("   "),
            Some(spelled) => {
                line.push(std::mem::take(&mut plain), style);
                line.push(spelled, odd);
            }
        }
    }
    line.push(plain, style);
    line
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
