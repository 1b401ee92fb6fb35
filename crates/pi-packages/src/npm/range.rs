//! Ranges of versions in the syntax of npm: `^1.2`, `~1.2.3`, `1.x || >=2 <3`, `1.2 - 2.3`.

use super::version::{Identifier, Version, number, prerelease};

/// A range: alternatives, each of which is a list of conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The range as written.
    text: String,
    alternatives: Vec<Vec<Comparator>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparator {
    operator: Operator,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

impl Range {
    /// Parses a range. The empty text and `*` are satisfied by every release.
    pub fn parse(text: &str) -> Option<Self> {
        let alternatives = text.split("||").map(alternative).collect::<Option<_>>()?;
        Some(Self { text: text.trim().to_owned(), alternatives })
    }

    /// Returns true if the version is in the range. A prerelease is only in a range that names a
    /// prerelease of the same three numbers.
    pub fn contains(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|comparators| {
            let is_named = |one: &Comparator| {
                one.version.is_prerelease() && one.version.has_numbers_of(version)
            };
            comparators.iter().all(|one| one.accepts(version))
                && (!version.is_prerelease() || comparators.iter().any(is_named))
        })
    }

    /// Returns true if the range has no condition.
    pub(crate) fn is_any(&self) -> bool {
        self.alternatives.iter().any(Vec::is_empty)
    }

    /// Returns the only version of the range.
    pub(crate) fn exact(&self) -> Option<&Version> {
        match self.alternatives.as_slice() {
            [one] => match one.as_slice() {
                [Comparator { operator: Operator::Equal, version }] => Some(version),
                _ => None,
            },
            _ => None,
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Comparator {
    fn accepts(&self, version: &Version) -> bool {
        match self.operator {
            Operator::Less => *version < self.version,
            Operator::LessOrEqual => *version <= self.version,
            Operator::Greater => *version > self.version,
            Operator::GreaterOrEqual => *version >= self.version,
            Operator::Equal => *version == self.version,
        }
    }
}

/// A version of which the last numbers may be missing.
#[derive(Debug, Clone, Default)]
struct Partial {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Vec<Identifier>,
}

impl Partial {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches(['v', '=']).trim();
        let text = text.split('+').next().unwrap_or(text);
        let (numbers, pre) = match text.split_once('-') {
            Some((numbers, pre)) => (numbers, prerelease(pre)?),
            None => (text, Vec::new()),
        };
        let mut found = Vec::new();
        for part in numbers.split('.') {
            match part {
                "" if text.is_empty() => found.push(None),
                "x" | "X" | "*" => found.push(None),
                digits => found.push(Some(number(digits)?)),
            }
        }
        if found.len() > 3 {
            return None;
        }
        // A number after a placeholder has no meaning: `1.x.3` is `1.x`.
        let known: Vec<u64> = found.into_iter().map_while(|number| number).collect();
        let at = |index: usize| known.get(index).copied();
        let pre = if known.len() == 3 { pre } else { Vec::new() };
        Some(Self { major: at(0), minor: at(1), patch: at(2), pre })
    }

    /// Returns the lowest version that fits.
    fn floor(&self) -> Version {
        let mut version =
            Version::new(self.major.unwrap_or(0), self.minor.unwrap_or(0), self.patch.unwrap_or(0));
        version.pre.clone_from(&self.pre);
        version
    }

    /// Returns the lowest version above all that fit; `None` if every version fits, or for a
    /// complete version.
    fn ceiling(&self) -> Option<Version> {
        match (self.major, self.minor, self.patch) {
            (Some(major), None, _) => Some(Version::lowest(major.saturating_add(1), 0, 0)),
            (Some(major), Some(minor), None) => {
                Some(Version::lowest(major, minor.saturating_add(1), 0))
            }
            _ => None,
        }
    }

    fn is_complete(&self) -> bool {
        self.patch.is_some()
    }
}

fn alternative(text: &str) -> Option<Vec<Comparator>> {
    if let Some((low, high)) = text.split_once(" - ") {
        let (low, high) = (Partial::parse(low.trim())?, Partial::parse(high.trim())?);
        let mut found = at_least(&low);
        match (high.is_complete(), high.ceiling()) {
            (true, _) => found.push(comparator(Operator::LessOrEqual, high.floor())),
            (false, Some(ceiling)) => found.push(comparator(Operator::Less, ceiling)),
            (false, None) => {}
        }
        return Some(found);
    }
    let mut found = Vec::new();
    let mut operator = String::new();
    for word in text.split_whitespace() {
        // An operator may stand apart from its version.
        let end = word.find(|c: char| !"<>=~^".contains(c)).unwrap_or(word.len());
        operator.push_str(&word[..end]);
        let version = &word[end..];
        if version.is_empty() {
            continue;
        }
        found.extend(desugar(&std::mem::take(&mut operator), &Partial::parse(version)?)?);
    }
    if operator.is_empty() { Some(found) } else { None }
}

/// Returns the conditions of one operator and its version.
fn desugar(operator: &str, version: &Partial) -> Option<Vec<Comparator>> {
    let floor = version.floor();
    let nothing = || vec![comparator(Operator::Less, Version::lowest(0, 0, 0))];
    let below = |ceiling: Option<Version>| {
        let mut found = at_least(version);
        found.extend(ceiling.map(|ceiling| comparator(Operator::Less, ceiling)));
        found
    };
    Some(match operator {
        "" | "=" if version.is_complete() => vec![comparator(Operator::Equal, floor)],
        "" | "=" => below(version.ceiling()),
        "^" => below(caret_ceiling(version)),
        "~" | "~>" => below(match version.ceiling() {
            Some(ceiling) => Some(ceiling),
            None if version.is_complete() => {
                Some(Version::lowest(floor.major, floor.minor.saturating_add(1), 0))
            }
            None => None,
        }),
        ">=" => at_least(version),
        ">" if version.is_complete() => vec![comparator(Operator::Greater, floor)],
        ">" => match version.ceiling() {
            Some(mut ceiling) => {
                ceiling.pre.clear();
                vec![comparator(Operator::GreaterOrEqual, ceiling)]
            }
            None => nothing(),
        },
        "<" if version.is_complete() => vec![comparator(Operator::Less, floor)],
        "<" if version.major.is_none() => nothing(),
        "<" => {
            let lowest = Version::lowest(floor.major, floor.minor, floor.patch);
            vec![comparator(Operator::Less, lowest)]
        }
        "<=" if version.is_complete() => vec![comparator(Operator::LessOrEqual, floor)],
        "<=" => {
            let ceiling = version.ceiling();
            ceiling.map(|ceiling| comparator(Operator::Less, ceiling)).into_iter().collect()
        }
        _ => return None,
    })
}

/// Returns the condition of the lowest version, unless every version fits.
fn at_least(version: &Partial) -> Vec<Comparator> {
    match version.major {
        Some(_) => vec![comparator(Operator::GreaterOrEqual, version.floor())],
        None => Vec::new(),
    }
}

/// Returns the first version beyond `^`: the one that changes the first number that is not zero.
fn caret_ceiling(version: &Partial) -> Option<Version> {
    let major = version.major?;
    Some(match (major, version.minor, version.patch) {
        (0, Some(0), Some(patch)) => Version::lowest(0, 0, patch.saturating_add(1)),
        (0, Some(minor), _) => Version::lowest(0, minor.saturating_add(1), 0),
        _ => Version::lowest(major.saturating_add(1), 0, 0),
    })
}

fn comparator(operator: Operator, version: Version) -> Comparator {
    Comparator { operator, version }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contains(range: &str, version: &str) -> bool {
        let range = Range::parse(range).unwrap_or_else(|| panic!("{range}"));
        range.contains(&Version::parse(version).unwrap())
    }

    #[test]
    fn ranges_contain_what_npm_says() {
        let rows: &[(&str, &[&str], &[&str])] = &[
            ("", &["0.0.0", "9.9.9"], &["1.0.0-a"]),
            ("*", &["1.2.3"], &["1.2.3-a"]),
            ("1.2.3", &["1.2.3"], &["1.2.4", "1.2.3-a"]),
            ("=v1.2.3", &["1.2.3"], &["1.2.4"]),
            ("1", &["1.0.0", "1.9.9"], &["2.0.0", "0.9.9", "2.0.0-0"]),
            ("1.x", &["1.9.9"], &["2.0.0"]),
            ("1.2.*", &["1.2.9"], &["1.3.0"]),
            ("^1.2.3", &["1.2.3", "1.9.0"], &["1.2.2", "2.0.0", "2.0.0-rc"]),
            ("^0.2.3", &["0.2.3", "0.2.9"], &["0.3.0", "0.2.2"]),
            ("^0.0.3", &["0.0.3"], &["0.0.4"]),
            ("^0.0", &["0.0.0", "0.0.9"], &["0.1.0"]),
            ("^0", &["0.9.9"], &["1.0.0"]),
            ("^0.0.0", &["0.0.0"], &["0.0.1"]),
            (
                "^1.2.3-beta.2",
                &["1.2.3-beta.4", "1.2.3", "1.3.0"],
                &["1.2.3-beta.1", "1.2.4-beta.3"],
            ),
            ("~1.2.3", &["1.2.9"], &["1.3.0"]),
            ("~1.2", &["1.2.0"], &["1.3.0"]),
            ("~1", &["1.9.0"], &["2.0.0"]),
            ("~> 1.2", &["1.2.5"], &["1.3.0"]),
            (">=1.2 <2", &["1.2.0", "1.9.9"], &["2.0.0", "1.1.9"]),
            (">= 1.2.0", &["5.0.0"], &["1.1.9"]),
            (">1.2", &["1.3.0"], &["1.2.9"]),
            (">1", &["2.0.0"], &["1.9.9"]),
            ("<1.2", &["1.1.9"], &["1.2.0", "1.2.0-a"]),
            ("<=1.2", &["1.2.9"], &["1.3.0"]),
            ("<=1.2.3", &["1.2.3"], &["1.2.4"]),
            (">*", &[], &["1.0.0"]),
            ("1.2 - 2.3", &["1.2.0", "2.3.9"], &["2.4.0", "1.1.9"]),
            ("1.2.3 - 2.3.4", &["2.3.4"], &["2.3.5"]),
            ("1 || 3", &["1.5.0", "3.0.0"], &["2.0.0"]),
            ("^1.0.0 || >=3.0.0-rc", &["3.0.0-rc.1"], &["3.0.1-rc.1", "2.0.0"]),
            (">=1.0.0-a", &["1.0.0-b"], &["1.0.1-b"]),
            ("1.2.3+build", &["1.2.3"], &["1.2.4"]),
        ];
        for (range, inside, outside) in rows {
            for version in *inside {
                assert!(contains(range, version), "{range} contains {version}");
            }
            for version in *outside {
                assert!(!contains(range, version), "{range} lacks {version}");
            }
        }
    }

    #[test]
    fn other_texts_are_not_ranges() {
        for text in
            ["latest", "1.2.3.4", ">", "^", "1.2.3 -2", "git+https://x", "a.b.c", "^^1", "><1"]
        {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_one_version_is_exact() {
        let exact = |text: &str| Range::parse(text).unwrap().exact().map(ToString::to_string);
        assert_eq!(exact("1.2.3-a").as_deref(), Some("1.2.3-a"));
        for text in ["1.2", "^1.2.3", "1.2.3 || 1.2.4", "*"] {
            assert_eq!(exact(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9xX*.<>=~^| a-b+v-]{0,24}") {
            if let Some(range) = Range::parse(&text) {
                range.contains(&Version::new(1, 2, 3));
            }
        }

        #[test]
        fn operators_agree_with_the_order(a in (0u64..3, 0u64..3, 0u64..3), b in (0u64..3, 0u64..3, 0u64..3)) {
            let (a, b) = (Version::new(a.0, a.1, a.2), Version::new(b.0, b.1, b.2));
            for (operator, expected) in [("<", b < a), ("<=", b <= a), (">", b > a), (">=", b >= a), ("", b == a)] {
                prop_assert_eq!(contains(&format!("{operator}{a}"), &b.to_string()), expected);
            }
        }
    }
}
