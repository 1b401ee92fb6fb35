//! Patterns of JSON Schema: JavaScript's regular expressions, matched by a linear-time engine.
//!
//! A pattern is rewritten into the dialect of that engine, which has no look-around, no
//! back-references and no Unicode categories. A pattern that needs them constrains nothing, and
//! the tool receives the text unchecked. In return no schema can make a match slow.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex_lite::Regex;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern of JavaScript's lenient dialect. Returns `None` if the pattern is malformed
    /// or unsupported.
    pub(super) fn compile(source: &str) -> Option<Self> {
        let rewritten = Rewriter::new(source, Dialect::Lenient).run().ok()?;
        if rewritten.is_supported { Regex::new(&rewritten.text).ok().map(Self) } else { None }
    }

    /// Returns true if the pattern occurs in the text.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Returns true if the text is a regular expression of the strict dialect, supported or not.
pub(super) fn is_valid(source: &str) -> bool {
    Rewriter::new(source, Dialect::Strict)
        .run()
        .is_ok_and(|rewritten| !rewritten.is_supported || Regex::new(&rewritten.text).is_ok())
}

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    /// An unpaired brace or bracket is a literal.
    Lenient,
    Strict,
}

struct Malformed;

struct Rewritten {
    text: String,
    is_supported: bool,
}

struct Rewriter<'p> {
    rest: Peekable<Chars<'p>>,
    dialect: Dialect,
    text: String,
    is_supported: bool,
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
            is_supported: true,
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
                // JavaScript has four line terminators, the engine one.
                '.' => self.text.push_str(r"[^\n\r\x{2028}\x{2029}]"),
                '^' | '$' | '|' | ')' => self.text.push(character),
                literal => self.literal(literal),
            }
        }
        if self.dialect == Dialect::Strict && self.highest_reference > self.groups {
            return Err(Malformed);
        }
        Ok(Rewritten { text: self.text, is_supported: self.is_supported })
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

    /// Rewrites what follows `{`: a quantifier, or a literal brace.
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

    /// Rewrites the opening of a group after `(`.
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
                // Look-around is parsed as a plain group, so that the strict dialect is checked.
                self.is_supported = false;
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
                // The name is not needed: captures are not used.
                self.text.push('(');
            }
            _ => return Err(Malformed),
        }
        self.rest = ahead;
        Ok(())
    }

    /// Rewrites a class after `[`.
    fn class(&mut self) -> Result<(), Malformed> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        if self.rest.next_if_eq(&']').is_some() {
            // The empty class matches no character, its negation matches any.
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

    /// Rewrites an escape after a backslash.
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
                self.is_supported = false;
                let reference = escaped.to_digit(10).unwrap_or(0);
                self.highest_reference = self.highest_reference.max(reference);
                return Ok(());
            }
            'p' | 'P' | 'k' => {
                self.is_supported = false;
                // The name in braces is not checked.
                if matches!(self.rest.peek(), Some('{' | '<')) {
                    self.rest.by_ref().find(|character| matches!(character, '}' | '>'));
                }
                // A stand-in that is valid before a quantifier and in a class.
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

    /// Parses the code after `\u`: four digits, a surrogate pair of two escapes, or braces.
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
