//! Versions of npm packages: semantic versioning 2.0, with the order of precedence.

use std::cmp::Ordering;
use std::fmt;

/// A version. Build metadata is not kept, since it has no precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The three numbers.
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    /// Identifiers of a prerelease; empty for a release.
    pub(crate) pre: Vec<Identifier>,
}

/// A part of the prerelease, between dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identifier {
    // Numbers precede words.
    Number(u64),
    Word(String),
}

impl Version {
    pub(crate) const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, pre: Vec::new() }
    }

    /// Returns the lowest version with these numbers: `1.2.3-0`.
    pub(crate) fn lowest(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, pre: vec![Identifier::Number(0)] }
    }

    /// Parses `1.2.3`, `v1.2.3`, `1.2.3-beta.1+build`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix(['v', '=']).unwrap_or(text).trim_start();
        let text = text.split('+').next().unwrap_or(text);
        let (numbers, pre) = match text.split_once('-') {
            Some((numbers, pre)) => (numbers, prerelease(pre)?),
            None => (text, Vec::new()),
        };
        let mut numbers = numbers.split('.').map(number);
        let (major, minor, patch) = (numbers.next()??, numbers.next()??, numbers.next()??);
        if numbers.next().is_some() {
            return None;
        }
        Some(Self { major, minor, patch, pre })
    }

    pub(crate) fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }

    /// Returns true if the three numbers are equal.
    pub(crate) fn has_numbers_of(&self, other: &Self) -> bool {
        (self.major, self.minor, self.patch) == (other.major, other.minor, other.patch)
    }
}

/// Parses a number of a version, without leading zeros.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with('0');
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_canonical && is_digits { text.parse().ok() } else { None }
}

/// Parses the identifiers of a prerelease.
pub(crate) fn prerelease(text: &str) -> Option<Vec<Identifier>> {
    let identifier = |part: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if part.is_empty() || !part.chars().all(is_word) {
            return None;
        }
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            return number(part).map(Identifier::Number);
        }
        Some(Identifier::Word(part.to_owned()))
    };
    text.split('.').map(identifier).collect()
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            // A release follows its prereleases.
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre.cmp(&other.pre),
            }
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (index, identifier) in self.pre.iter().enumerate() {
            f.write_str(if index == 0 { "-" } else { "." })?;
            match identifier {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Word(word) => f.write_str(word)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_precedence() {
        let ordered = [
            "0.0.0-0",
            "0.0.0",
            "0.9.9",
            "1.0.0-1",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.2.0",
            "1.10.0",
        ];
        let versions: Vec<Version> =
            ordered.iter().map(|text| Version::parse(text).unwrap()).collect();
        for pair in versions.windows(2) {
            assert!(pair[0] < pair[1], "{} < {}", pair[0], pair[1]);
        }
        for (text, version) in ordered.iter().zip(&versions) {
            assert_eq!(version.to_string(), *text);
        }
        assert_eq!(Version::parse("v1.2.3+build.5"), Version::parse(" =1.2.3 "));
    }

    #[test]
    fn other_texts_are_not_versions() {
        for text in
            ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "1.2.3-a..b", "1.2.3-é"]
        {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert_eq!(Version::parse("99999999999999999999.0.0"), None);
    }
}
