//! Patterns for names of tools: a glob, alternatives, or a regular expression.

use regex_lite::{Regex, RegexBuilder};

/// A pattern for names.
#[derive(Debug, Clone)]
pub struct Matcher {
    pattern: String,
    /// `None` matches every name.
    regex: Option<Regex>,
}

/// A pattern that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid pattern \"{pattern}\": {problem}")]
pub struct MatcherError {
    pattern: String,
    problem: String,
}

impl Matcher {
    /// Parses a pattern. An empty pattern and `*` match every name. A pattern of letters, digits,
    /// `_`, `-`, `:`, `/`, `*`, `?` and `|` is a list of globs, any other pattern a regular
    /// expression for the whole name. Case does not matter.
    pub fn parse(pattern: &str) -> Result<Self, MatcherError> {
        let trimmed = pattern.trim();
        if trimmed.is_empty() || trimmed == "*" {
            return Ok(Self { pattern: pattern.to_owned(), regex: None });
        }
        let is_glob = |c: char| c.is_alphanumeric() || "_-:/*?|".contains(c);
        let body = match trimmed.chars().all(is_glob) {
            true => trimmed.replace('*', ".*").replace('?', "."),
            false => trimmed.to_owned(),
        };
        let regex = RegexBuilder::new(&format!("^(?:{body})$")).case_insensitive(true).build();
        let regex = regex.map_err(|error| MatcherError {
            pattern: pattern.to_owned(),
            problem: error.to_string(),
        })?;
        Ok(Self { pattern: pattern.to_owned(), regex: Some(regex) })
    }

    /// Returns true if the pattern matches every name.
    pub fn matches_all(&self) -> bool {
        self.regex.is_none()
    }

    /// Returns true if the pattern matches a name.
    pub fn matches(&self, name: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(name))
    }

    /// Returns the pattern as it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_globs_alternatives_or_regular_expressions() {
        let cases = [
            ("", "bash", true),
            ("*", "bash", true),
            ("bash", "bash", true),
            ("Bash", "bash", true),
            ("bash", "bash2", false),
            ("Edit|Write", "write", true),
            ("Edit|Write", "read", false),
            ("mcp__*", "mcp__files__read", true),
            ("mcp__*", "mcp", false),
            ("mcp__.*__write", "mcp__files__write", true),
            ("mcp__.*__write", "mcp__files__write_all", false),
            ("^(read|ls)$", "ls", true),
            ("rea?", "read", true),
        ];
        for (pattern, name, expected) in cases {
            let matcher = Matcher::parse(pattern).unwrap();
            assert_eq!(matcher.matches(name), expected, "{pattern} {name}");
        }
        let error = Matcher::parse("(open").unwrap_err().to_string();
        assert!(error.starts_with("invalid pattern \"(open\": "), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_pattern_or_an_error(pattern: String, name: String) {
            if let Ok(matcher) = Matcher::parse(&pattern) {
                let _ = matcher.matches(&name);
            }
        }
    }
}
