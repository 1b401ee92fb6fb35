//! Fuzzy matching: texts that contain the letters of a query in order, best first.

/// A number that tells how well a text matches, in tenths of a point. Lower is better.
pub type Score = i64;

/// Points for the n-th character of a run that follows another match: n times this.
const RUN: Score = -50;
/// Points for a match at the start of a word.
const WORD_START: Score = -100;
/// Points for a query that is the whole text.
const EQUAL: Score = -1000;
/// Points for a character between two matches.
const GAP: Score = 20;
/// Points for each character before a match.
const POSITION: Score = 1;
/// Points for a query whose letters and digits had to be exchanged.
const EXCHANGED: Score = 50;

/// Returns the score of a text, or nothing if it does not match. Case is ignored. Words of the
/// query, separated by spaces or slashes, match independently, and their scores are added.
pub fn score(query: &str, text: &str) -> Option<Score> {
    Query::new(query).score(text)
}

/// Returns the indices of the items that match, best first; equal ones keep their order.
pub fn filter<'a, T, S: AsRef<str>>(
    query: &str,
    items: &'a [T],
    text: impl Fn(&'a T) -> S,
) -> Vec<usize> {
    let query = Query::new(query);
    let scored = items.iter().enumerate();
    let mut matches: Vec<(Score, usize)> = scored
        .filter_map(|(index, item)| Some((query.score(text(item).as_ref())?, index)))
        .collect();
    matches.sort_unstable();
    matches.into_iter().map(|(_, index)| index).collect()
}

/// A query, prepared for many texts.
#[derive(Debug, Clone)]
pub struct Query {
    whole: Vec<char>,
    words: Vec<Word>,
}

#[derive(Debug, Clone)]
struct Word {
    letters: Vec<char>,
    /// The word with letters and digits exchanged (`5gpt` for `gpt5`), if it is of that form.
    exchanged: Option<Vec<char>>,
}

impl Query {
    /// Creates a query.
    pub fn new(query: &str) -> Self {
        let query = query.trim();
        let words = query.split([' ', '/']).filter(|word| !word.is_empty()).map(|word| {
            let letters = lower(word);
            let exchanged = exchanged(&letters);
            Word { letters, exchanged }
        });
        Self { whole: lower(query), words: words.collect() }
    }

    /// Returns the score of a text, or nothing if it does not match.
    pub fn score(&self, text: &str) -> Option<Score> {
        let text = lower(text);
        let mut sum = if !self.whole.is_empty() && self.whole == text { EQUAL } else { 0 };
        for word in &self.words {
            let exchanged = || {
                let letters = word.exchanged.as_ref()?;
                Some(best(letters, &text)? + EXCHANGED)
            };
            sum += best(&word.letters, &text).or_else(exchanged)?;
        }
        Some(sum)
    }
}

fn lower(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Returns `digits letters` for `letters digits` and the other way round.
fn exchanged(word: &[char]) -> Option<Vec<char>> {
    let starts_with_digit = word.first()?.is_ascii_digit();
    let middle = word.iter().position(|it| it.is_ascii_digit() != starts_with_digit)?;
    let (first, second) = word.split_at(middle);
    let (letters, digits) = if starts_with_digit { (second, first) } else { (first, second) };
    let is_valid =
        letters.iter().all(char::is_ascii_lowercase) && digits.iter().all(char::is_ascii_digit);
    is_valid.then(|| [second, first].concat())
}

/// Returns the best score of a word: that of its first scattered match, or of one of the places
/// where it stands in one piece.
fn best(word: &[char], text: &[char]) -> Option<Score> {
    if word.is_empty() {
        return Some(0);
    }
    let mut start = 0;
    let scattered = word.iter().map(|letter| {
        let rest = text.get(start..)?;
        let position = start + rest.iter().position(|other| other == letter)?;
        start = position + 1;
        Some(position)
    });
    let scattered: Vec<usize> = scattered.collect::<Option<_>>()?;
    let whole = text.windows(word.len()).enumerate().filter(|(_, window)| *window == word);
    let whole = whole.map(|(start, _)| sum(text, start..start + word.len())).min();
    let scattered = sum(text, scattered);
    Some(whole.map_or(scattered, |whole| whole.min(scattered)))
}

/// Returns the score of matches at these positions.
fn sum(text: &[char], positions: impl IntoIterator<Item = usize>) -> Score {
    let count = |number: usize| Score::try_from(number).unwrap_or(Score::MAX / 1000);
    let mut score = 0;
    let mut run = 0;
    let mut previous: Option<usize> = None;
    for position in positions {
        match previous {
            Some(previous) if previous + 1 == position => {
                run += 1;
                score += RUN * run;
            }
            Some(previous) => {
                run = 0;
                score += GAP * count(position - previous - 1);
            }
            None => {}
        }
        let before = position.checked_sub(1).and_then(|before| text.get(before));
        if before.is_none_or(|before| before.is_whitespace() || "-_./:".contains(*before)) {
            score += WORD_START;
        }
        score += POSITION * count(position);
        previous = Some(position);
    }
    score
}
