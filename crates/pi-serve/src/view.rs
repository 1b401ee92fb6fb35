//! Markup for the page, made by the renderer of exported sessions.
//!
//! The page inserts this markup as it is, so everything that comes from a session is escaped here
//! and nowhere else.

mod diff;
mod outline;

use pi_protocol::Entry;
use pi_session::{EffectsResolver, EntryRenderer};

pub use diff::{DiffFile, diff_files};
pub use outline::{Outline, outline};

/// Renders the lines of a session log one by one, in their order.
#[derive(Debug)]
pub struct Renderer(EntryRenderer);

impl Renderer {
    /// Creates a renderer that describes tool calls by their effects.
    pub fn new(effects: EffectsResolver) -> Self {
        Self(EntryRenderer::new(effects))
    }

    /// Returns the markup of a line; `None` if it is not shown or damaged.
    pub fn entry(&mut self, line: &str) -> Option<String> {
        self.0.render(&Entry::from_json(line).ok()?)
    }

    /// Reads a line without rendering it: the results of its tool calls can be rendered then.
    pub fn note(&mut self, line: &str) {
        if let Ok(entry) = Entry::from_json(line) {
            self.0.note(&entry);
        }
    }
}
