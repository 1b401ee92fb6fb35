//! The order of the calls of one turn that touch the same file.
//!
//! Calls run in parallel, but a model writes them in an order: an edit expects the content that an
//! earlier call of the same message wrote. A call that writes a file therefore waits for the
//! earlier calls that touch it, and a call that reads a file for the earlier calls that write it.
//! Files are compared by the names that [`AgentTool::identify_file`] returns. Calls with other
//! effects, such as commands, wait for no call.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use futures_util::FutureExt as _;
use pi_protocol::{Effects, Extent, FileEffect};
use tokio::sync::watch;

use crate::tool::AgentTool;

/// The files that a call touches, by one name each.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    reads: Vec<(PathBuf, Extent)>,
    writes: Vec<PathBuf>,
}

/// The place of a call among the calls of its turn.
#[derive(Debug)]
pub(crate) struct Place {
    earlier: Vec<watch::Receiver<bool>>,
    /// Dropped when the call is complete; true if the call is suspended.
    end: watch::Sender<bool>,
}

impl Place {
    /// Waits until the earlier calls on the same files are complete. Returns false if one of them
    /// is suspended: this call would run before it.
    pub(crate) async fn reached(&mut self) -> bool {
        for earlier in &mut self.earlier {
            // The error is the end of the call.
            while earlier.changed().await.is_ok() {}
            if *earlier.borrow() {
                return false;
            }
        }
        true
    }

    /// Ends the call.
    pub(crate) fn leave(self, suspended: bool) {
        if suspended {
            self.end.send_replace(true);
        }
    }
}

/// Assigns the places of calls, given in the order of the message.
pub(crate) fn places(calls: &[Touched]) -> Vec<Place> {
    let ends: Vec<_> = calls.iter().map(|_| watch::channel(false).0).collect();
    let earlier: Vec<Vec<_>> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let before = calls[..index].iter().zip(&ends);
            before
                .filter(|(other, _)| call.must_follow(other))
                .map(|(_, end)| end.subscribe())
                .collect()
        })
        .collect();
    ends.into_iter().zip(earlier).map(|(end, earlier)| Place { earlier, end }).collect()
}

impl Touched {
    /// Returns the files that these calls touch. Names are only looked up if an order can matter.
    pub(crate) async fn by(calls: &[(&dyn AgentTool, &Effects)]) -> Vec<Self> {
        let touching = calls
            .iter()
            .filter(|(_, effects)| !effects.reads.is_empty() || !effects.writes.is_empty());
        let matters =
            touching.count() > 1 && calls.iter().any(|(_, effects)| !effects.writes.is_empty());
        let mut touched = Vec::new();
        for (tool, effects) in calls {
            let mut call = Self::default();
            if matters {
                for read in &effects.reads {
                    call.reads.push((identify(*tool, read).await, read.extent));
                }
                for write in &effects.writes {
                    call.writes.push(identify(*tool, write).await);
                }
            }
            touched.push(call);
        }
        touched
    }

    fn must_follow(&self, earlier: &Self) -> bool {
        self.writes.iter().any(|file| earlier.writes.contains(file) || earlier.reads_file(file))
            || earlier.writes.iter().any(|file| self.reads_file(file))
    }

    fn reads_file(&self, file: &Path) -> bool {
        self.reads.iter().any(|(path, extent)| match extent {
            Extent::File => path == file,
            Extent::Listing | Extent::Tree => file.starts_with(path),
        })
    }
}

/// Returns the name of a file. A tool that panics here keeps the path as the model wrote it.
async fn identify(tool: &dyn AgentTool, effect: &FileEffect) -> PathBuf {
    let identified = AssertUnwindSafe(async { tool.identify_file(&effect.path).await });
    identified.catch_unwind().await.unwrap_or_else(|_| PathBuf::from(&effect.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(path: &str, extent: Extent) -> Touched {
        Touched { reads: vec![(path.into(), extent)], ..Touched::default() }
    }

    fn writes(path: &str) -> Touched {
        Touched { writes: vec![path.into()], ..Touched::default() }
    }

    #[test]
    fn only_calls_on_the_same_file_wait() {
        let read = |path| reads(path, Extent::File);
        let search = |path| reads(path, Extent::Tree);
        let cases = [
            (writes("/a"), writes("/a"), true),
            (writes("/a"), writes("/b"), false),
            (writes("/a"), read("/a"), true),
            (read("/a"), writes("/a"), true),
            (read("/a"), read("/a"), false),
            (writes("/d/a"), search("/d"), true),
            (search("/d"), writes("/d/e/a"), true),
            (search("/d"), writes("/da"), false),
            (writes("/a"), Touched::default(), false),
        ];
        for (earlier, later, expected) in cases {
            assert_eq!(later.must_follow(&earlier), expected, "{earlier:?} {later:?}");
        }
    }
}
