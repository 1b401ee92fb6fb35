//! Values for single tools of a server, by name or pattern.

/// Values by tool: an exact name wins, else the first pattern that matches. `*` in a pattern
/// stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTable<T>(Vec<(String, T)>);

impl<T> Default for ToolTable<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> ToolTable<T> {
    /// Creates a table from names and patterns, in the order in which patterns are tried.
    pub fn new(entries: impl IntoIterator<Item = (String, T)>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// Returns the value for a tool.
    pub fn get(&self, tool: &str) -> Option<T> {
        let exact = self.0.iter().find(|(name, _)| name == tool);
        let patterns = || self.0.iter().filter(|(name, _)| name.contains('*'));
        let found = exact.or_else(|| patterns().find(|(pattern, _)| matches(pattern, tool)));
        found.map(|(_, value)| *value)
    }

    /// Returns the names and patterns with their values.
    pub fn entries(&self) -> impl Iterator<Item = (&str, T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Returns true if the text has the parts of the pattern in their order.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, mut rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    while let Some((part, after)) = rest.split_once('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
        rest = after;
    }
    text.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_win_over_patterns_and_the_first_pattern_over_later_ones() {
        let entries = [("get_*", 1), ("*_all", 2), ("get_all", 3), ("a*b*c", 4), ("x.y", 5)];
        let table = ToolTable::new(entries.map(|(name, value)| (name.to_owned(), value)));
        for (tool, expected) in [
            ("get_all", Some(3)),
            ("get_one", Some(1)),
            ("drop_all", Some(2)),
            ("a-b-c", Some(4)),
            ("abc", Some(4)),
            ("acb", None),
            ("xzy", None),
            ("GET_x", None),
            ("", None),
        ] {
            assert_eq!(table.get(tool), expected, "{tool}");
        }
        assert!(matches("*", ""));
        assert!(!matches("ab*b", "ab"));
    }
}
