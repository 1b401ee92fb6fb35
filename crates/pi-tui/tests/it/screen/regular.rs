//! The regular screen.

use pi_tui::{Blocks, ColorDepth, Encoder, Line, PlacedOverlay, RegularScreen, Size, Theme};

use super::{frame, lines, push};
use crate::emulator::Emulator;

/// A screen in a terminal.
pub(super) struct Stage {
    pub(super) terminal: Emulator,
    pub(super) screen: RegularScreen,
    pub(super) blocks: Blocks,
    pub(super) dock: Vec<Line>,
    pub(super) theme: Theme,
    /// The bytes of the last frame.
    pub(super) written: Vec<u8>,
}

impl Stage {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self {
            terminal: Emulator::new(columns, rows),
            screen: RegularScreen::new(Size::new(columns, rows), Encoder::new(ColorDepth::True)),
            blocks: Blocks::new(),
            dock: lines(&["----", "> ", "----"]),
            theme: Theme::plain(),
            written: Vec::new(),
        }
    }

    /// Writes the whole document, however long it is.
    pub(super) fn start_at_beginning(&mut self) {
        let view = self.screen.view(&self.theme);
        self.screen.start_at_end(&mut self.blocks, view, usize::MAX);
    }

    pub(super) fn draw(&mut self) {
        self.draw_over(&[]);
    }

    pub(super) fn draw_over(&mut self, overlays: &[PlacedOverlay]) {
        let mut out = Vec::new();
        let frame = pi_tui::Frame { overlays, ..frame(&self.theme, &self.dock) };
        self.screen.draw(&mut self.blocks, &frame, &mut out);
        let text = String::from_utf8_lossy(&out);
        assert!(!text.contains("\x1b[3J") && !text.contains("\x1b[2J"), "{text:?}");
        self.terminal.feed(&out);
        self.written = out;
    }

    /// Changes the size of the terminal, and lets it answer.
    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.resize(columns, rows);
        let mut out = Vec::new();
        self.screen.resize(Size::new(columns, rows), &mut out);
        self.terminal.feed(&out);
        if !out.is_empty() {
            assert!(self.screen.awaits_cursor());
            let (row, column) = report(&self.terminal.reports().answers);
            self.screen.cursor_reported(row, column);
        }
        self.draw();
    }

    /// Returns everything in the terminal as lines of the document.
    pub(super) fn history(&self) -> Vec<String> {
        let mut lines = self.terminal.logical_lines();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

fn report(answer: &[u8]) -> (usize, usize) {
    let text = std::str::from_utf8(answer).unwrap();
    let numbers = text.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('R')).unwrap();
    let (row, column) = numbers.split_once(';').unwrap();
    (row.parse::<usize>().unwrap() - 1, column.parse::<usize>().unwrap() - 1)
}

#[test]
fn starts_below_what_is_there() {
    let mut stage = Stage::new(20, 8);
    stage.terminal.feed(b"$ ls\r\nfile\r\n$ pi\r\n");
    push(&mut stage.blocks, "hello");
    stage.draw();
    assert_eq!(stage.terminal.screen(), ["$ ls", "file", "$ pi", "hello", "----", ">", "----", ""]);
}

#[test]
fn lines_leave_by_the_bottom_once() {
    let mut stage = Stage::new(20, 6);
    for number in 0..30 {
        push(&mut stage.blocks, &format!("line {number}"));
        stage.draw();
    }
    let mut expected: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    expected.extend(["----", ">", "----"].map(str::to_owned));
    assert_eq!(stage.history(), expected);
    assert_eq!(stage.terminal.screen()[..3], ["line 27", "line 28", "line 29"]);
}

#[test]
fn an_answer_longer_than_the_screen_is_streamed() {
    let mut stage = Stage::new(20, 6);
    let answer = push(&mut stage.blocks, "");
    let mut expected = Vec::new();
    for number in 0..30 {
        answer.borrow_mut().text.push_str(&format!("part {number}"));
        stage.draw();
        answer.borrow_mut().text.push('\n');
        expected.push(format!("part {number}"));
    }
    answer.borrow_mut().text.push_str("end");
    stage.draw();
    expected.extend(["end", "----", ">", "----"].map(str::to_owned));
    assert_eq!(stage.history(), expected);
}

#[test]
fn a_late_change_of_a_final_block_is_not_written() {
    let mut stage = Stage::new(20, 6);
    let first = push(&mut stage.blocks, "first");
    for number in 0..10 {
        push(&mut stage.blocks, &format!("line {number}"));
    }
    stage.draw();
    first.borrow_mut().text = "changed\nand longer".to_owned();
    stage.draw();
    assert_eq!(stage.written, b"");
    assert_eq!(stage.history()[0], "first");
}

#[test]
fn a_menu_opens_and_closes() {
    let mut stage = Stage::new(20, 8);
    for number in 0..4 {
        push(&mut stage.blocks, &format!("line {number}"));
    }
    stage.draw();
    stage.dock = lines(&["----", "> /", "one", "two", "three", "----"]);
    stage.draw();
    assert_eq!(
        stage.terminal.screen(),
        ["line 2", "line 3", "----", "> /", "one", "two", "three", "----"]
    );
    stage.dock = lines(&["----", "> ", "----"]);
    stage.draw();
    assert_eq!(stage.terminal.screen(), ["line 2", "line 3", "----", ">", "----", "", "", ""]);
    push(&mut stage.blocks, "line 4");
    stage.draw();
    assert_eq!(
        stage.terminal.screen(),
        ["line 2", "line 3", "line 4", "----", ">", "----", "", ""]
    );
    assert_eq!(stage.terminal.scrollback(), ["line 0", "line 1"]);
}

#[test]
fn a_dock_taller_than_the_terminal_is_cut_around_the_caret() {
    let mut stage = Stage::new(20, 4);
    push(&mut stage.blocks, "hello");
    stage.dock = lines(&["0", "1", "2", "3", "4", "5"]);
    stage.dock[1].caret = Some(0);
    stage.draw();
    stage.draw();
    assert_eq!(stage.terminal.screen(), ["1", "2", "3", "4"]);
    assert_eq!(stage.terminal.scrollback(), ["hello"]);
}

#[test]
fn a_keystroke_writes_little() {
    let mut stage = Stage::new(120, 40);
    push(&mut stage.blocks, "hello");
    let typed = |text: &str| {
        let mut line = Line::plain(text);
        line.push(" ", pi_tui::Style::PLAIN.inverse());
        line.pad_to(120, pi_tui::Style::PLAIN);
        line.caret = Some(text.len());
        vec![Line::plain("─".repeat(120)), line, Line::plain("─".repeat(120))]
    };
    stage.dock = typed("some tex");
    stage.draw();
    stage.dock = typed("some text");
    stage.draw();
    assert_eq!(stage.written, b"\x1b[?2026ht\x1b[7m \x1b[m\x1b[10G\x1b[?2026l");
    assert_eq!(stage.terminal.cursor(), (2, 9));

    // A caret that moves over text without a mark writes only the move.
    stage.dock[1].caret = Some(4);
    stage.draw();
    assert_eq!(stage.written, b"\x1b[5G");
    stage.draw();
    assert_eq!(stage.written, b"");
    assert!(!stage.terminal.is_cursor_shown());
}

#[test]
fn a_long_session_starts_at_its_end() {
    let mut stage = Stage::new(20, 6);
    for number in 0..1_000 {
        push(&mut stage.blocks, &format!("line {number}"));
    }
    let view = stage.screen.view(&stage.theme);
    let first = stage.screen.start_at_end(&mut stage.blocks, view, 10).unwrap();
    stage.blocks.insert_before(first, Box::new(super::prose("earlier: not shown")));
    stage.draw();
    let history = stage.history();
    assert_eq!(history[..2], ["earlier: not shown", "line 990"]);
    assert_eq!(history.len(), 14);
}

#[test]
fn a_cleared_document_starts_again() {
    let mut stage = Stage::new(20, 6);
    for number in 0..10 {
        push(&mut stage.blocks, &format!("old {number}"));
    }
    stage.draw();
    stage.blocks.clear();
    push(&mut stage.blocks, "new");
    stage.draw();
    assert_eq!(stage.terminal.screen(), ["new", "----", ">", "----", "", ""]);
    assert_eq!(stage.terminal.scrollback().len(), 7);
}

#[test]
fn overlays_never_reach_the_scrollback() {
    let mut stage = Stage::new(20, 6);
    let menu = |row| PlacedOverlay { row, column: 2, width: 3, lines: lines(&["menu"]).into() };
    for number in 0..12 {
        push(&mut stage.blocks, &format!("line {number}"));
        stage.draw_over(&[menu(0), menu(1)]);
    }
    assert_eq!(stage.terminal.screen()[..2], ["limen9", "limen10"]);
    stage.draw();
    assert_eq!(stage.history()[..12], (0..12).map(|n| format!("line {n}")).collect::<Vec<_>>());
}

#[test]
fn another_program_gets_the_terminal_and_gives_it_back() {
    let mut stage = Stage::new(20, 8);
    push(&mut stage.blocks, "one");
    push(&mut stage.blocks, "two");
    stage.draw();
    let mut out = Vec::new();
    stage.screen.suspend(&mut out);
    stage.terminal.feed(&out);
    assert_eq!(stage.terminal.screen()[..3], ["one", "two", ""]);
    stage.terminal.feed(b"$ fg\r\n");
    push(&mut stage.blocks, "three");
    stage.draw();
    assert_eq!(stage.terminal.screen(), ["one", "two", "$ fg", "three", "----", ">", "----", ""]);
    let mut out = Vec::new();
    stage.screen.finish(&mut out);
    stage.terminal.feed(&out);
    assert_eq!(stage.terminal.cursor(), (7, 0));
}

#[test]
fn a_user_asks_for_another_look() {
    let mut stage = Stage::new(20, 6);
    push(&mut stage.blocks, "before");
    let block = push(&mut stage.blocks, "1\n2\n3\n4");
    stage.draw();
    assert_eq!(stage.terminal.screen()[..3], ["2", "3", "4"]);
    block.borrow_mut().text = "a\nb\nc\nd".to_owned();
    stage.screen.redraw();
    stage.draw();
    let expected = ["before", "1", "a", "b", "c", "d", "----", ">", "----"];
    assert_eq!(stage.history(), expected);
}

#[test]
fn every_line_is_in_the_history_once_after_resizes() {
    let mut stage = Stage::new(80, 24);
    let mut expected = Vec::new();
    for number in 0..60 {
        let text = format!("message {number} {}", "x".repeat(number * 3));
        push(&mut stage.blocks, &text);
        expected.push(text);
    }
    stage.start_at_beginning();
    stage.draw();
    let sizes = [(60, 24), (40, 20), (100, 30), (33, 10), (80, 24), (120, 50), (20, 8), (79, 23)];
    for turn in 0..20 {
        let (columns, rows) = sizes[turn % sizes.len()];
        stage.dock[0] = Line::plain("-".repeat(columns));
        stage.dock[2] = Line::plain("-".repeat(columns));
        stage.resize(columns, rows);
        let text = format!("turn {turn}");
        push(&mut stage.blocks, &text);
        expected.push(text);
        stage.draw();
    }
    let squeeze = |text: String| text.replace(['-', '>', ' '], "");
    let all: String = stage.history().into_iter().map(squeeze).collect();
    let wanted: String = expected.into_iter().map(squeeze).collect();
    assert_eq!(all, wanted);
}

/// When the row of the cursor leaves the screen, tmux puts the cursor into the upper left corner. Rows
/// of the dock are in the scrollback then, between lines of the document.
#[test]
fn a_cursor_that_tmux_moved_does_not_double_lines() {
    let mut stage = Stage::new(40, 12);
    for number in 0..20 {
        push(&mut stage.blocks, &format!("line {number}"));
    }
    let panel = |rows: usize| {
        let mut dock = vec![Line::plain("----"), Line::plain("> ")];
        dock[1].caret = Some(2);
        dock.resize_with(rows, || Line::plain("row of a panel"));
        dock
    };
    stage.dock = panel(11);
    stage.start_at_beginning();
    stage.draw();
    // The panel was wrapped in a narrow terminal, and its first rows left the screen.
    stage.terminal.resize(20, 6);
    let scrolled = format!("\x1b[6;1H{}\x1b[H", "\n".repeat(4));
    stage.terminal.feed(scrolled.as_bytes());
    stage.dock = panel(6);
    stage.resize(20, 6);
    stage.dock = panel(11);
    stage.resize(40, 24);
    stage.resize(40, 40);
    let history = stage.history();
    for number in 0..20 {
        let wanted = format!("line {number}");
        let count = history.iter().filter(|line| **line == wanted).count();
        assert_eq!(count, 1, "{wanted}\n{}", history.join("\n"));
    }
}

#[test]
fn a_resize_while_an_answer_is_streamed_loses_nothing() {
    let mut stage = Stage::new(40, 10);
    let answer = push(&mut stage.blocks, "");
    let sizes = [(40, 10), (25, 10), (60, 12), (31, 7), (90, 20), (17, 9)];
    let mut expected = String::new();
    for number in 0..120 {
        let part = format!("w{number}.");
        answer.borrow_mut().text.push_str(&part);
        expected.push_str(&part);
        if number % 7 == 6 {
            let (columns, rows) = sizes[number / 7 % sizes.len()];
            stage.resize(columns, rows);
        }
        stage.draw();
    }
    let all: String = stage.history().concat().replace(['-', '>', ' '], "");
    assert_eq!(all, expected);
}

#[test]
fn frames_wait_for_the_cursor() {
    let mut stage = Stage::new(40, 10);
    push(&mut stage.blocks, "hello");
    stage.draw();
    let mut out = Vec::new();
    stage.screen.resize(Size::new(30, 10), &mut out);
    stage.screen.resize(Size::new(20, 10), &mut out);
    assert_eq!(out, b"\x1b[6n\x1b[6n");
    stage.terminal.resize(20, 10);
    stage.draw();
    assert_eq!(stage.written, b"");
    stage.screen.cursor_reported(3, 0);
    assert!(stage.screen.awaits_cursor());
    stage.screen.cursor_reported(3, 0);
    stage.draw();
    assert_eq!(stage.terminal.screen()[..4], ["hello", "----", ">", "----"]);
}

#[test]
fn a_terminal_that_does_not_answer_is_assumed_to_keep_the_end_at_the_bottom() {
    let mut stage = Stage::new(40, 8);
    for number in 0..20 {
        push(&mut stage.blocks, &format!("line {number}"));
    }
    stage.draw();
    stage.terminal.resize(30, 8);
    stage.screen.resize(Size::new(30, 8), &mut Vec::new());
    stage.screen.cursor_unknown();
    stage.draw();
    let expected: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
    assert_eq!(stage.history()[..20], expected);
}

#[test]
fn a_frame_without_change_writes_nothing_after_a_resize_to_the_same_size() {
    let mut stage = Stage::new(40, 8);
    for number in 0..20 {
        push(&mut stage.blocks, &format!("line {number}"));
    }
    stage.draw();
    let before = stage.history();
    // The window was smaller for a moment; the terminal lost the rows below its cursor.
    stage.dock[0].caret = Some(0);
    stage.draw();
    stage.terminal.resize(40, 5);
    stage.terminal.resize(40, 8);
    assert_ne!(stage.history(), before);
    stage.resize(40, 8);
    assert_eq!(stage.history(), before);
    stage.draw();
    assert_eq!(stage.written, b"");
}

#[test]
fn a_line_that_was_written_for_another_width_comes_back_once() {
    let mut stage = Stage::new(12, 8);
    let words: String = (0..60).map(|number| format!("w{number} ")).collect();
    push(&mut stage.blocks, &words);
    stage.draw();
    // Some lines of the narrow terminal are in the scrollback; a taller terminal shows them again.
    stage.resize(58, 8);
    stage.resize(58, 12);
    let all = stage.history().concat().replace(['-', '>', ' '], "");
    assert_eq!(all, words.replace(' ', ""));
}
