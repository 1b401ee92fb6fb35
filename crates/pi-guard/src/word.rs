//! Words of commands: literal, or unknown before the script runs.

use serde::Serialize;

/// The reason why a word with a `*` is unknown.
pub(crate) const PATTERN: &str = "a file name pattern";

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Word {
    /// A word that the script determines.
    Literal {
        /// The word after quote removal.
        text: String,
        /// The word as it is written.
        raw: String,
    },
    /// A word that only running the script determines.
    #[serde(rename_all = "camelCase")]
    Unknown {
        /// The word as it is written.
        raw: String,
        /// The beginning that is certain.
        prefix: String,
        /// The word may become several words, or none.
        many: bool,
        /// The reason why the word is unknown.
        why: &'static str,
    },
}

impl Word {
    /// A literal word that needs no quotes.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::Literal { raw: text.clone(), text }
    }

    pub(crate) fn unknown(raw: &str, why: &'static str) -> Self {
        Self::Unknown { raw: raw.to_owned(), prefix: String::new(), many: true, why }
    }

    /// Returns the word if it is literal.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal { text, .. } => Some(text),
            Self::Unknown { .. } => None,
        }
    }

    /// Returns the word as it is written in the script.
    #[must_use]
    pub fn raw(&self) -> &str {
        match self {
            Self::Literal { raw, .. } | Self::Unknown { raw, .. } => raw,
        }
    }

    /// Returns true if the word is an option or may become one.
    #[must_use]
    pub fn may_be_option(&self) -> bool {
        match self {
            Self::Literal { text, .. } => text.starts_with('-'),
            // All names that a pattern matches begin like the pattern.
            Self::Unknown { prefix, many, why, .. } => {
                *many && *why != PATTERN || prefix.is_empty() || prefix.starts_with('-')
            }
        }
    }
}

/// Returns the last component of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
