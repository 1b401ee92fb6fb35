//! The changelog: all of it, or what is new since the last version that the user saw.

use pi_tui::Block;

use crate::document::Document;

/// The changelog of this version.
const TEXT: &str = include_str!("../../../../../CHANGELOG.md");

/// A version of the program.
type Version = (u32, u32, u32);

/// Returns the entries of the changelog, newest first.
pub(crate) fn entries() -> &'static str {
    TEXT.split_once('\n').map_or(TEXT, |(_, rest)| rest).trim()
}

/// Entries that are new to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct News {
    text: String,
    is_collapsed: bool,
}

/// Returns what is new since the version that the user saw last. A user without one is new: there
/// is nothing that changed for them.
pub(crate) fn news(seen: Option<&str>, is_collapsed: bool) -> Option<News> {
    news_of(TEXT, env!("CARGO_PKG_VERSION"), seen?, is_collapsed)
}

pub(super) fn news_of(text: &str, current: &str, seen: &str, is_collapsed: bool) -> Option<News> {
    let (current, seen) = (version(current)?, version(seen)?);
    if seen >= current {
        return None;
    }
    let sections = text.split("\n## ").skip(1);
    let new = sections.filter(|section| {
        let heading = section.lines().next().unwrap_or_default();
        version(heading.trim_start_matches('[')).is_some_and(|it| it > seen && it <= current)
    });
    let new: Vec<String> = new.map(|section| format!("## {}", section.trim())).collect();
    Some(News { text: new.join("\n\n"), is_collapsed: is_collapsed || new.is_empty() })
}

/// Reads a version at the start of a text.
fn version(text: &str) -> Option<Version> {
    let end = text.find(|it: char| !(it.is_ascii_digit() || it == '.')).unwrap_or(text.len());
    let mut parts = text.get(..end)?.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

impl News {
    /// Returns the block that shows it.
    pub(super) fn block(&self) -> Box<dyn Block> {
        let text = match self.is_collapsed {
            true => format!(
                "pi is now v{}; **/changelog** shows what changed.",
                env!("CARGO_PKG_VERSION")
            ),
            false => format!("**What's new**\n\n{}", self.text),
        };
        Box::new(Document::new(&text))
    }
}
