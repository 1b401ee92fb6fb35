//! A query, and its search in a text. Pure.
//!
//! A word matches as a part of words and in any case, in any script: names of functions, paths and
//! languages without spaces have no whole words. Text in quotation marks matches literally, except
//! that case and the kind and amount of white space never matter.

use std::ops::Range;

use memchr::memmem::Finder;

/// Length of a snippet, in characters.
const SNIPPET_CHARS: usize = 160;
/// Length of the part of a snippet before the first match.
const SNIPPET_BEFORE: usize = 40;
/// Maximum number of words in a query; further words are ignored.
const MAX_TERMS: usize = 64;

/// A part of a text around a match.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snippet {
    /// The part of the text, on one line.
    pub text: String,
    /// The matches in `text`, as ranges of bytes, in order.
    pub matches: Vec<Range<usize>>,
}

/// A parsed query.
#[derive(Debug)]
pub(super) struct Query {
    terms: Vec<Finder<'static>>,
}

/// A set of terms of a query, one bit each.
pub(super) type Terms = u64;

impl Query {
    /// Parses a query; `None` if it has no terms.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut terms: Vec<Vec<u8>> = Vec::new();
        for (at, part) in text.split('"').enumerate() {
            // Every other part is between quotation marks.
            let words: Vec<&str> =
                if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() };
            for word in words {
                let mut term = Vec::new();
                fold(word, &mut term);
                if !term.is_empty() && !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        // Long terms are usually rare, so they are searched first.
        terms.sort_by_key(|term| std::cmp::Reverse(term.len()));
        terms.truncate(MAX_TERMS);
        let terms: Vec<_> = terms.iter().map(|term| Finder::new(term).into_owned()).collect();
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// Returns the terms with their bits.
    pub(super) fn terms(&self) -> impl Iterator<Item = (Terms, &Finder<'static>)> {
        self.terms.iter().enumerate().map(|(at, term)| (1 << at, term))
    }

    /// Returns the set of all terms.
    pub(super) fn all(&self) -> Terms {
        self.terms().fold(0, |all, (bit, _)| all | bit)
    }

    /// Returns the part of `text` around the first match of any term; `None` if the text does not
    /// contain all `expected` terms.
    pub(super) fn snippet(&self, text: &str, expected: Terms) -> Option<Snippet> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (folded, origins) = fold_with_origins(&text);
        let mut found = 0;
        let mut places: Vec<Range<usize>> = Vec::new();
        for (bit, term) in self.terms() {
            for at in term.find_iter(&folded) {
                found |= bit;
                places.push(origins[at].start..origins[at + term.needle().len() - 1].end);
            }
        }
        if found & expected != expected {
            return None;
        }
        places.sort_by_key(|place| (place.start, place.end));
        Some(cut(&text, &places))
    }
}

/// Cuts the text around the first of some ranges, which are in order.
fn cut(text: &str, places: &[Range<usize>]) -> Snippet {
    let first = places.first().map_or(0, |place| place.start);
    let start = text[..first].char_indices().rev().take(SNIPPET_BEFORE).last();
    let start = start.map_or(first, |(at, _)| at);
    let len = text[start..].char_indices().nth(SNIPPET_CHARS).map(|(at, _)| at);
    let end = len.map_or(text.len(), |len| start + len);
    let mut matches: Vec<Range<usize>> = Vec::new();
    for place in places.iter().filter(|place| place.start < end) {
        let (from, to) = (place.start - start, place.end.min(end) - start);
        match matches.last_mut() {
            Some(last) if from <= last.end => last.end = last.end.max(to),
            _ => matches.push(from..to),
        }
    }
    Snippet { text: text[start..end].to_owned(), matches }
}

/// Appends `text` in the form that is searched: lower case, white space as single spaces.
pub(super) fn fold(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    for word in text.split_whitespace() {
        if out.len() > start {
            out.push(b' ');
        }
        if word.is_ascii() {
            out.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
        } else {
            word.chars().for_each(|c| fold_char(c, out));
        }
    }
}

fn fold_char(c: char, out: &mut Vec<u8>) {
    for small in c.to_lowercase() {
        // The Greek sigma has two lower-case forms.
        let small = if small == 'ς' { 'σ' } else { small };
        out.extend_from_slice(small.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Returns the text in lower case, and for every byte of it the range of the original character.
fn fold_with_origins(text: &str) -> (Vec<u8>, Vec<Range<usize>>) {
    let mut folded = Vec::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        fold_char(c, &mut folded);
        origins.resize(folded.len(), at..at + c.len_utf8());
    }
    (folded, origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(query: &str, text: &str) -> Option<String> {
        let query = Query::parse(query)?;
        let Snippet { text, matches } = query.snippet(text, query.all())?;
        let mut out = String::new();
        let mut at = 0;
        for range in matches {
            out.push_str(&format!("{}[{}]", &text[at..range.start], &text[range.clone()]));
            at = range.end;
        }
        Some(out + &text[at..])
    }

    #[test]
    fn terms_match_parts_of_words_in_any_case() {
        let cases = [
            ("header", "parse_Header(line)", Some("parse_[Header](line)")),
            ("src/Index.rs", "in crates/src/index.rs.", Some("in crates/[src/index.rs].")),
            ("日本", "これは日本語です", Some("これは[日本]語です")),
            ("ДОМ дом", "Мой Дом", Some("Мой [Дом]")),
            ("ΟΔΟΣ", "οδός, οδος", Some("οδός, [οδος]")),
            ("İ", "İstanbul", Some("[İ]stanbul")),
            ("b a", "ab", Some("[ab]")),
            ("one two", "two\n\n then ONE", Some("[two] then [ONE]")),
            ("\"one two\"", "one\n\ttwo", Some("[one two]")),
            ("\"one two\"", "two one", None),
            ("one \"two three", "two three, one", Some("[two three], [one]")),
            ("one two", "one", None),
            ("a.c", "abc", None),
            (" \"\" ", "x", None),
            ("aa", "aaaa", Some("[aaaa]")),
        ];
        for (query, text, expected) in cases {
            assert_eq!(marked(query, text).as_deref(), expected, "{query} in {text}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = format!("{}needle{}", "é".repeat(500), "ü".repeat(500));
        let marked = marked("NEEDLE", &text).unwrap();
        assert_eq!(marked, format!("{}[needle]{}", "é".repeat(40), "ü".repeat(114)));
    }

    #[test]
    fn both_implementations_of_fold_agree() {
        for text in ["", "aB\u{a0}c", "ẞ ﬀ Ǆ İ Σς", "𐐀日本\u{3000}x"] {
            let mut folded = Vec::new();
            fold(text, &mut folded);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(fold_with_origins(&words).0, folded, "{text}");
        }
    }
}
