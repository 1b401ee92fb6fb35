//! A queue for a reader that nothing waits for.
//!
//! For a reader that is far behind, items of progress are merged, so that what waits for it is
//! bounded by what happened, not by how often it was reported. Nothing is lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use tokio::sync::Notify;

/// The reader is far behind if more items than this wait.
const FAR_BEHIND: usize = 1024;

/// Waiting items that are searched for one into which another can be merged. The limit bounds the
/// cost of an item that fits none of many.
const SEARCHED: usize = 64;

/// An item that can be merged with others.
pub trait Merge: Sized {
    /// Returns true if the item is one of many about the same thing.
    fn is_progress(&self) -> bool;

    /// Merges a later item of progress into this one. Returns it if the two cannot be merged.
    fn merge(&mut self, later: Self) -> Option<Self>;
}

/// Merges an item of progress into the latest of those that wait which fits, without passing an item
/// that is no progress. Returns it if none fits.
pub fn merge_into<'a, T: Merge + 'a>(
    waiting: impl DoubleEndedIterator<Item = &'a mut T>,
    item: T,
) -> Option<T> {
    let mut rest = item;
    for earlier in waiting.rev().take(SEARCHED).take_while(|item| item.is_progress()) {
        rest = earlier.merge(rest)?;
    }
    Some(rest)
}

/// Items for one reader. Clones are the same queue.
pub struct MergeQueue<T>(Arc<Shared<T>>);

struct Shared<T> {
    waiting: Mutex<VecDeque<T>>,
    filled: Notify,
}

impl<T: Merge> MergeQueue<T> {
    /// Adds an item.
    pub fn push(&self, item: T) {
        let mut waiting = self.waiting();
        let rest = match waiting.len() >= FAR_BEHIND && item.is_progress() {
            true => merge_into(waiting.iter_mut(), item),
            false => Some(item),
        };
        waiting.extend(rest);
        drop(waiting);
        self.0.filled.notify_one();
    }

    /// Waits for the next item. Safe to cancel: no item is lost.
    pub async fn next(&self) -> T {
        loop {
            if let Some(item) = self.try_next() {
                return item;
            }
            self.0.filled.notified().await;
        }
    }

    /// Returns the next item, if there is one.
    pub fn try_next(&self) -> Option<T> {
        self.waiting().pop_front()
    }
}

impl<T> MergeQueue<T> {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<T>> {
        lock(&self.0.waiting)
    }
}

impl<T> Default for MergeQueue<T> {
    fn default() -> Self {
        Self(Arc::new(Shared { waiting: Mutex::default(), filled: Notify::new() }))
    }
}

impl<T> Clone for MergeQueue<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for MergeQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeQueue").field("waiting", &self.waiting().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of text; another kind than `x` and `y` is no progress.
    #[derive(Debug)]
    struct Piece(char, usize);

    impl Merge for Piece {
        fn is_progress(&self) -> bool {
            matches!(self.0, 'x' | 'y')
        }

        fn merge(&mut self, later: Self) -> Option<Self> {
            if self.0 != later.0 {
                return Some(later);
            }
            self.1 += later.1;
            None
        }
    }

    /// A reader that does not read: nothing waits for it, and nothing is lost.
    #[test]
    fn progress_is_merged_for_a_reader_that_is_far_behind() {
        let queue = MergeQueue::default();
        for _ in 0..10 * FAR_BEHIND {
            queue.push(Piece('x', 1));
            queue.push(Piece('y', 1));
        }
        assert_eq!(queue.waiting().len(), FAR_BEHIND);
        queue.push(Piece('-', 0));
        queue.push(Piece('x', 1));
        let (mut lengths, mut ends) = ([0, 0], Vec::new());
        while let Some(Piece(kind, length)) = queue.try_next() {
            match kind {
                '-' => ends.push(lengths),
                kind => lengths[usize::from(kind == 'y')] += length,
            }
        }
        let all = 10 * FAR_BEHIND;
        assert_eq!((lengths, ends), ([all + 1, all], vec![[all, all]]));
    }

    #[tokio::test]
    async fn a_reader_waits_for_the_next_item() {
        let queue = MergeQueue::default();
        let written = async { queue.push(Piece('x', 1)) };
        let (Piece(kind, _), ()) = tokio::join!(queue.next(), written);
        assert_eq!(kind, 'x');
    }
}
