//! The texts that were cut, newest last.

/// Texts that are kept.
const MAX: usize = 60;

/// A ring of cut texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct KillRing {
    texts: Vec<String>,
}

/// The side of the caret on which a text was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

impl KillRing {
    /// Keeps a text. With `join` it extends the newest text on its side.
    pub(crate) fn push(&mut self, text: &str, side: Side, join: bool) {
        if text.is_empty() {
            return;
        }
        match self.texts.last_mut() {
            Some(last) if join && side == Side::Before => last.insert_str(0, text),
            Some(last) if join => last.push_str(text),
            _ => {
                if self.texts.len() == MAX {
                    self.texts.remove(0);
                }
                self.texts.push(text.to_owned());
            }
        }
    }

    /// Returns the newest text.
    pub(crate) fn newest(&self) -> Option<&str> {
        self.texts.last().map(String::as_str)
    }

    /// Moves the newest text to the far end. Returns false if there is no other one.
    pub(crate) fn rotate(&mut self) -> bool {
        if self.texts.len() < 2 {
            return false;
        }
        self.texts.rotate_right(1);
        true
    }

    /// Returns all texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}
