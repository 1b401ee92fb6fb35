//! The settings that everything in the transcript is drawn with.

use std::cell::{Cell, Ref, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use pi_coding_agent::session::AgentSession;
use pi_tui::View;

use super::foreign::Foreign;

/// The settings of the transcript.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Columns left and right of messages.
    pub(crate) output_pad: usize,
    /// Indentation of code in Markdown.
    pub(crate) code_indent: String,
    /// Thinking is one line.
    pub(crate) hide_thinking: bool,
    /// Misses of the prompt cache are shown.
    pub(crate) cache_misses: bool,
    /// Tool output and summaries are shown whole.
    pub(crate) expanded: bool,
    /// The terminal has hyperlinks.
    pub(crate) hyperlinks: bool,
    /// Images; `None` if the terminal has none, or the user wants none.
    pub(crate) images: Option<ImageLimits>,
    /// The setting `markdown.mermaid`.
    pub(crate) mermaid: String,
    /// The home directory, shown as `~`.
    pub(crate) home: Option<PathBuf>,
    /// Text in the place of hidden thinking, if an extension set one.
    pub(crate) hidden_thinking_label: Option<String>,
    /// The key that expands tool output, as hints name it.
    pub(crate) expand_key: String,
}

/// The size of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageLimits {
    /// Width and height of a cell, in pixels.
    pub(crate) cell: (u16, u16),
    /// Columns that an image may cover.
    pub(crate) columns: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            output_pad: 1,
            code_indent: "  ".to_owned(),
            hide_thinking: false,
            cache_misses: false,
            expanded: false,
            hyperlinks: false,
            images: None,
            mermaid: "streaming".to_owned(),
            home: None,
            hidden_thinking_label: None,
            expand_key: "ctrl+o".to_owned(),
        }
    }
}

/// The settings and the session, shared by all blocks. A change of the settings has a new
/// generation, so that a change costs nothing for the blocks that are not visible.
#[derive(Clone)]
pub(super) struct Shared(Rc<Inner>);

struct Inner {
    options: RefCell<Options>,
    generation: Cell<u64>,
    session: RefCell<Option<AgentSession>>,
    foreign: Foreign,
}

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        Self(Rc::new(Inner {
            options: RefCell::new(options),
            generation: Cell::new(0),
            session: RefCell::new(None),
            foreign: Foreign::default(),
        }))
    }

    pub(super) fn options(&self) -> Ref<'_, Options> {
        self.0.options.borrow()
    }

    /// Changes the settings; everything that is drawn after this follows them.
    pub(super) fn change(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.0.options.borrow_mut());
        self.0.generation.set(self.0.generation.get() + 1);
    }

    /// Returns a number that is another one after each change.
    pub(super) fn generation(&self) -> u64 {
        self.0.generation.get()
    }

    /// Returns the renderers of extensions.
    pub(super) fn foreign(&self) -> &Foreign {
        &self.0.foreign
    }

    pub(super) fn set_session(&self, session: AgentSession) {
        self.0.foreign.set_session(session.clone());
        *self.0.session.borrow_mut() = Some(session);
    }

    pub(super) fn session(&self) -> Option<AgentSession> {
        self.0.session.borrow().clone()
    }
}

/// The surroundings of one rendering.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) view: View<'a>,
    pub(super) options: &'a Options,
    pub(super) foreign: &'a Foreign,
    /// A click has turned this part around: shown whole, or not, unlike the others.
    pub(super) toggled: bool,
}

impl Look<'_> {
    /// Returns true if output and summaries are shown whole.
    pub(super) fn is_expanded(&self) -> bool {
        self.options.expanded != self.toggled
    }

    /// Returns true if thinking is one line.
    pub(super) fn hides_thinking(&self) -> bool {
        self.options.hide_thinking != self.toggled
    }
}
