//! A terminal toolkit: styled lines, components, an editor, Markdown, and screens that write only
//! what changed.
//!
//! A [`Component`] yields [`Line`]s for a width; a screen compares them with those it wrote before
//! and writes the difference. Long documents are lists of [`Block`]s that are rendered while they
//! are visible.
//!
//! # What this crate must not know
//!
//! Agents, models, sessions, files of the user, the process environment, async runtimes. It reads
//! no input by itself: bytes are passed in and come out as values.
//!
//! # Where to start reading
//!
//! [`Line`] and [`Style`] are the data, [`Component`] and [`Block`] the interfaces, `screen` writes
//! frames, `input` reads keys, `editor` and `markdown` are the large components. `text` measures and
//! wraps, `list` and `overlay` are what other components are made of.

pub mod blocks;
mod buffer;
pub mod completion;
pub mod component;
pub mod diff;
pub mod editor;
pub mod fuzzy;
pub mod highlight;
pub mod image;
pub mod input;
pub mod input_line;
pub mod list;
pub mod markdown;
pub mod overlay;
pub mod screen;
pub mod style;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod vim;

pub use blocks::{BlockId, Blocks};
pub use completion::{
    Completer, Completion, CompletionKind, CompletionRequest, Completions, NoCompleter,
};
pub use component::{Block, Component, LineCache, View};
pub use diff::diff_lines;
pub use editor::{Border, Editor, EditorEvent};
pub use input_line::{InputEvent, InputLine};
pub use markdown::{Markdown, MarkdownOptions};
pub use screen::{Encoder, Frame, FullScreen, PlacedOverlay, RegularScreen, Size};
pub use style::{Attributes, Color, ColorDepth, Style};
pub use text::{Line, LineEnd, Lines, Span};
pub use theme::{Theme, Token};
pub use vim::VimMode;
