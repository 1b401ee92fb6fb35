//! Export of sessions as an HTML page to read and share, as Markdown to paste, and as a trajectory
//! for benchmarks and training.
//!
//! All are written as they are rendered; a session of any size needs the memory of one message.
//! The content of a session is not trusted: [`escape`] and [`prose`] prevent that it becomes
//! markup, and the page forbids everything but its own script and style.

mod ansi;
mod atif;
mod call;
mod escape;
mod fragment;
mod highlight;
mod html;
mod markdown;
mod overview;
mod prose;
mod tool;
mod unit;

use std::io::Write;

use crate::{EffectsResolver, Session, SessionError};

pub use fragment::{ENTRY_STYLE, EntryRenderer, escaped};
pub use markdown::{MarkdownOptions, ToolDetail};

/// Options for the HTML page.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HtmlOptions {
    /// The title; the name or first message of the session if not given.
    pub title: Option<String>,
    /// Number of bytes of code that are highlighted. Highlighting takes about a second per 200 kB,
    /// so code beyond this limit is plain.
    pub highlight_limit: usize,
    /// The effects of tool calls; without them a call is described by its arguments.
    pub effects: EffectsResolver,
}

impl Default for HtmlOptions {
    fn default() -> Self {
        Self { title: None, highlight_limit: 300 * 1024, effects: EffectsResolver::default() }
    }
}

impl HtmlOptions {
    /// Sets the title of the page.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the resolver of effects, by which tool calls are described.
    #[must_use]
    pub fn effects(mut self, effects: EffectsResolver) -> Self {
        self.effects = effects;
        self
    }
}

impl Session {
    /// Writes all branches as one self-contained HTML page, which opens no connection and runs no
    /// script but its own. The page shows the current branch first.
    ///
    /// Writes in small pieces, so `out` should be buffered. Damaged lines are left out.
    pub fn export_html(
        &mut self,
        options: &HtmlOptions,
        out: &mut impl Write,
    ) -> Result<(), SessionError> {
        html::write(self, options, out)
    }

    /// Writes the current branch as Markdown. Damaged lines are left out.
    pub fn export_markdown(
        &self,
        options: &MarkdownOptions,
        out: &mut impl Write,
    ) -> Result<(), SessionError> {
        markdown::write(self, options, out)
    }

    /// Writes the current branch as a trajectory in the Agent Trajectory Interchange Format, ATIF
    /// v1.8. `version` is that of the agent; sessions do not record it. Damaged lines are left out.
    ///
    /// Fails if the branch has no messages, since a trajectory has at least one step.
    pub fn export_atif(&self, version: &str, out: &mut impl Write) -> Result<(), SessionError> {
        atif::write(self, version, out)
    }
}
