//! A terminal emulator for tests: bytes in, screen and scrollback out.
//!
//! The emulator wraps lines again when its size changes, as most terminals do, and answers queries.
//! Other crates include this file by its path.

#![allow(dead_code)] // Each test crate that includes the file uses a part of it.

use std::cell::RefCell;
use std::rc::Rc;

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;

/// Erases from the cursor to the end of the screen.
const ERASE: &[u8] = b"\x1b[J";

/// What the terminal told its owner.
#[derive(Debug, Default, Clone)]
pub(crate) struct Reports {
    pub(crate) answers: Vec<u8>,
    pub(crate) titles: Vec<String>,
    pub(crate) clipboard: Vec<String>,
    pub(crate) bells: usize,
}

#[derive(Debug, Default, Clone)]
struct Listener(Rc<RefCell<Reports>>);

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        let mut reports = self.0.borrow_mut();
        match event {
            Event::PtyWrite(text) => reports.answers.extend_from_slice(text.as_bytes()),
            Event::Title(title) => reports.titles.push(title),
            Event::ClipboardStore(_, text) => reports.clipboard.push(text),
            Event::ClipboardLoad(..) => reports.clipboard.push("(read)".to_owned()),
            Event::Bell => reports.bells += 1,
            _ => {}
        }
    }
}

struct Dimension(usize, usize);

impl Dimensions for Dimension {
    fn total_lines(&self) -> usize {
        self.1
    }

    fn screen_lines(&self) -> usize {
        self.1
    }

    fn columns(&self) -> usize {
        self.0
    }
}

/// A terminal.
pub(crate) struct Emulator {
    term: Term<Listener>,
    processor: Processor,
    reports: Listener,
}

impl Emulator {
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        let reports = Listener::default();
        let config =
            Config { scrolling_history: 100_000, kitty_keyboard: true, ..Config::default() };
        let term = Term::new(config, &Dimension(columns, rows), reports.clone());
        Self { term, processor: Processor::new(), reports }
    }

    /// Writes bytes to the terminal.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(at) = rest.windows(ERASE.len()).position(|window| window == ERASE) {
            let (before, after) = rest.split_at(at);
            self.processor.advance(&mut self.term, before);
            self.keep_what_is_erased();
            self.processor.advance(&mut self.term, ERASE);
            rest = &after[ERASE.len()..];
        }
        self.processor.advance(&mut self.term, rest);
    }

    /// Moves the screen into the scrollback, as tmux does before everything below the upper left
    /// corner is erased.
    fn keep_what_is_erased(&mut self) {
        let is_main = !self.term.mode().contains(TermMode::ALT_SCREEN);
        if is_main && self.cursor() == (0, 0) {
            let rows = self.term.screen_lines();
            let bytes = format!("\x1b[{rows};1H{}\x1b[H", "\n".repeat(rows));
            self.processor.advance(&mut self.term, bytes.as_bytes());
        }
    }

    /// Changes the size, as a user does with the window.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.term.resize(Dimension(columns, rows));
    }

    /// Returns what the terminal sent back since the last call.
    pub(crate) fn reports(&self) -> Reports {
        std::mem::take(&mut self.reports.0.borrow_mut())
    }

    /// Returns row and column of the cursor, from 0.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        let point = self.term.grid().cursor.point;
        (usize::try_from(point.line.0).unwrap_or(0), point.column.0)
    }

    pub(crate) fn is_cursor_shown(&self) -> bool {
        self.mode().contains(TermMode::SHOW_CURSOR)
    }

    pub(crate) fn mode(&self) -> TermMode {
        *self.term.mode()
    }

    fn cells(&self, line: i32) -> impl Iterator<Item = &Cell> {
        (0..self.term.columns()).map(move |column| &self.term.grid()[Line(line)][Column(column)])
    }

    /// Returns the text of a row, from 0 on the screen and below 0 in the scrollback, without spaces
    /// at its end.
    fn text(&self, line: i32) -> String {
        let spacer = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
        let mut text = String::new();
        for cell in self.cells(line).filter(|cell| !cell.flags.intersects(spacer)) {
            text.push(cell.c);
            text.extend(cell.zerowidth().into_iter().flatten());
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Returns the rows on the screen.
    pub(crate) fn screen(&self) -> Vec<String> {
        (0..self.term.screen_lines() as i32).map(|line| self.text(line)).collect()
    }

    /// Returns the rows above the screen, the oldest first.
    pub(crate) fn scrollback(&self) -> Vec<String> {
        let history = self.term.grid().history_size() as i32;
        (-history..0).map(|line| self.text(line)).collect()
    }

    /// Returns scrollback and screen, with the rows of a line that the terminal wrapped joined.
    pub(crate) fn logical_lines(&self) -> Vec<String> {
        let history = self.term.grid().history_size() as i32;
        let mut lines = vec![String::new()];
        for line in -history..self.term.screen_lines() as i32 {
            let wraps =
                self.cells(line).last().is_some_and(|it| it.flags.contains(Flags::WRAPLINE));
            let text = self.text(line);
            if let Some(last) = lines.last_mut() {
                last.push_str(&text);
                if wraps {
                    let missing = self.term.columns().saturating_sub(text.chars().count());
                    last.push_str(&" ".repeat(missing));
                } else {
                    lines.push(String::new());
                }
            }
        }
        lines.pop();
        lines
    }

    /// Returns the cells of the screen with their styles. The color of a space is not visible.
    pub(crate) fn styled(&self) -> Vec<Vec<(char, String)>> {
        let style = |cell: &Cell| match cell.c {
            ' ' => format!("{:?} {:?}", cell.bg, cell.flags),
            _ => format!("{:?} {:?} {:?}", cell.fg, cell.bg, cell.flags),
        };
        let rows = 0..self.term.screen_lines() as i32;
        rows.map(|row| self.cells(row).map(|cell| (cell.c, style(cell))).collect()).collect()
    }
}
