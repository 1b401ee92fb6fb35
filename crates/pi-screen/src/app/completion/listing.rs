//! The files below a directory, for completions after `@`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

/// The most files of a listing. A directory with more is listed in part.
const MOST_FILES: usize = 200_000;

/// The longest time that a listing takes.
const MOST_TIME: Duration = Duration::from_secs(5);

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path below the listed directory, with `/` between its parts.
    pub(super) path: String,
    pub(super) is_directory: bool,
}

impl Entry {
    /// Returns the last part of the path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Extent of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The directory itself.
    Shallow,
    /// Everything below it.
    Deep,
}

/// Lists a directory: hidden files, too, but neither `.git` nor what git ignores. Links are
/// followed. What cannot be read is left out. Stops early when `is_cancelled` is set.
pub(super) fn list(directory: &Path, reach: Reach, is_cancelled: &AtomicBool) -> Vec<Entry> {
    let start = Instant::now();
    let mut builder = WalkBuilder::new(directory);
    builder.hidden(false).follow_links(true).filter_entry(|entry| entry.file_name() != ".git");
    if reach == Reach::Shallow {
        builder.max_depth(Some(1));
    }
    let mut entries = Vec::new();
    for entry in builder.build() {
        let is_over = entries.len() >= MOST_FILES || start.elapsed() > MOST_TIME;
        if is_over || is_cancelled.load(Ordering::Relaxed) {
            break;
        }
        let Ok(entry) = entry else { continue };
        let Ok(below) = entry.path().strip_prefix(directory) else { continue };
        let Some(path) = below.to_str().filter(|path| !path.is_empty()) else { continue };
        // A name with a control character cannot be typed.
        if path.contains(char::is_control) {
            continue;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        entries.push(Entry { path: slashes(path), is_directory });
    }
    entries
}

#[cfg(windows)]
fn slashes(path: &str) -> String {
    path.replace('\\', "/")
}

#[cfg(not(windows))]
fn slashes(path: &str) -> String {
    path.to_owned()
}

/// A directory and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) directory: PathBuf,
    pub(super) entries: std::sync::Arc<[Entry]>,
    /// The time at which the whole listing was complete.
    pub(super) complete_at: Option<Instant>,
}
