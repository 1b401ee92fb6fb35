//! The order of names that people expect: `_a`, `-a`, `.a`, `1`, `a`, `Ä`, `b`, `日`.
//!
//! The TypeScript pi compares by the Unicode collation algorithm. This is the part of it that file
//! names show: blanks, then punctuation, then symbols, then digits, then letters of which accents
//! count only between names that are equal otherwise. Letters of one script are in the order of
//! their code points.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Punctuation in its order, as far as names have it.
const PUNCTUATION: &str = "_-‐‑‒–—―,;:!?.'‹›\"«»()[]{}§¶@*/\\&#%`´˜^+±<=>|~";

/// A name made ready to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortKey {
    letters: Vec<(Class, u32)>,
    accents: String,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Blank,
    Punctuation,
    Symbol,
    Currency,
    Digit,
    Letter,
}

impl SortKey {
    /// A key for `name`.
    pub fn new(name: &str) -> Self {
        let mut letters = Vec::with_capacity(name.len());
        let mut accents = String::new();
        for c in name.to_lowercase().nfd() {
            match c {
                'ß' => {
                    letters.extend([(Class::Letter, 's' as u32); 2]);
                    accents.push(c);
                }
                // Quotation marks have accents too, so to speak.
                '‘' | '’' | '‚' => {
                    letters.push(primary('\''));
                    accents.push(c);
                }
                '…' => {
                    letters.extend([primary('.'); 3]);
                    accents.push(c);
                }
                '“' | '”' | '„' => {
                    letters.push(primary('"'));
                    accents.push(c);
                }
                _ if is_combining_mark(c) => accents.push(c),
                _ => letters.push(primary(c)),
            }
        }
        Self { letters, accents, name: name.to_owned() }
    }
}

/// What decides first.
fn primary(c: char) -> (Class, u32) {
    let class = match c {
        _ if c.is_whitespace() => Class::Blank,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_alphabetic() => Class::Letter,
        '$' | '¢'..='¥' | '€' => Class::Currency,
        _ => match PUNCTUATION.find(c) {
            Some(at) => return (Class::Punctuation, at as u32),
            None => Class::Symbol,
        },
    };
    (class, c as u32)
}
