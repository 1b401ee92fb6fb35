//! The order of a dictionary: punctuation, digits, letters; accents and case decide later.
//!
//! Follows the default order of the Unicode collation for the scripts in use. Letters of other
//! scripts follow by their code points.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Options of a comparison, as `Intl.Collator` has them.
pub(super) struct Rules<'a> {
    /// `base`, `accent`, `case` or `variant`.
    pub(super) sensitivity: &'a str,
    pub(super) is_numeric: bool,
    pub(super) upper_first: bool,
    pub(super) ignores_punctuation: bool,
}

/// Punctuation and symbols in their order.
const PUNCTUATION: &str = "_-–—,;:!?.…'‘’\"“”()[]{}@*/\\&#%`^+<=>|~";

/// Currency signs, after all other symbols.
const CURRENCIES: &str = "¤¢$£¥€₩₹";

/// The main weight of a character: a group, and the place in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Primary {
    Space(u32),
    Punctuation(usize, u32),
    /// Length and digits, so that longer numbers are larger.
    Number(usize, String),
    Letter(u32),
}

/// A character taken apart: its weight, its accents and whether it is a capital.
#[derive(Debug)]
struct Unit {
    primary: Primary,
    accents: Vec<char>,
    is_upper: bool,
}

/// Compares two texts.
pub(super) fn compare(a: &str, b: &str, rules: &Rules<'_>) -> Ordering {
    let (first, second) = (units(a, rules), units(b, rules));
    let primary =
        first.iter().map(|unit| &unit.primary).cmp(second.iter().map(|unit| &unit.primary));
    if primary.is_ne() || rules.sensitivity == "base" {
        return primary;
    }
    if rules.sensitivity != "case" {
        let accents = first.iter().map(|unit| &unit.accents);
        let order = accents.cmp(second.iter().map(|unit| &unit.accents));
        if order.is_ne() || rules.sensitivity == "accent" {
            return order;
        }
    }
    let case = first.iter().map(|unit| unit.is_upper).cmp(second.iter().map(|unit| unit.is_upper));
    let case = if rules.upper_first { case.reverse() } else { case };
    if rules.sensitivity == "variant" && !rules.ignores_punctuation {
        // Forms of one character, such as a superscript, differ last.
        return case.then_with(|| a.nfd().cmp(b.nfd()));
    }
    case
}

fn units(text: &str, rules: &Rules<'_>) -> Vec<Unit> {
    let mut all: Vec<Unit> = Vec::new();
    let mut characters = text.nfkd().flat_map(expand).peekable();
    while let Some(character) = characters.next() {
        if is_combining_mark(character) {
            if let Some(last) = all.last_mut() {
                last.accents.push(character);
            }
            continue;
        }
        // Control characters have no weight.
        if character.is_control() && !character.is_whitespace() {
            continue;
        }
        let primary = if rules.is_numeric && character.is_ascii_digit() {
            let mut digits = String::from(character);
            while let Some(digit) = characters.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let digits = digits.trim_start_matches('0').to_owned();
            Primary::Number(digits.len(), digits)
        } else {
            weight(character)
        };
        let is_punctuation = matches!(primary, Primary::Space(_) | Primary::Punctuation(..));
        if !(rules.ignores_punctuation && is_punctuation) {
            all.push(Unit { primary, accents: Vec::new(), is_upper: character.is_uppercase() });
        }
    }
    all
}

/// Letters that are sorted as others: with an accent of their own, or as two.
fn expand(character: char) -> impl Iterator<Item = char> {
    let text = match character {
        'ß' => "ss\u{301}",
        'æ' => "a\u{307}e",
        'Æ' => "A\u{307}E",
        'œ' => "o\u{307}e",
        'Œ' => "O\u{307}E",
        'ø' => "o\u{338}",
        'Ø' => "O\u{338}",
        'đ' => "d\u{338}",
        'Đ' => "D\u{338}",
        'ł' => "l\u{338}",
        'Ł' => "L\u{338}",
        'ı' => "i\u{30a}",
        _ => "",
    };
    let alone = text.is_empty().then_some(character);
    text.chars().chain(alone)
}

fn weight(character: char) -> Primary {
    if character.is_whitespace() {
        return Primary::Space(u32::from(character));
    }
    if let Some(place) = PUNCTUATION.find(character) {
        return Primary::Punctuation(place, 0);
    }
    if let Some(digit) = character.to_digit(10) {
        return Primary::Number(1, digit.to_string());
    }
    if let Some(place) = CURRENCIES.find(character) {
        return Primary::Punctuation(usize::MAX, u32::try_from(place).unwrap_or_default());
    }
    if !character.is_alphanumeric() {
        return Primary::Punctuation(usize::MAX - 1, u32::from(character));
    }
    let lower = character.to_lowercase().next().unwrap_or(character);
    // Latin before Greek and Cyrillic, and these before all others, as their code points are.
    Primary::Letter(u32::from(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(mut texts: Vec<&'a str>, rules: &Rules<'_>) -> Vec<&'a str> {
        texts.sort_by(|a, b| compare(a, b, rules));
        texts
    }

    #[test]
    fn texts_are_in_the_order_of_a_dictionary() {
        let rules = |sensitivity, is_numeric| Rules {
            sensitivity,
            is_numeric,
            upper_first: false,
            ignores_punctuation: false,
        };
        let mixed = vec!["b", "a", "C", "ä", "A", "_", "1", "10", "2", " ", "résumé", "resume"];
        assert_eq!(
            sorted(mixed, &rules("variant", false)),
            [" ", "_", "1", "10", "2", "a", "A", "ä", "b", "C", "resume", "résumé"]
        );
        assert_eq!(sorted(vec!["a10", "a2", "a1"], &rules("variant", true)), ["a1", "a2", "a10"]);
        let equal = |a, b, sensitivity| compare(a, b, &rules(sensitivity, false)).is_eq();
        assert!(equal("a", "Á", "base"));
        assert!(equal("a", "A", "accent"));
        assert!(!equal("a", "á", "accent"));
        assert!(equal("a", "á", "case"));
        assert!(!equal("a", "A", "case"));
        assert_eq!(compare("co-op", "coop", &rules("variant", false)), Ordering::Less);
    }
}
