//! A block of the transcript: content that is drawn when it is visible, and the lines of the last
//! time.

use std::cell::RefCell;
use std::rc::Rc;

use pi_tui::{Block, Line, Lines, View};

use super::options::{Look, Shared};

/// Content of the transcript.
pub(super) trait Draw {
    /// Returns the lines, of which none is wider than the view. The first one is empty: the distance
    /// to the content above.
    fn draw(&self, look: Look<'_>, shared: &Shared) -> Vec<Line>;

    /// Forgets what can be read again.
    fn release(&mut self) {}
}

impl Draw for Box<dyn Draw> {
    fn draw(&self, look: Look<'_>, shared: &Shared) -> Vec<Line> {
        (**self).draw(look, shared)
    }

    fn release(&mut self) {
        (**self).release();
    }
}

/// The view, and the generations of the settings and of the grammars, that lines were drawn for.
type Key = ((usize, usize, u64), u64, u64);

/// The lines of some content.
struct Drawn {
    key: Key,
    lines: Lines,
    /// The generation of the renderers of extensions, if one of them drew.
    foreign: Option<u64>,
}

/// Content with its lines.
pub(super) struct Slot<T> {
    shared: Shared,
    content: T,
    toggled: bool,
    /// In a box: a long session has many slots, and few are drawn.
    lines: Option<Box<Drawn>>,
}

/// A slot that the transcript changes while the screen shows it.
pub(super) type SharedSlot<T> = Rc<RefCell<Slot<T>>>;

impl<T: Draw> Slot<T> {
    pub(super) fn new(shared: &Shared, content: T) -> Self {
        Self { shared: shared.clone(), content, toggled: false, lines: None }
    }

    /// Creates a slot that can be changed later.
    pub(super) fn shared(shared: &Shared, content: T) -> SharedSlot<T> {
        Rc::new(RefCell::new(Self::new(shared, content)))
    }

    pub(super) fn content(&self) -> &T {
        &self.content
    }

    /// Gives access to the content, which is drawn anew after that.
    pub(super) fn change(&mut self) -> &mut T {
        self.lines = None;
        &mut self.content
    }
}

/// A block that a click turns around.
pub(super) trait Toggle {
    /// Shows the block whole if it was not, and the other way round.
    fn toggle(&mut self);

    /// Shows the block like all others.
    fn reset(&mut self);
}

impl<T: Draw> Toggle for Slot<T> {
    fn toggle(&mut self) {
        self.toggled = !self.toggled;
        self.lines = None;
    }

    fn reset(&mut self) {
        self.toggled = false;
        self.lines = None;
    }
}

impl<T: Draw> Block for Slot<T> {
    fn render(&mut self, view: View<'_>) -> Lines {
        let key = (view.key(), self.shared.generation(), pi_tui::highlight::generation());
        let foreign = self.shared.foreign();
        if let Some(drawn) = &self.lines
            && drawn.key == key
            && drawn.foreign.is_none_or(|drawn| drawn == foreign.generation())
        {
            return Rc::clone(&drawn.lines);
        }
        let options = self.shared.options();
        let look = Look { view, options: &options, foreign, toggled: self.toggled };
        foreign.take_used();
        let mut drawn = self.content.draw(look, &self.shared);
        // The last resort for a terminal that is narrower than a character.
        for line in drawn.iter_mut().filter(|line| line.width() > view.width) {
            *line = pi_tui::text::truncate(line, view.width, "");
        }
        let lines: Lines = drawn.into();
        let foreign = foreign.take_used().then(|| foreign.generation());
        self.lines = Some(Box::new(Drawn { key, lines: Rc::clone(&lines), foreign }));
        lines
    }

    fn release(&mut self) {
        self.lines = None;
        self.content.release();
    }
}
