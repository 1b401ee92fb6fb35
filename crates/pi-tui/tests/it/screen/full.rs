//! The fullscreen mode.

use std::rc::Rc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use pi_tui::input::{Modifiers, Mouse, MouseButton, MouseKind};
use pi_tui::screen::{MouseOutcome, Scroll, Scrollbar, SearchStatus, WheelLines};
use pi_tui::{
    Block, Blocks, ColorDepth, Encoder, Frame, FullScreen, Line, LineEnd, Lines, Size, Span, Style,
    Theme, Token, View,
};

use super::{lines, push};
use crate::emulator::Emulator;

/// A screen in a terminal.
struct Stage {
    terminal: Emulator,
    screen: FullScreen,
    blocks: Blocks,
    dock: Vec<Line>,
    theme: Theme,
    now: Instant,
    written: Vec<u8>,
}

impl Stage {
    fn new(columns: usize, rows: usize) -> Self {
        let mut stage = Self {
            terminal: Emulator::new(columns, rows),
            screen: FullScreen::new(Size::new(columns, rows), Encoder::new(ColorDepth::True)),
            blocks: Blocks::new(),
            dock: lines(&["----", "> "]),
            theme: Theme::dark(),
            now: Instant::now(),
            written: Vec::new(),
        };
        stage.dock[1].caret = Some(2);
        stage.terminal.feed(super::FULLSCREEN);
        stage.screen.set_scrollbar(Scrollbar::Hidden);
        stage
    }

    /// Returns a screen with numbered lines.
    fn numbered(columns: usize, rows: usize, count: usize) -> Self {
        let mut stage = Self::new(columns, rows);
        for number in 0..count {
            push(&mut stage.blocks, &format!("line {number}"));
        }
        stage.draw();
        stage
    }

    fn draw(&mut self) {
        let mut frame = Frame::new(&self.theme, &self.dock, self.now);
        frame.label = " back ";
        let mut out = Vec::new();
        self.screen.draw(&mut self.blocks, &frame, &mut out);
        self.terminal.feed(&out);
        self.written = out;
    }

    fn scroll(&mut self, scroll: Scroll) {
        self.screen.scroll(scroll);
        self.draw();
    }

    fn mouse(&mut self, kind: MouseKind, row: usize, column: usize) -> MouseOutcome {
        let mouse = Mouse { kind, column, row, modifiers: Modifiers::NONE };
        let outcome = self.screen.handle_mouse(mouse, &mut self.blocks, &self.theme, self.now);
        self.draw();
        outcome
    }

    fn press(&mut self, row: usize, column: usize) -> MouseOutcome {
        self.mouse(MouseKind::Press(MouseButton::Left), row, column)
    }

    fn drag(&mut self, row: usize, column: usize) -> MouseOutcome {
        self.mouse(MouseKind::Drag(MouseButton::Left), row, column)
    }

    fn release(&mut self, row: usize, column: usize) -> MouseOutcome {
        self.mouse(MouseKind::Release(MouseButton::Left), row, column)
    }

    fn rows(&self) -> Vec<String> {
        self.terminal.screen()
    }

    fn top(&self) -> String {
        self.rows()[0].clone()
    }
}

#[test]
fn the_dock_is_at_the_bottom_and_the_document_at_the_top() {
    let mut stage = Stage::new(20, 6);
    push(&mut stage.blocks, "hello");
    stage.draw();
    assert_eq!(stage.rows(), ["hello", "", "", "", "----", ">"]);
    assert_eq!(stage.terminal.cursor(), (5, 2));
    assert!(!stage.terminal.is_cursor_shown());
    stage.draw();
    assert_eq!(stage.written, b"");
    stage.dock[1] = Line::plain("> a");
    stage.dock[1].caret = Some(3);
    stage.draw();
    assert_eq!(stage.written, b"\x1b[?2026h\x1b[6;3Ha\x1b[6;4H\x1b[?2026l");
}

#[test]
fn the_last_row_of_the_document_stays() {
    let mut stage = Stage::numbered(20, 5, 3);
    stage.dock = lines(&["a", "b", "c", "d", "e", "f", "g"]);
    stage.dock[5].caret = Some(0);
    stage.draw();
    assert_eq!(stage.rows(), ["line 2", "d", "e", "f", "g"]);
}

#[test]
fn the_view_follows_until_it_is_scrolled_back() {
    let mut stage = Stage::numbered(30, 12, 50);
    assert_eq!((stage.top().as_str(), stage.screen.is_following()), ("line 40", true));
    push(&mut stage.blocks, "line 50");
    stage.draw();
    assert_eq!(stage.top(), "line 41");

    stage.scroll(Scroll::Lines(-3));
    assert_eq!((stage.top().as_str(), stage.screen.is_following()), ("line 38", false));
    push(&mut stage.blocks, "line 51");
    stage.draw();
    assert_eq!(stage.top(), "line 38");
    assert_eq!(stage.rows()[9], "line 47      back");

    // A page leaves four lines of the last one.
    stage.scroll(Scroll::PageUp);
    assert_eq!(stage.top(), "line 32");
    stage.scroll(Scroll::HalfUp);
    assert_eq!(stage.top(), "line 27");
    stage.scroll(Scroll::PageDown);
    assert_eq!(stage.top(), "line 33");
    stage.scroll(Scroll::Top);
    assert_eq!(stage.top(), "line 0");
    stage.scroll(Scroll::Lines(-5));
    assert_eq!(stage.top(), "line 0");
    stage.scroll(Scroll::Bottom);
    assert_eq!((stage.top().as_str(), stage.screen.is_following()), ("line 42", true));
    stage.scroll(Scroll::Lines(-1));
    stage.scroll(Scroll::Lines(1));
    assert!(stage.screen.is_following());

    // A click on the label leads back.
    stage.scroll(Scroll::PageUp);
    assert_eq!(stage.press(9, 13), MouseOutcome::Scrolled);
    assert!(stage.screen.is_following());
}

#[test]
fn corrected_heights_do_not_move_the_view() {
    let mut stage = Stage::new(30, 10);
    for number in 0..1_000 {
        push(&mut stage.blocks, &format!("block {number}\nsecond\nthird\nfourth\nfifth"));
    }
    stage.draw();
    stage.scroll(Scroll::Row(1_500));
    let before = stage.rows();
    for _ in 0..20 {
        stage.scroll(Scroll::Lines(-7));
    }
    for _ in 0..20 {
        stage.scroll(Scroll::Lines(7));
    }
    assert_eq!(stage.rows(), before);
    assert!(!stage.screen.is_following());
}

#[test]
fn only_visible_blocks_are_rendered() {
    let mut stage = Stage::new(30, 10);
    let blocks: Vec<_> =
        (0..40_000).map(|number| push(&mut stage.blocks, &format!("line {number}"))).collect();
    stage.draw();
    stage.scroll(Scroll::Top);
    stage.scroll(Scroll::Row(60_000));
    stage.screen.resize(Size::new(20, 8));
    stage.terminal.resize(20, 8);
    stage.draw();
    let rendered = blocks.iter().filter(|block| block.borrow().renders > 0).count();
    assert!(rendered < 60, "{rendered}");
    for _ in 0..200 {
        stage.scroll(Scroll::Lines(-10));
    }
    let kept = blocks.iter().filter(|block| {
        let block = block.borrow();
        block.renders > 0 && block.released == 0
    });
    assert!(kept.count() <= 400);
}

#[test]
fn a_view_stays_at_its_text_when_the_width_changes() {
    let mut stage = Stage::new(60, 10);
    for number in 0..50 {
        push(&mut stage.blocks, &format!("{number} {}", "word ".repeat(50)));
    }
    stage.draw();
    stage.scroll(Scroll::PageUp);
    stage.scroll(Scroll::PreviousPrompt);
    stage.scroll(Scroll::Row(51));
    let block = stage.top().split(' ').next().unwrap().to_owned();
    stage.terminal.resize(30, 10);
    stage.screen.resize(Size::new(30, 10));
    stage.draw();
    assert!(String::from_utf8_lossy(&stage.written).contains("\x1b[2J"));
    assert_eq!(stage.top().split(' ').next().unwrap(), block);
}

/// Lines with prompts.
struct Message(&'static str, bool);

impl Block for Message {
    fn render(&mut self, _view: View<'_>) -> Lines {
        let mut first = Line::plain(self.0);
        first.is_prompt = self.1;
        Rc::new([first, Line::plain("..."), Line::new()])
    }
}

#[test]
fn prompts_are_targets() {
    let mut stage = Stage::new(30, 6);
    for (text, is_prompt) in [
        ("one", true),
        ("tool", false),
        ("two", true),
        ("tool", false),
        ("three", true),
        ("end", false),
    ] {
        stage.blocks.push(Box::new(Message(text, is_prompt)));
    }
    stage.draw();
    let mut tops = Vec::new();
    for _ in 0..3 {
        stage.scroll(Scroll::PreviousPrompt);
        tops.push(stage.top());
    }
    for _ in 0..2 {
        stage.scroll(Scroll::NextPrompt);
        tops.push(stage.top());
    }
    assert_eq!(tops, ["three", "two", "one", "two", "three"]);
    stage.scroll(Scroll::NextPrompt);
    assert!(stage.screen.is_following());
}

#[test]
fn the_wheel_accelerates() {
    let mut stage = Stage::numbered(30, 12, 500);
    let turn = |stage: &mut Stage, gap: u64, modifiers| {
        stage.now += Duration::from_millis(gap);
        let before: usize = stage.top()[5..].parse().unwrap();
        let kind = MouseKind::WheelUp;
        let mouse = Mouse { kind, column: 0, row: 0, modifiers };
        let outcome = stage.screen.handle_mouse(mouse, &mut stage.blocks, &stage.theme, stage.now);
        assert_eq!(outcome, MouseOutcome::Scrolled);
        stage.draw();
        before - stage.top()[5..].parse::<usize>().unwrap()
    };
    let none = Modifiers::NONE;
    let slow: Vec<usize> = (0..3).map(|_| turn(&mut stage, 300, none)).collect();
    assert_eq!(slow, [1, 1, 1]);
    let fast: Vec<usize> = (0..3).map(|_| turn(&mut stage, 20, none)).collect();
    assert_eq!(fast, [5, 5, 5]);
    assert_eq!(turn(&mut stage, 500, Modifiers::ALT), 5);
    stage.screen.set_wheel_lines(WheelLines::Fixed(3));
    assert_eq!(turn(&mut stage, 5, none), 3);
}

/// A paragraph as a message shows it: padded, quoted, wrapped.
struct Quoted;

impl Block for Quoted {
    fn render(&mut self, _view: View<'_>) -> Lines {
        let line = |text: &str, end| {
            let bar = Span::layout(" │ ", Style::PLAIN);
            let mut line = Line::from_spans([bar, Span::new(text, Style::PLAIN)]);
            line.pad_to(28, Style::PLAIN);
            line.end = end;
            line
        };
        let link = Span::new("site", Style::PLAIN).link("https://example.org");
        Rc::new([
            Line::from_spans([Span::layout("┌────┐", Style::PLAIN)]),
            line("a sentence that is", LineEnd::Space),
            line("wrapped at a spa", LineEnd::Joined),
            line("ce", LineEnd::Hard),
            line("cat ~/a-b/c.txt + 1", LineEnd::Hard),
            Line::from_spans([Span::new("see ", Style::PLAIN), link]),
        ])
    }
}

#[test]
fn a_copy_has_the_source() {
    let mut stage = Stage::new(30, 12);
    let block = stage.blocks.push(Box::new(Quoted));
    stage.draw();
    stage.press(0, 0);
    assert_eq!(stage.drag(4, 29), MouseOutcome::Scrolled);
    let text = "a sentence that is wrapped at a space\ncat ~/a-b/c.txt + 1";
    assert_eq!(stage.release(4, 29), MouseOutcome::Selected(text.to_owned()));
    assert!(stage.terminal.styled()[1][4].1.contains("INVERSE"));
    assert_eq!(stage.screen.selected_text(&mut stage.blocks, &stage.theme).as_deref(), Some(text));

    // Backwards.
    stage.now += Duration::from_secs(1);
    stage.press(2, 9);
    stage.drag(1, 5);
    assert_eq!(stage.release(1, 5), MouseOutcome::Selected("sentence that is wrapped".to_owned()));

    // A double click selects a word, a third click the line with its wrapped parts.
    stage.now += Duration::from_secs(1);
    stage.press(4, 9);
    let clicked = MouseOutcome::Clicked { block, row: 4, column: 9, link: None };
    assert_eq!(stage.release(4, 9), clicked);
    stage.press(4, 9);
    assert_eq!(stage.release(4, 9), MouseOutcome::Selected("~/a-b/c.txt".to_owned()));
    stage.now += Duration::from_secs(1);
    for _ in 0..3 {
        stage.press(2, 5);
        stage.now += Duration::from_millis(10);
    }
    assert_eq!(
        stage.release(2, 5),
        MouseOutcome::Selected("a sentence that is wrapped at a space".to_owned())
    );

    // A click removes the selection.
    stage.now += Duration::from_secs(1);
    stage.press(5, 5);
    let link = Some("https://example.org".to_owned());
    let clicked = MouseOutcome::Clicked { block, row: 5, column: 5, link };
    assert_eq!(stage.release(5, 5), clicked);
    assert!(!stage.terminal.styled()[1][4].1.contains("INVERSE"));
    assert_eq!(stage.press(10, 3), MouseOutcome::Dock { row: 0, column: 3 });
}

#[test]
fn a_selection_scrolls_at_the_edges() {
    let mut stage = Stage::numbered(30, 12, 50);
    stage.press(5, 2);
    stage.drag(0, 0);
    let deadline = stage.screen.deadline().unwrap();
    assert_eq!(deadline, stage.now + Duration::from_millis(50));
    for _ in 0..5 {
        stage.now += Duration::from_millis(50);
        stage.draw();
    }
    assert_eq!(stage.top(), "line 35");
    let MouseOutcome::Selected(text) = stage.release(0, 0) else { panic!("nothing is selected") };
    assert_eq!(text.lines().next(), Some("line 35"));
    assert_eq!(text.lines().count(), 11);
    assert_eq!(stage.screen.deadline(), None);

    stage.press(5, 2);
    stage.drag(6, 2);
    stage.screen.cancel_drag();
    assert_eq!(stage.release(6, 2), MouseOutcome::Ignored);
    assert_eq!(stage.screen.selected_text(&mut stage.blocks, &stage.theme), None);
}

#[test]
fn the_scroll_bar_comes_and_goes() {
    let mut stage = Stage::numbered(30, 12, 100);
    let bar = |stage: &Stage| -> String {
        stage.terminal.styled()[..10].iter().map(|row| row[29].0).collect()
    };
    stage.screen.set_scrollbar(Scrollbar::Auto);
    stage.draw();
    assert_eq!(bar(&stage), " ".repeat(10));
    stage.scroll(Scroll::Top);
    assert_eq!(bar(&stage), "┃┃││││││││");
    assert_eq!(stage.screen.deadline(), Some(stage.now + Duration::from_secs(1)));
    stage.now += Duration::from_secs(1);
    stage.draw();
    assert_eq!(bar(&stage), " ".repeat(10));
    assert_eq!(stage.screen.deadline(), None);

    assert_eq!(stage.mouse(MouseKind::Move, 5, 29), MouseOutcome::Scrolled);
    assert_eq!(bar(&stage), "██││││││││");
    assert_eq!(stage.mouse(MouseKind::Move, 5, 20), MouseOutcome::Scrolled);
    assert_eq!(bar(&stage), " ".repeat(10));

    // A click on the track jumps, the thumb can be dragged.
    stage.screen.set_scrollbar(Scrollbar::Always);
    stage.draw();
    stage.press(9, 29);
    assert_eq!(bar(&stage), "││││││││┃┃");
    assert!(stage.screen.is_following());
    stage.drag(0, 29);
    assert_eq!(stage.top(), format!("line 0{}┃", " ".repeat(23)));
    stage.release(0, 29);
    stage.screen.set_scrollbar(Scrollbar::Hidden);
    stage.draw();
    assert_eq!(bar(&stage), " ".repeat(10));
}

#[test]
fn a_search_goes_around_the_document() {
    let mut stage = Stage::numbered(30, 12, 1_000);
    stage.scroll(Scroll::Row(1_500));
    let all = |stage: &mut Stage| {
        let mut steps = 0;
        while stage.screen.search_step(&mut stage.blocks, &stage.theme, 50) {
            steps += 1;
        }
        steps
    };
    let status = |current, total| SearchStatus { current, total, is_complete: true };

    stage.screen.search("LINE   77");
    assert_eq!(stage.screen.search_status().total, 0);
    assert!(all(&mut stage) >= 20);
    stage.draw();
    // 77, 770 to 779: the first at or after the top of the view, which is beyond line 500.
    assert_eq!(stage.screen.search_status(), status(2, 11));
    assert_eq!(stage.rows()[3], "line 770");
    let style = |stage: &Stage, row: usize| stage.terminal.styled()[row][0].1.clone();
    assert!(style(&stage, 3).contains("INVERSE") && style(&stage, 3).contains("BOLD"));
    assert!(style(&stage, 4).contains("UNDERLINE"), "{}", style(&stage, 4));
    assert!(!style(&stage, 2).contains("UNDERLINE"));

    stage.screen.search_previous();
    stage.draw();
    assert_eq!(stage.screen.search_status(), status(1, 11));
    assert_eq!(stage.rows()[3], "line 77");
    stage.screen.search_previous();
    assert_eq!(stage.screen.search_status(), status(11, 11));
    stage.screen.search_next();
    stage.screen.search_next();
    assert_eq!(stage.screen.search_status(), status(2, 11));

    // New blocks are found by the next steps.
    push(&mut stage.blocks, "line 77 again");
    all(&mut stage);
    assert_eq!(stage.screen.search_status(), status(2, 12));
    stage.screen.search("nowhere");
    all(&mut stage);
    assert_eq!(stage.screen.search_status(), status(0, 0));
    stage.screen.search("");
    assert_eq!(stage.screen.search_status(), SearchStatus::default());
}

#[test]
fn a_match_crosses_wrapped_rows_and_skips_layout() {
    let mut stage = Stage::new(30, 12);
    stage.blocks.push(Box::new(Quoted));
    stage.draw();
    stage.screen.search("is wrapped at a SPACE cat");
    while stage.screen.search_step(&mut stage.blocks, &stage.theme, 10) {}
    stage.draw();
    assert_eq!(stage.screen.search_status().total, 1);
    let marked: Vec<String> = stage.terminal.styled()[1..5]
        .iter()
        .map(|row| row.iter().filter(|it| it.1.contains("INVERSE")).map(|it| it.0).collect())
        .collect();
    assert_eq!(marked, ["is", "wrapped at a spa", "ce", "cat"]);
}

#[test]
fn blocks_may_disappear_at_any_time() {
    let mut stage = Stage::numbered(30, 12, 50);
    stage.scroll(Scroll::PageUp);
    stage.press(2, 0);
    stage.drag(4, 3);
    stage.screen.search("line");
    stage.screen.search_step(&mut stage.blocks, &stage.theme, 5);
    while let Some(id) = stage.blocks.last().filter(|_| stage.blocks.len() > 5) {
        stage.blocks.remove(id);
        stage.draw();
        stage.screen.search_step(&mut stage.blocks, &stage.theme, 5);
    }
    assert_eq!(stage.rows()[..6], ["line 0", "line 1", "line 2", "line 3", "line 4", ""]);
    stage.blocks.clear();
    stage.draw();
    stage.screen.search_step(&mut stage.blocks, &stage.theme, 5);
    assert_eq!(stage.release(3, 3), MouseOutcome::Scrolled);
    assert_eq!(stage.rows()[0], "");
    assert_eq!(stage.theme.fg(Token::Text), Theme::dark().fg(Token::Text));
}

#[derive(Debug, Clone)]
enum Step {
    Append(String),
    Stream(String),
    Remove(usize),
    Scroll(Scroll),
    Dock(usize),
    Theme(bool),
    Bar(Scrollbar),
    Drag(usize, usize),
    Search(&'static str),
    Resize(usize, usize),
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scroll = prop::sample::select(vec![
        Scroll::Lines(-1),
        Scroll::Lines(2),
        Scroll::PageUp,
        Scroll::PageDown,
        Scroll::Top,
        Scroll::Bottom,
        Scroll::Row(7),
        Scroll::PreviousPrompt,
    ]);
    let bars = vec![Scrollbar::Auto, Scrollbar::Always, Scrollbar::Hidden];
    let texts = "[a-z ]{0,40}|[a-z日本é]{0,25}|([a-z]{1,9} ){1,30}|[a-z]\n[a-z]{0,9}\n\n[a-z]👍🏽";
    let step = prop_oneof![
        4 => texts.prop_map(Step::Append),
        4 => texts.prop_map(Step::Stream),
        1 => (0..9usize).prop_map(Step::Remove),
        4 => scroll.prop_map(Step::Scroll),
        1 => (1..9usize).prop_map(Step::Dock),
        1 => any::<bool>().prop_map(Step::Theme),
        1 => prop::sample::select(bars).prop_map(Step::Bar),
        2 => (0..12usize, 0..40usize).prop_map(|(row, column)| Step::Drag(row, column)),
        1 => prop::sample::select(vec!["a", "e f", ""]).prop_map(Step::Search),
        2 => (1..60usize, 1..20usize).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_screen_is_what_a_redraw_shows(steps in steps()) {
        let mut stage = Stage::new(30, 12);
        stage.screen.set_scrollbar(Scrollbar::Auto);
        let mut blocks = Vec::new();
        for step in steps {
            match step.clone() {
                Step::Append(text) => blocks.push(push(&mut stage.blocks, &text)),
                Step::Stream(text) => {
                    if let Some(last) = blocks.last() {
                        last.borrow_mut().text.push_str(&text);
                    }
                }
                Step::Remove(row) => {
                    if let Some((id, _)) = stage.blocks.at_row(row) {
                        blocks.remove(stage.blocks.index_of(id).unwrap());
                        stage.blocks.remove(id);
                    }
                }
                Step::Scroll(scroll) => stage.screen.scroll(scroll),
                Step::Dock(rows) => {
                    stage.dock = (0..rows).map(|row| Line::plain(row.to_string())).collect();
                    stage.dock[rows / 2].caret = Some(1);
                }
                Step::Theme(dark) => {
                    stage.theme = if dark { Theme::dark() } else { Theme::light() };
                }
                Step::Bar(bar) => stage.screen.set_scrollbar(bar),
                Step::Drag(row, column) => {
                    stage.press(row / 2, column / 2);
                    stage.drag(row, column);
                }
                Step::Search(query) => {
                    stage.screen.search(query);
                    stage.screen.search_step(&mut stage.blocks, &stage.theme, 100);
                }
                Step::Resize(columns, rows) => {
                    stage.terminal.resize(columns, rows);
                    stage.screen.resize(Size::new(columns, rows));
                }
                Step::Wait => stage.now += Duration::from_secs(2),
            }
            stage.draw();
            let Size { columns, rows } = stage.screen.size();
            let (screen, cursor) = (stage.terminal.styled(), stage.terminal.cursor());
            let mut fresh = Emulator::new(columns, rows);
            fresh.feed(super::FULLSCREEN);
            let old = std::mem::replace(&mut stage.terminal, fresh);
            stage.screen.redraw();
            stage.draw();
            prop_assert_eq!(screen, stage.terminal.styled(), "after {:?}", step);
            prop_assert_eq!(cursor, stage.terminal.cursor(), "after {:?}", step);
            stage.terminal = old;
        }
    }
}
