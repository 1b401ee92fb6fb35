//! Reading text with escape sequences, as commands and extensions write it.
//!
//! Styles and links are understood; every other sequence is dropped, complete or not. The time is
//! linear in the length of the text.

use std::rc::Rc;

use super::sgr;
use super::visible::{TAB, visible};
use crate::style::Style;
use crate::text::{Line, Span};

/// Reads text with escape sequences (styles and links, as extensions and commands write them) as
/// lines. All other control sequences are dropped; tabs become spaces.
pub fn from_ansi(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut pen = Pen::default();
    for token in Tokens(text) {
        match token {
            Token::Text(text) => pen.text.push_str(text),
            Token::Tab => pen.text.push_str(TAB),
            Token::LineFeed => {
                pen.flush();
                lines.push(std::mem::take(&mut pen.line));
            }
            Token::Style(parameters) => {
                let style = sgr::apply(pen.style, parameters);
                if style != pen.style {
                    pen.flush();
                    pen.style = style;
                }
            }
            Token::Link(address) => {
                pen.flush();
                pen.link = address.map(Rc::from);
            }
        }
    }
    pen.flush();
    if !pen.line.spans().is_empty() {
        lines.push(pen.line);
    }
    lines
}

/// The state of a terminal that is written to.
#[derive(Default)]
struct Pen {
    line: Line,
    text: String,
    style: Style,
    link: Option<Rc<str>>,
}

impl Pen {
    /// Moves the text into the line.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let link = self.link.clone();
        self.line.push_span(Span { text, style: self.style, link, is_layout: false });
    }
}

/// Returns the text without escape sequences and control characters, for names, titles and output
/// that is shown in one style. Line feeds stay, tabs become spaces.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for token in Tokens(text) {
        match token {
            Token::Text(text) => plain.push_str(&visible(text)),
            Token::Tab => plain.push_str(TAB),
            Token::LineFeed => plain.push('\n'),
            Token::Style(_) | Token::Link(_) => {}
        }
    }
    plain
}

/// A piece of text with escape sequences.
enum Token<'a> {
    /// Text without control characters.
    Text(&'a str),
    Tab,
    LineFeed,
    /// The parameters of a style.
    Style(&'a str),
    /// The address of a link that begins, or the end of one.
    Link(Option<&'a str>),
}

/// The pieces of a text. Sequences without meaning here are not among them.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let text = self.take_until(char::is_control);
            if !text.is_empty() {
                return Some(Token::Text(text));
            }
            let token = match self.take()? {
                '\t' => Some(Token::Tab),
                '\n' => Some(Token::LineFeed),
                '\u{1b}' => self.escape(),
                '\u{9b}' => self.control(),
                '\u{9d}' => self.command(),
                '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.string().and(None),
                _ => None,
            };
            if token.is_some() {
                return token;
            }
        }
    }
}

impl<'a> Tokens<'a> {
    fn take(&mut self) -> Option<char> {
        let first = self.0.chars().next()?;
        self.0 = self.0.get(first.len_utf8()..).unwrap_or_default();
        Some(first)
    }

    /// Takes the text up to the first character for which `is_end` is true.
    fn take_until(&mut self, is_end: impl Fn(char) -> bool) -> &'a str {
        let (taken, rest) = self.0.split_at(self.0.find(is_end).unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Takes a character if it is in the range.
    fn take_in(&mut self, range: std::ops::RangeInclusive<char>) -> Option<char> {
        let first = self.0.chars().next().filter(|first| range.contains(first))?;
        self.0 = self.0.get(first.len_utf8()..).unwrap_or_default();
        Some(first)
    }

    /// Takes the rest of a sequence after the escape character.
    fn escape(&mut self) -> Option<Token<'a>> {
        self.take_until(|it| !(' '..='/').contains(&it));
        match self.take_in('0'..='~')? {
            '[' => self.control(),
            ']' => self.command(),
            'P' | 'X' | '^' | '_' => self.string().and(None),
            _ => None,
        }
    }

    /// Takes the rest of a control sequence (CSI).
    fn control(&mut self) -> Option<Token<'a>> {
        let parameters = self.take_until(|it| !('0'..='?').contains(&it));
        let between = self.take_until(|it| !(' '..='/').contains(&it));
        let last = self.take_in('@'..='~')?;
        // `<`, `=`, `>` and `?` mark private sequences.
        let is_private = parameters.starts_with(|it| it >= '<');
        if last == 'm' && between.is_empty() && !is_private {
            return Some(Token::Style(parameters));
        }
        None
    }

    /// Takes the rest of an operating system command (OSC).
    fn command(&mut self) -> Option<Token<'a>> {
        let (_, address) = self.string()?.strip_prefix("8;")?.split_once(';')?;
        if address.contains(char::is_control) {
            return None;
        }
        Some(Token::Link(if address.is_empty() { None } else { Some(address) }))
    }

    /// Takes a string up to its terminator. A string without one ends with the line, so that it
    /// cannot hide all that follows.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.0;
        // Of control characters, only line breaks and tabs may be in a string.
        let string = self.take_until(|it| it.is_control() && !matches!(it, '\n' | '\r' | '\t'));
        for terminator in ["\u{7}", "\u{1b}\\", "\u{9c}"] {
            if let Some(rest) = self.0.strip_prefix(terminator) {
                self.0 = rest;
                return Some(string);
            }
        }
        self.0 = start;
        self.take_until(|it| it.is_control() && it != '\t');
        None
    }
}
