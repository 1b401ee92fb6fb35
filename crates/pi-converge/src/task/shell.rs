//! Parameters in commands: a value is one word of the shell, in every place where it may stand.
//!
//! The scanner knows only as much of the shell as it needs to refuse the places where a quoted
//! value could be read as something else: inside of quotes, here-documents, comments, arithmetic and
//! expansions. A refusal tells the author to move the template, so a false alarm costs little.

/// The state of the shell at the end of a text.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    state: State,
    /// The text so far that decides about the next character.
    last: [Option<char>; 2],
    /// A here-document or an arithmetic expression began; the scanner does not find their end.
    unknown: Option<&'static str>,
    /// The value of `unknown` before `<<`, which could be the start of `<<<`.
    before_redirection: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    Escaped,
    Single,
    /// `$'…'`, in which a backslash escapes.
    Ansi,
    AnsiEscaped,
    Double,
    DoubleEscaped,
    Comment,
}

impl Quotes {
    /// Reads a part of the command.
    pub(super) fn read(&mut self, text: &str) {
        for character in text.chars() {
            self.step(character);
            self.last = [self.last[1], Some(character)];
        }
    }

    fn step(&mut self, character: char) {
        let [before, last] = self.last;
        self.state = match (self.state, character) {
            (State::Escaped, _) => State::Plain,
            (State::AnsiEscaped, _) => State::Ansi,
            (State::DoubleEscaped, _) => State::Double,
            (State::Plain, '\\') => State::Escaped,
            (State::Ansi, '\\') => State::AnsiEscaped,
            (State::Double, '\\') => State::DoubleEscaped,
            (State::Plain, '\'') if last == Some('$') => State::Ansi,
            (State::Plain, '\'') => State::Single,
            (State::Plain, '"') => State::Double,
            (State::Single | State::Ansi, '\'') | (State::Double, '"') => State::Plain,
            (State::Comment, '\n') => State::Plain,
            (State::Plain, '#') if last.is_none_or(|c| c.is_whitespace() || ";|&(".contains(c)) => {
                State::Comment
            }
            (State::Plain, '`') => {
                self.unknown = Some("after a backquote; use $(…) instead");
                State::Plain
            }
            (State::Plain, '<') if last == Some('<') && before == Some('<') => {
                self.unknown = self.before_redirection;
                State::Plain
            }
            (State::Plain, '<') if last == Some('<') => {
                self.before_redirection = self.unknown;
                self.unknown = Some("after <<; use a file instead");
                State::Plain
            }
            (State::Plain, '(') if last == Some('(') => {
                self.unknown = Some("after ((; use the value in a command instead");
                State::Plain
            }
            (State::Plain, '{') if last == Some('$') => {
                self.unknown = Some("after ${; assign the value to a variable first");
                State::Plain
            }
            (state, _) => state,
        };
    }

    /// Returns the quoted value for this place, or the reason why none may stand here.
    pub(super) fn insert(&mut self, name: &str, value: &str) -> Result<String, String> {
        let place = match self.state {
            State::Plain if self.unknown.is_none() => None,
            State::Plain => self.unknown,
            State::Escaped => Some("after a backslash"),
            State::Comment => Some("in a comment"),
            _ => Some("inside of quotes; remove the quotes, pi quotes the value itself"),
        };
        if let Some(place) = place {
            return Err(format!("`{{{{ {name} }}}}` cannot stand {place}"));
        }
        if value.contains('\0') {
            return Err(format!("the value of `{name}` contains a null character"));
        }
        self.last = [None, Some('\'')];
        Ok(format!("'{}'", value.replace('\'', "'\\''")))
    }
}
