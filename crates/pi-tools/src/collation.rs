//! Collation of file names as users expect it: `_a`, `-a`, `.a`, `1`, `a`, `Ä`, `b`, `日`.
//!
//! The TypeScript pi uses the Unicode collation algorithm. This is the part of it that matters for
//! file names: blanks, punctuation, symbols, digits, letters. Accents only decide between names
//! that are equal otherwise. Letters of one script are in the order of their code points.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Punctuation that occurs in names, in its order.
const PUNCTUATION: &str = "_-‐‑‒–—―,;:!?.'‹›\"«»()[]{}§¶@*/\\&#%`´˜^+±<=>|~";

/// A name prepared for comparison.
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
    /// Prepares a name for comparison.
    pub fn new(name: &str) -> Self {
        let mut letters = Vec::with_capacity(name.len());
        let mut accents = String::new();
        for c in name.to_lowercase().nfd() {
            match c {
                'ß' => {
                    letters.extend([(Class::Letter, 's' as u32); 2]);
                    accents.push(c);
                }
                // Typographic quotation marks differ from plain ones as accented letters do from
                // plain letters.
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

/// Returns the primary weight of a character.
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
