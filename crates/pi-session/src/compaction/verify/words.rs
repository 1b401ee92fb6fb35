//! Whether one text says what another one said, by rule.
//!
//! Summaries rephrase. What has to survive rephrasing are the words that carry meaning: names,
//! paths, numbers and quoted text literally, other words up to their ending, and whether the
//! sentence affirms or denies.

use std::collections::HashSet;
use std::sync::LazyLock;

/// How much of a statement another text has to contain to count as saying it.
const ENOUGH: f64 = 0.6;

/// The part of a statement beyond which an opposite sense is a contradiction and no coincidence.
const SAME_SUBJECT: f64 = 0.7;

/// How many of the names and numbers in a statement have to be there literally.
const ENOUGH_NAMES: f64 = 0.8;

/// A statement, reduced to what has to survive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    words: HashSet<String>,
    negative: bool,
}

/// What a text makes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// It says it.
    Yes,
    /// It says the opposite.
    Contradicted,
    /// It does not say it.
    No,
}

impl Statement {
    pub(crate) fn new(text: &str) -> Self {
        let words: HashSet<String> = words(text).filter(|word| !is_stop_word(word)).collect();
        Self { words, negative: is_negative(text) }
    }

    /// There is nothing in it that could survive.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The part of this statement's words that `other` has.
    fn share_in(&self, other: &HashSet<String>) -> f64 {
        let share = |of: fn(&str) -> bool| {
            let all = self.words.iter().filter(|word| of(word));
            let (found, count) = all.fold((0, 0), |(found, count), word| {
                (found + u32::from(other.contains(word)), count + 1)
            });
            if count == 0 { 1.0 } else { f64::from(found) / f64::from(count) }
        };
        if share(is_name) < ENOUGH_NAMES { 0.0 } else { share(|_| true) }
    }

    /// Two statements about the same thing, one affirming what the other denies.
    pub(crate) fn opposes(&self, other: &Self) -> bool {
        self.negative != other.negative
            && self.share_in(&other.words).max(other.share_in(&self.words)) >= SAME_SUBJECT
            && self.share_in(&other.words).min(other.share_in(&self.words)) >= 0.4
    }

    /// Two statements that say the same.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        self.negative == other.negative && self.share_in(&other.words) >= 0.9
    }
}

/// A text, prepared to be asked about many statements.
#[derive(Debug)]
pub(crate) struct Text {
    sentences: Vec<Statement>,
    all: HashSet<String>,
}

impl Text {
    pub(crate) fn new(text: &str) -> Self {
        let sentences: Vec<Statement> = sentences(text).map(Statement::new).collect();
        Self { sentences, all: words(text).collect() }
    }

    /// Whether some sentence says the statement, or only its opposite.
    pub(crate) fn carries(&self, statement: &Statement) -> Carried {
        let about = |least: f64| {
            self.sentences.iter().filter(move |s| statement.share_in(&s.words) >= least)
        };
        if about(ENOUGH).any(|sentence| sentence.negative == statement.negative) {
            Carried::Yes
        } else if about(SAME_SUBJECT).next().is_some() {
            Carried::Contradicted
        } else {
            Carried::No
        }
    }

    /// Whether the text as a whole has enough of the statement's words.
    pub(crate) fn covers(&self, statement: &Statement, least: f64) -> bool {
        statement.share_in(&self.all) >= least
    }
}

/// The sentences, lines and list items of a text, without their markers.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '。' | '！' | '？' | '；');
    text.lines()
        .map(strip_marker)
        .flat_map(move |line| line.split_inclusive(ends))
        .flat_map(split_at_stops)
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Splits at `. `, `! `, `? ` and `; `: a full stop inside a path or number ends nothing.
fn split_at_stops(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let stop = rest
            .char_indices()
            .zip(rest.chars().skip(1))
            .find(|((_, c), next)| matches!(c, '.' | '!' | '?' | ';') && next.is_whitespace());
        let end = stop.map_or(rest.len(), |((at, _), _)| at + 1);
        let (sentence, tail) = rest.split_at(end);
        rest = tail;
        Some(sentence)
    })
}

/// A line without list marker, checkbox, heading marks and quotes around it.
pub(crate) fn strip_marker(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '>', ' ']);
    let line =
        line.strip_prefix(['-', '*', '+', '•']).filter(|l| l.starts_with(' ')).unwrap_or(line);
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest,
        _ => line,
    };
    let line = line.trim();
    let boxes = ["[ ]", "[x]", "[X]"];
    boxes.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim()
}

/// The words of a text in lower case and without endings. Names, paths and numbers are one word
/// each; text without spaces between words becomes pairs of characters.
fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase().replace('’', "'");
    let mut found = Vec::new();
    let mut word = String::new();
    let mut ideograph: Option<char> = None;
    let end = |word: &mut String, found: &mut Vec<String>| {
        let whole = std::mem::take(word);
        let name = whole.trim_matches(['.', '/', ':', '\'']);
        // `src/lib.rs` is named by `lib.rs` too.
        if let Some((_, last)) = name.rsplit_once('/') {
            found.push(stem(last));
        } else if !name.is_empty() {
            found.push(stem(name));
        }
    };
    for c in lower.chars() {
        if is_ideograph(c) {
            end(&mut word, &mut found);
            if let Some(before) = ideograph {
                found.push(format!("{before}{c}"));
            }
            ideograph = Some(c);
            continue;
        }
        ideograph = None;
        if c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '\'') {
            word.push(c);
        } else {
            end(&mut word, &mut found);
        }
    }
    end(&mut word, &mut found);
    found.into_iter()
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// A word without a common ending. Names, which are not plain letters, stay as they are.
fn stem(word: &str) -> String {
    if word.len() > 4 && word.chars().all(|c| c.is_ascii_alphabetic()) {
        for ending in ["ing", "ies", "ed", "es", "s"] {
            if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() >= 3) {
                return stem.trim_end_matches('e').to_owned();
            }
        }
        return word.trim_end_matches('e').to_owned();
    }
    word.to_owned()
}

/// Names and numbers: what cannot be said in other words.
fn is_name(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | '/' | ':'))
}

/// Words that say nothing about the subject. Those that deny are compared on their own.
const STOP_WORDS: &str = "\
    a about actually after all also alway always am an and any are as at avoid be been but by can \
    cannot could did do does don't doesn't ensur every for forbid from has hav have i i'd if in \
    into is isn't it its just keep let mak make may me might must mustn't my need never no non \
    not now of on only or our out pleas please prefer requir shall should shouldn't so some stop \
    sure than that the them then there these they this those to too under us use user want was \
    we were what when which will with without won't would you your";

/// Words that deny or forbid.
const DENIALS: &str = "\
    not never no without avoid avoids avoiding forbid forbids forbidden cannot none neither nor \
    stop refrain prohibited disallowed nicht nie kein keine keinen ohne pas jamais sans nunca sin \
    nao não sem";

/// The same, in languages that do not set words apart, and contracted.
const DENYING_PARTS: &[&str] =
    &["n't", "n’t", "不", "别", "勿", "禁", "ない", "ません", "しないで", "지 마"];

fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
    let is_letter = word.chars().count() == 1 && !word.chars().all(is_ideograph);
    is_letter || WORDS.contains(word)
}

/// Whether a sentence denies or forbids.
fn is_negative(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.any(|word| DENIALS.split_whitespace().any(|denial| denial == word))
        || DENYING_PARTS.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_summary_makes_of_a_statement() {
        use Carried::{Contradicted, No, Yes};
        let cases = [
            ("Never touch src/generated.", "- Do not modify `src/generated`, never touch it", Yes),
            ("Never touch src/generated.", "- Files in generated may be touched", Contradicted),
            ("Never touch src/generated.", "- Uses tabs for indentation", No),
            ("Use tabs for indentation", "- Indentation: tabs", Yes),
            ("Use tabs for indentation", "- No tabs for indentation", Contradicted),
            ("It must support Python 3.9", "- Python 3.9 support is required", Yes),
            ("It must support Python 3.9", "- Python 3.8 support is required", No),
            ("the API must stay backwards compatible", "- Backwards-compatible API", Yes),
            ("不要修改测试文件", "- 不要修改测试文件", Yes),
            ("不要修改测试文件", "- 使用制表符", No),
        ];
        for (statement, summary, expected) in cases {
            let found = Text::new(summary).carries(&Statement::new(statement));
            assert_eq!(found, expected, "{statement:?} in {summary:?}");
        }
    }

    #[test]
    fn sentences_are_split_where_they_end() {
        let text = "1. Use v1.2. Then go!\n- [ ] fix src/a.rs; test\n## Goal\n你好。再见";
        let found: Vec<&str> = sentences(text).collect();
        assert_eq!(
            found,
            ["Use v1.2.", "Then go!", "fix src/a.rs;", "test", "Goal", "你好。", "再见"]
        );
    }
}
