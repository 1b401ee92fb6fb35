//! Tests of the screens: real bytes into a terminal emulator.

mod full;
mod hostile;
mod images;
mod interleaving;
mod regular;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use pi_tui::text::wrap;
use pi_tui::{Block, Blocks, Frame, Line, Lines, Theme, Token, View};

/// The modes of a fullscreen program.
pub(crate) const FULLSCREEN: &[u8] = b"\x1b[?1049h\x1b[?7l\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// A block of text that wraps at every width, like prose in a message.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    pub(crate) text: String,
    pub(crate) renders: usize,
    pub(crate) released: usize,
}

/// A block that the test can change.
pub(crate) type Shared = Rc<RefCell<Prose>>;

impl Block for Prose {
    fn render(&mut self, view: View<'_>) -> Lines {
        self.renders += 1;
        let style = view.theme.fg(Token::Accent);
        let paragraphs = self.text.split('\n');
        let lines = paragraphs.flat_map(|text| wrap(&Line::styled(text, style), view.width));
        lines.collect()
    }

    fn release(&mut self) {
        self.released += 1;
    }
}

pub(crate) fn prose(text: &str) -> Shared {
    Rc::new(RefCell::new(Prose { text: text.to_owned(), ..Prose::default() }))
}

pub(crate) fn push(blocks: &mut Blocks, text: &str) -> Shared {
    let block = prose(text);
    blocks.push(Box::new(Rc::clone(&block)));
    block
}

pub(crate) fn lines(texts: &[&str]) -> Vec<Line> {
    texts.iter().map(|text| Line::plain(*text)).collect()
}

pub(crate) fn frame<'a>(theme: &'a Theme, dock: &'a [Line]) -> Frame<'a> {
    Frame::new(theme, dock, Instant::now())
}
