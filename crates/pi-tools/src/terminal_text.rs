//! Removal of terminal controls from text that arrives in pieces: escape sequences, control
//! characters, carriage returns.

/// The position in an escape sequence at the end of the last piece.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// In `ESC [ … letter`.
    Control,
    /// In `ESC ] … BEL` or another string, which also ends with `ESC \`.
    String,
    /// After an escape character in such a string.
    StringEscape,
    /// Before the one character that ends `ESC ( …`.
    Charset,
}

/// Removes terminal controls from text.
#[derive(Debug, Default)]
pub(crate) struct TerminalFilter {
    state: State,
}

impl TerminalFilter {
    /// Returns a piece without terminal controls.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut plain = String::with_capacity(piece.len());
        for character in piece.chars() {
            self.state = match (self.state, character) {
                // A line break ends every sequence: an unfinished one must not hide what follows.
                (_, '\n') => {
                    plain.push('\n');
                    State::Text
                }
                (State::Text | State::Escape, '\u{1b}') => State::Escape,
                (State::Text, '\u{9b}') => State::Control,
                (State::Text, '\u{90}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => State::String,
                (State::Text, character) => {
                    if is_text(character) {
                        plain.push(character);
                    }
                    State::Text
                }
                (State::Escape, '[') => State::Control,
                (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
                (State::Escape, ' '..='/') => State::Charset,
                (State::Escape | State::Charset | State::StringEscape, _) => State::Text,
                (State::Control, '@'..='~') => State::Text,
                (State::Control, '\u{1b}') => State::Escape,
                (State::Control, _) => State::Control,
                (State::String, '\u{7}' | '\u{9c}') => State::Text,
                (State::String, '\u{1b}') => State::StringEscape,
                (State::String, _) => State::String,
            };
        }
        plain
    }
}

fn is_text(character: char) -> bool {
    match character {
        '\t' | '\n' => true,
        '\u{fff9}'..='\u{fffb}' => false,
        other => !other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_removed_from_text_in_pieces() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\rb\r\nc", "ab\nc"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bx\u{1b}=y", "xy"),
            ("\u{9b}1mc1\u{0}\u{8}", "c1"),
            ("half \u{1b}[", "half "),
            ("broken \u{1b}[12\nnext", "broken \nnext"),
            ("\u{1b}]0;no end\nnext", "\nnext"),
            ("\u{1b}Pno end\u{1b}\nnext\u{1b}\nlast", "\nnext\nlast"),
            ("ümläut ✓", "ümläut ✓"),
        ] {
            assert_eq!(TerminalFilter::default().push(text), expected, "{text:?}");
            let mut plain = TerminalFilter::default();
            let pieces: String =
                text.chars().map(|character| plain.push(&character.to_string())).collect();
            assert_eq!(pieces, expected, "{text:?} in pieces");
        }
    }
}
