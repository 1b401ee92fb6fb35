//! An append-only list with cheap snapshots.
//!
//! The transcript is passed to the model before every request and to listeners. If it were copied,
//! the cost of each turn would grow with all turns before it. Here a clone is two pointers, and an
//! append while clones exist copies at most one chunk of pointers.

use std::fmt;
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Items per chunk, and the most that an append copies.
const CHUNK: usize = 64;

/// An append-only list whose clones share their items.
pub struct History<T> {
    older: Option<Arc<Chunk<T>>>,
    tail: Arc<Vec<T>>,
}

struct Chunk<T> {
    older: Option<Arc<Chunk<T>>>,
    items: Arc<Vec<T>>,
    /// Number of items up to the end of this chunk.
    end: usize,
}

impl<T> History<T> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self { older: None, tail: Arc::new(Vec::new()) }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.sealed() + self.tail.len()
    }

    /// Returns true if the list has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the newest item.
    pub fn last(&self) -> Option<&T> {
        self.tail.last().or_else(|| self.older.as_ref()?.items.last())
    }

    /// Returns the oldest item.
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// Iterates over all items, oldest first; `.rev()` yields the newest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let mut chunks: Vec<&[T]> = vec![&self.tail];
        let mut older = self.older.as_deref();
        while let Some(chunk) = older {
            chunks.push(&chunk.items);
            older = chunk.older.as_deref();
        }
        chunks.into_iter().rev().flatten()
    }

    /// Iterates over the items from an index on, oldest first. Costs nothing for those before it.
    pub fn iter_from(&self, start: usize) -> impl Iterator<Item = &T> {
        let mut parts: Vec<&[T]> = vec![&self.tail];
        let mut first = self.sealed();
        let mut older = self.older.as_deref();
        while let Some(chunk) = older.filter(|_| first > start) {
            first = chunk.older.as_ref().map_or(0, |before| before.end);
            parts.push(&chunk.items);
            older = chunk.older.as_deref();
        }
        parts.into_iter().rev().flatten().skip(start - first.min(start))
    }

    /// Returns a number of leading items that both lists have in common, because one was cloned
    /// from the other. It may be less than all of them, by at most a chunk if one list continues
    /// the other. The cost depends on what follows those items, not on their number.
    pub fn shared_with(&self, other: &Self) -> usize {
        let (mut left, mut right) = (self.older.as_ref(), other.older.as_ref());
        while let (Some(a), Some(b)) = (left, right) {
            if Arc::ptr_eq(&a.items, &b.items) {
                return a.end;
            }
            match a.end.cmp(&b.end) {
                std::cmp::Ordering::Less => right = b.older.as_ref(),
                std::cmp::Ordering::Greater => left = a.older.as_ref(),
                std::cmp::Ordering::Equal => {
                    (left, right) = (a.older.as_ref(), b.older.as_ref());
                }
            }
        }
        0
    }

    fn sealed(&self) -> usize {
        self.older.as_ref().map_or(0, |chunk| chunk.end)
    }
}

impl<T: Clone> History<T> {
    /// Appends an item to the end.
    pub fn push(&mut self, item: T) {
        if self.tail.len() == CHUNK {
            let end = self.len();
            let items = std::mem::replace(&mut self.tail, Arc::new(Vec::with_capacity(CHUNK)));
            self.older = Some(Arc::new(Chunk { older: self.older.take(), items, end }));
        }
        Arc::make_mut(&mut self.tail).push(item);
    }
}

impl<T> Clone for History<T> {
    fn clone(&self) -> Self {
        Self { older: self.older.clone(), tail: Arc::clone(&self.tail) }
    }
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Drops chunk by chunk: the default would recurse once per chunk, and a long history would
/// overflow the stack.
impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        let mut older = self.older.take();
        while let Some(chunk) = older {
            match Arc::try_unwrap(chunk) {
                Ok(mut chunk) => older = chunk.older.take(),
                Err(_) => break,
            }
        }
    }
}

impl<T: Clone> Extend<T> for History<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl<T: Clone> FromIterator<T> for History<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut history = Self::new();
        history.extend(items);
        history
    }
}

impl<T: Clone> From<Vec<T>> for History<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: PartialEq> PartialEq for History<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: fmt::Debug> fmt::Debug for History<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Serialize> Serialize for History<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for History<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(HistoryVisitor(std::marker::PhantomData))
    }
}

struct HistoryVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Clone + Deserialize<'de>> Visitor<'de> for HistoryVisitor<T> {
    type Value = History<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut history = History::new();
        while let Some(item) = items.next_element()? {
            history.push(item);
        }
        Ok(history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_do_not_see_later_items() {
        let mut history = History::new();
        let mut snapshots = Vec::new();
        for number in 0..1000 {
            history.push(number);
            snapshots.push(history.clone());
        }
        for (index, snapshot) in snapshots.iter().enumerate() {
            assert_eq!(snapshot.len(), index + 1);
            assert_eq!(snapshot.last(), Some(&index));
            assert!(snapshot.iter().copied().eq(0..=index));
        }
        assert!(history.iter().rev().copied().eq((0..1000).rev()));
    }

    #[test]
    fn branches_share_their_common_items() {
        let mut left: History<u32> = (0..100).collect();
        let mut right = left.clone();
        left.push(1);
        right.push(2);
        assert_ne!(left, right);
        assert!(left.iter().take(100).eq(right.iter().take(100)));
    }

    #[test]
    fn a_continued_list_shares_its_chunks() {
        let history: History<u32> = (0..1000).collect();
        let mut longer = history.clone();
        longer.extend(1000..1200);
        for (a, b) in [(&history, &longer), (&longer, &history)] {
            assert_eq!(a.shared_with(b), 960);
        }
        let other: History<u32> = (0..1000).collect();
        assert_eq!(history.shared_with(&other), 0);
        assert_eq!(History::<u32>::new().shared_with(&other), 0);
        for start in [0, 1, 63, 64, 65, 500, 959, 960, 999, 1000, 2000] {
            let expected: Vec<u32> = (0..1000).skip(start).collect();
            assert!(history.iter_from(start).copied().eq(expected), "{start}");
        }
    }

    #[test]
    fn a_long_history_is_dropped_without_recursion() {
        let history: History<u8> = std::iter::repeat_n(0, 3_000_000).collect();
        drop(history);
    }
}
