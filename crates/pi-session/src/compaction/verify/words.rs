//! A rough measure of how much of one text another text repeats.
//!
//! Summaries rephrase. A check can only ask for what rephrasing keeps: names, paths and numbers
//! literally, and most of the longer words.

use std::collections::HashSet;

/// The part of the names and numbers in a statement that has to be repeated literally.
const NAMES: f64 = 0.8;

/// Shorter words, such as articles and prepositions, say nothing about the subject.
const SHORTEST: usize = 4;

/// Words are compared up to this length, so that most endings do not matter.
const COMPARED: usize = 5;

/// The words of a text that a paraphrase is expected to keep.
#[derive(Debug, Default)]
pub(super) struct Words {
    names: HashSet<String>,
    others: HashSet<String>,
}

impl Words {
    pub(super) fn of(text: &str) -> Self {
        let mut words = Self::default();
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':');
        for token in text.split(|c: char| !in_word(c)) {
            let token = token.trim_matches(['.', '/', ':']);
            // `src/lib.rs` is also named by `lib.rs`.
            words.add(token.rsplit_once('/').map_or(token, |(_, name)| name));
        }
        words
    }

    fn add(&mut self, word: &str) {
        if word.chars().any(is_ideograph) {
            // No spaces separate the words of these languages.
            let characters: Vec<char> = word.chars().collect();
            self.others.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if is_name(word) {
            self.names.insert(word.to_lowercase());
        } else if word.chars().count() >= SHORTEST {
            self.others.insert(word.to_lowercase().chars().take(COMPARED).collect());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.others.is_empty()
    }

    /// Returns true if these words contain nearly all names of `statement` and at least `share` of
    /// its other words.
    pub(super) fn cover(&self, statement: &Self, share: f64) -> bool {
        let part = |of: &HashSet<String>, among: &HashSet<String>| {
            let common = of.intersection(among).count();
            if of.is_empty() { 1.0 } else { common as f64 / of.len() as f64 }
        };
        part(&statement.names, &self.names) >= NAMES
            && part(&statement.others, &self.others) >= share
    }
}

/// Returns true for names and numbers, which cannot be rephrased: `v1.2`, `a_b`, `RetryPolicy`.
fn is_name(word: &str) -> bool {
    let is_camel_case =
        word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    is_camel_case || word.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | ':'))
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paraphrase_keeps_names_and_most_words() {
        let cases = [
            ("Never touch src/generated.", "Do not modify `src/generated`, never touch it", true),
            ("Never touch src/generated.", "Uses tabs for indentation", false),
            ("It must support Python 3.9", "Python 3.9 support is required", true),
            ("It must support Python 3.9", "Python 3.8 support is required", false),
            ("Document `RetryPolicy`", "`RetryPolicy` is to be documented", true),
            ("Document `RetryPolicy`", "the retry documentation", false),
            ("不要修改测试文件", "用户要求:不要修改测试文件", true),
            ("不要修改测试文件", "使用制表符", false),
        ];
        for (statement, text, expected) in cases {
            let covered = Words::of(text).cover(&Words::of(statement), 0.6);
            assert_eq!(covered, expected, "{statement:?} in {text:?}");
        }
    }
}
