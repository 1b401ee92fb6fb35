//! The table of open calls, without I/O.

use std::collections::HashMap;

use crate::Id;

/// The calls that wait for their response, each with what its caller left for it.
#[derive(Debug)]
pub struct Calls<T> {
    next: i64,
    open: HashMap<i64, T>,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self { next: 1, open: HashMap::new() }
    }
}

impl<T> Calls<T> {
    /// Opens a call and returns its id, which was not used before.
    pub fn open(&mut self, waiting: T) -> Id {
        let id = self.next;
        self.next += 1;
        self.open.insert(id, waiting);
        Id::Number(id)
    }

    /// Closes a call. Returns `None` if it is not open: a second response, or a foreign id.
    pub fn close(&mut self, id: &Id) -> Option<T> {
        self.open.remove(&number(id)?)
    }

    /// Returns what waits for an open call.
    pub fn get(&self, id: &Id) -> Option<&T> {
        self.open.get(&number(id)?)
    }

    /// Closes all calls.
    pub fn close_all(&mut self) -> Vec<T> {
        self.open.drain().map(|(_, waiting)| waiting).collect()
    }

    /// Returns the number of open calls.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns true if no call is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

/// Our ids are numbers; some programs return them as texts.
fn number(id: &Id) -> Option<i64> {
    match id {
        Id::Number(number) => Some(*number),
        Id::Text(text) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_closed_once() {
        let mut calls = Calls::default();
        let first = calls.open("a");
        let second = calls.open("b");
        assert_ne!(first, second);
        assert_eq!(calls.close(&Id::Text(first.to_string())), Some("a"));
        assert_eq!(calls.close(&first), None);
        assert_eq!(calls.close_all(), ["b"]);
        assert_eq!(calls.close(&second), None);
        assert!(calls.is_empty());
    }
}
