//! Patterns of files in a contract.
//!
//! A pattern is relative to the workspace. `*` stays in one directory and `**` does not. A pattern
//! without a slash applies in every directory, and one that names a directory to all that is in it.

use globset::{Error, GlobBuilder, GlobMatcher};

/// A pattern of files.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// The pattern as the contract has it.
    pub(crate) text: String,
    matchers: Vec<GlobMatcher>,
}

impl Pattern {
    /// Parses a pattern.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let plain = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let anywhere = match plain.strip_prefix('/') {
            Some(rooted) => rooted.to_owned(),
            None if plain.contains('/') => plain.to_owned(),
            None => format!("**/{plain}"),
        };
        let compile = |glob: &str| {
            let glob = GlobBuilder::new(glob).literal_separator(true).build()?;
            Ok::<_, Error>(glob.compile_matcher())
        };
        let matchers = vec![compile(&anywhere)?, compile(&format!("{anywhere}/**"))?];
        Ok(Self { text: text.to_owned(), matchers })
    }

    /// Parses patterns.
    pub(crate) fn all(texts: &[String]) -> Result<Vec<Self>, Error> {
        texts.iter().map(|text| Self::new(text)).collect()
    }

    /// Returns true if the pattern applies to a path.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(path))
    }

    /// Returns true if the pattern applies to a path and says so: it has a name without wildcards.
    /// `**/*.py` names nothing, `tests/**` and `**/Makefile` do.
    pub(crate) fn names(&self, path: &str) -> bool {
        let is_name =
            |part: &str| !part.is_empty() && part != "." && !part.contains(['*', '?', '[', '{']);
        self.text.split('/').any(is_name) && self.matches(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("tests", "tests/a/b.py", true, true),
            ("tests/", "tests/a.py", true, true),
            ("tests/**", "tests/a/b.py", true, true),
            ("tests/*", "tests/a.py", true, true),
            ("./src/*.rs", "src/a.rs", true, true),
            ("src/*.rs", "src/a/b.rs", false, false),
            ("*.py", "a/b.py", true, false),
            ("/*.py", "a/b.py", false, false),
            ("**/*.py", "a/b.py", true, false),
            ("**", "a", true, false),
            ("Makefile", "sub/Makefile", true, true),
            ("Makefile", "Makefile.bak", false, false),
        ];
        for (pattern, path, matches, names) in cases {
            let found =
                Pattern::new(pattern).map(|pattern| (pattern.matches(path), pattern.names(path)));
            assert_eq!(found.ok(), Some((matches, names)), "{pattern} {path}");
        }
        assert!(Pattern::new("a[").is_err());
    }
}
