//! Patterns of JSON Schema: JavaScript's regular expressions, matched with a linear-time engine.
//!
//! A pattern is rewritten into the dialect of that engine. It has no look-around, no
//! back-references and no Unicode categories; a pattern that needs them is not matched at all, and
//! the tool sees the text unchecked. That is the price for a match whose time nobody can blow up.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex_lite::Regex;

/// A pattern that can be matched.
#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Reads a pattern the lenient way of JavaScript. Nothing if it is malformed or beyond us.
    pub(super) fn compile(source: &str) -> Option<Self> {
        let rewritten = Rewriter::new(source, Dialect::Lenient).run().ok()?;
        rewritten.is_matchable.then(|| Regex::new(&rewritten.text).ok().map(Self)).flatten()
    }

    /// Whether the pattern occurs in the text.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Whether text is a regular expression, read the strict way. One that is merely beyond us is.
pub(super) fn is_valid(source: &str) -> bool {
    Rewriter::new(source, Dialect::Strict)
        .run()
        .is_ok_and(|rewritten| !rewritten.is_matchable || Regex::new(&rewritten.text).is_ok())
}

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    /// A brace or bracket without a partner stands for itself.
    Lenient,
    Strict,
}

struct Malformed;

struct Rewritten {
    text: String,
    is_matchable: bool,
}

struct Rewriter<'p> {
    rest: Peekable<Chars<'p>>,
    dialect: Dialect,
    text: String,
    is_matchable: bool,
    groups: u32,
    highest_reference: u32,
    after_quantifier: bool,
}

impl<'p> Rewriter<'p> {
    fn new(source: &'p str, dialect: Dialect) -> Self {
        Self {
            rest: source.chars().peekable(),
            dialect,
            text: String::with_capacity(source.len() + 8),
            is_matchable: true,
            groups: 0,
            highest_reference: 0,
            after_quantifier: false,
        }
    }

    fn run(mut self) -> Result<Rewritten, Malformed> {
        while let Some(character) = self.rest.next() {
            let was_quantifier = std::mem::replace(&mut self.after_quantifier, false);
            match character {
                '\\' => self.escape(Within::Text)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '*' => self.quantifier("*", was_quantifier)?,
                '+' => self.quantifier("+", was_quantifier)?,
                '?' if was_quantifier => self.text.push('?'),
                '?' => self.quantifier("?", false)?,
                '{' => self.brace(was_quantifier)?,
                '}' | ']' if self.dialect == Dialect::Strict => return Err(Malformed),
                // JavaScript knows four ends of a line, the engine one.
                '.' => self.text.push_str(r"[^\n\r\x{2028}\x{2029}]"),
                '^' | '$' | '|' | ')' => self.text.push(character),
                literal => self.literal(literal),
            }
        }
        if self.dialect == Dialect::Strict && self.highest_reference > self.groups {
            return Err(Malformed);
        }
        Ok(Rewritten { text: self.text, is_matchable: self.is_matchable })
    }

    fn literal(&mut self, literal: char) {
        if literal.is_ascii_punctuation() {
            let _ = write!(self.text, r"\x{:02x}", u32::from(literal));
        } else {
            self.text.push(literal);
        }
    }

    fn quantifier(&mut self, text: &str, was_quantifier: bool) -> Result<(), Malformed> {
        if was_quantifier {
            return Err(Malformed);
        }
        self.after_quantifier = true;
        self.text.push_str(text);
        Ok(())
    }

    /// After `{`: a quantifier, or a brace that stands for itself.
    fn brace(&mut self, was_quantifier: bool) -> Result<(), Malformed> {
        let mut ahead = self.rest.clone();
        let inner: String = ahead.by_ref().take_while(|character| *character != '}').collect();
        let is_closed = self.rest.clone().nth(inner.chars().count()) == Some('}');
        let (least, most) = inner.split_once(',').unwrap_or((&inner, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if is_closed && !least.is_empty() && is_digits(least) && is_digits(most) {
            self.rest = ahead;
            return self.quantifier(&format!("{{{inner}}}"), was_quantifier);
        }
        if self.dialect == Dialect::Strict {
            return Err(Malformed);
        }
        self.literal('{');
        Ok(())
    }

    /// After `(`.
    fn group(&mut self) -> Result<(), Malformed> {
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('?') {
            self.groups += 1;
            self.text.push('(');
            return Ok(());
        }
        match (ahead.next(), ahead.clone().next()) {
            (Some(':'), _) => self.text.push_str("(?:"),
            (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => {
                // Look-around. Read on, for the strict reading, but as a plain group.
                self.is_matchable = false;
                self.text.push_str("(?:");
                if self.rest.clone().nth(1) == Some('<') {
                    ahead.next();
                }
            }
            (Some('<'), _) => {
                self.groups += 1;
                if !ahead.any(|character| character == '>') {
                    return Err(Malformed);
                }
                // Nothing here asks for a group by its name.
                self.text.push('(');
            }
            _ => return Err(Malformed),
        }
        self.rest = ahead;
        Ok(())
    }

    /// After `[`.
    fn class(&mut self) -> Result<(), Malformed> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        if self.rest.next_if_eq(&']').is_some() {
            // The empty class matches nothing, its opposite everything.
            self.text.push_str(if is_negated { r"[\s\S]" } else { r"[^\s\S]" });
            return Ok(());
        }
        self.text.push_str(if is_negated { "[^" } else { "[" });
        loop {
            match self.rest.next().ok_or(Malformed)? {
                ']' => break,
                '\\' => self.escape(Within::Class)?,
                '-' if self.text.ends_with(['[', '^']) || self.rest.peek() == Some(&']') => {
                    self.literal('-');
                }
                '-' => self.text.push('-'),
                literal => self.literal(literal),
            }
        }
        self.text.push(']');
        Ok(())
    }

    /// After a backslash.
    fn escape(&mut self, within: Within) -> Result<(), Malformed> {
        let escaped = self.rest.next().ok_or(Malformed)?;
        let literal = match escaped {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                self.text.push('\\');
                self.text.push(escaped);
                return Ok(());
            }
            'b' if within == Within::Class => '\u{8}',
            'b' | 'B' => {
                self.text.push('\\');
                self.text.push(escaped);
                return Ok(());
            }
            '1'..='9' => {
                self.is_matchable = false;
                let reference = escaped.to_digit(10).unwrap_or(0);
                self.highest_reference = self.highest_reference.max(reference);
                return Ok(());
            }
            'p' | 'P' | 'k' => {
                self.is_matchable = false;
                // Its braces are not ours to judge.
                if matches!(self.rest.peek(), Some('{' | '<')) {
                    self.rest.by_ref().find(|character| matches!(character, '}' | '>'));
                }
                // Something that can be repeated and stand in a class.
                self.text.push('x');
                return Ok(());
            }
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' => '\0',
            'c' => {
                let letter = self.rest.next().filter(char::is_ascii_alphabetic).ok_or(Malformed)?;
                char::from_u32(u32::from(letter) % 32).ok_or(Malformed)?
            }
            'x' => self.hex(2).and_then(char::from_u32).ok_or(Malformed)?,
            'u' => self.unicode().ok_or(Malformed)?,
            other => other,
        };
        self.literal(literal);
        Ok(())
    }

    /// After `\u`: four digits, two such escapes for one character, or any number in braces.
    fn unicode(&mut self) -> Option<char> {
        if self.rest.next_if_eq(&'{').is_some() {
            let digits: String =
                self.rest.by_ref().take_while(|character| *character != '}').collect();
            return u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        }
        let first = self.hex(4)?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.rest.next_if_eq(&'\\')?;
        self.rest.next_if_eq(&'u')?;
        let second = self.hex(4)?.checked_sub(0xdc00)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        (0..digits).try_fold(0, |value, _| Some(value * 16 + self.rest.next()?.to_digit(16)?))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    Text,
    Class,
}
