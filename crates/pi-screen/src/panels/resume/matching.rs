//! Queries of the session selector, and which sessions they find. Pure.
//!
//! A query is words, phrases in quotation marks, or `re:` and a regular expression. Words and phrases
//! are found literally in name, first message, id and directory here, and in all messages by the
//! index (see `worker`); what is not found literally may still match with gaps (fuzzy).

use pi_session::SessionInfo;
use pi_tui::fuzzy;
use regex_lite::{Regex, RegexBuilder};

/// The longest regular expression that is used, in bytes.
const LONGEST_PATTERN: usize = 1000;

/// A parsed query.
pub(super) enum Query {
    /// Everything matches.
    Empty,
    Pattern(Result<Regex, String>),
    Terms {
        /// The query as it was typed.
        text: String,
        /// Words and phrases, in lower case.
        terms: Vec<String>,
        fuzzy: fuzzy::Query,
        /// A phrase never matches with gaps.
        has_phrase: bool,
    },
}

/// Quality of the match of a session; the best is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quality {
    Name,
    Text,
    /// In a message that the list does not have.
    Message,
    Fuzzy,
}

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("re:") {
            return match pattern.trim() {
                "" => Self::Empty,
                pattern => Self::Pattern(regex(pattern)),
            };
        }
        let mut terms = Vec::new();
        let mut has_phrase = false;
        for (at, part) in text.split('"').enumerate() {
            // Every other part is between quotation marks.
            if at % 2 == 1 {
                let phrase = part.split_whitespace().collect::<Vec<_>>().join(" ");
                has_phrase |= !phrase.is_empty();
                terms.push(phrase.to_lowercase());
            } else {
                terms.extend(part.split_whitespace().map(str::to_lowercase));
            }
        }
        terms.retain(|term| !term.is_empty());
        if terms.is_empty() {
            return Self::Empty;
        }
        let fuzzy = fuzzy::Query::new(text);
        Self::Terms { text: text.to_owned(), terms, fuzzy, has_phrase }
    }

    /// Returns the query for the index of all messages, if it has one.
    pub(super) fn full_text(&self) -> Option<&str> {
        match self {
            Self::Terms { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns what is wrong with the query.
    pub(super) fn problem(&self) -> Option<&str> {
        match self {
            Self::Pattern(Err(problem)) => Some(problem),
            _ => None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns how well a session matches, and the score of a match with gaps. `is_found` is true
    /// if the index found the query in its messages.
    pub(super) fn quality(
        &self,
        session: &SessionInfo,
        is_found: bool,
    ) -> Option<(Quality, Option<fuzzy::Score>)> {
        let name = session.name.as_deref().unwrap_or_default();
        let others = [session.first_message.as_str(), &session.id, &session.cwd];
        match self {
            Self::Empty => Some((Quality::Text, None)),
            Self::Pattern(Err(_)) => None,
            Self::Pattern(Ok(regex)) => {
                if regex.is_match(name) {
                    return Some((Quality::Name, None));
                }
                others.iter().any(|text| regex.is_match(text)).then_some((Quality::Text, None))
            }
            Self::Terms { terms, fuzzy, has_phrase, .. } => {
                let name = name.to_lowercase();
                if terms.iter().all(|term| name.contains(term)) {
                    return Some((Quality::Name, None));
                }
                let texts = [
                    name,
                    words(&session.first_message),
                    session.id.to_lowercase(),
                    session.cwd.to_lowercase(),
                ];
                if terms.iter().all(|term| texts.iter().any(|text| text.contains(term))) {
                    return Some((Quality::Text, None));
                }
                if is_found {
                    return Some((Quality::Message, None));
                }
                if *has_phrase {
                    return None;
                }
                let title = session.name.as_ref().unwrap_or(&session.first_message);
                fuzzy.score(title).map(|score| (Quality::Fuzzy, Some(score)))
            }
        }
    }
}

/// Returns a text in lower case with single spaces, so that phrases match across lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn regex(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > LONGEST_PATTERN {
        return Err("the pattern is too long".to_owned());
    }
    RegexBuilder::new(pattern).case_insensitive(true).build().map_err(|error| error.to_string())
}
