//! Any order of events leaves the same screen as drawing everything once.

use pi_tui::{ColorDepth, Encoder, Line, PlacedOverlay, RegularScreen, Size, Theme};
use proptest::prelude::*;

use super::regular::Stage;
use super::{Shared, frame, lines, push};
use crate::emulator::Emulator;

#[derive(Debug, Clone)]
enum Step {
    /// A block is added.
    Append(String),
    /// The last block grows.
    Stream(String),
    /// A block that is on the screen changes.
    Change(usize, String),
    Dock(usize),
    Theme(bool),
    Overlay,
    Resize(usize, usize),
}

fn texts() -> impl Strategy<Value = String> {
    "[a-z ]{0,30}|[a-z日本é]{0,25}|([a-z]{1,9} ){1,30}|[a-z]{1,90}|[a-z]{0,9}\n[a-z]{0,9}\n\n[a-z]{0,20}"
}

fn steps(resizes: bool) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => texts().prop_map(Step::Append),
        4 => texts().prop_map(Step::Stream),
        2 => (0..4usize, texts()).prop_map(|(back, text)| Step::Change(back, text)),
        2 => (1..5usize).prop_map(Step::Dock),
        1 => any::<bool>().prop_map(Step::Theme),
        1 => Just(Step::Overlay),
        if resizes { 3 } else { 0 } => (12..70usize, 8..20usize).prop_map(|(columns, rows)| {
            Step::Resize(columns, rows)
        }),
    ];
    prop::collection::vec(step, 1..40)
}

/// Returns the dock with a number of rows. Its characters do not occur in texts.
fn dock(rows: usize) -> Vec<Line> {
    let mut dock = lines(&["=0=", "=1=", "=2=", "=3=", "=4="][..rows]);
    dock[0].caret = Some(1);
    dock
}

fn apply(stage: &mut Stage, blocks: &mut Vec<Shared>, step: Step, can_change: bool) {
    match step {
        Step::Append(text) => blocks.push(push(&mut stage.blocks, &text)),
        Step::Stream(text) => {
            if let Some(last) = blocks.last() {
                last.borrow_mut().text.push_str(&text);
            }
        }
        Step::Change(back, text) => {
            // Only a block that is wholly on the screen may change: others are final.
            let visible = stage.terminal.screen().len().saturating_sub(stage.dock.len());
            let view = stage.screen.view(&stage.theme);
            let mut height = 0;
            let mut next = stage.blocks.last();
            for _ in 0..=back {
                let Some(id) = next else { return };
                height += stage.blocks.lines(id, view).len();
                next = stage.blocks.previous(id);
            }
            if can_change && height < visible.saturating_sub(5) {
                let index = blocks.len() - 1 - back;
                blocks[index].borrow_mut().text = text;
            }
        }
        Step::Dock(rows) => stage.dock = dock(rows),
        Step::Theme(dark) => {
            stage.theme = if dark { Theme::dark() } else { Theme::light() };
            stage.blocks.touch_all();
        }
        Step::Overlay => {
            let lines = lines(&["###", "###"]).into();
            stage.draw_over(&[PlacedOverlay { row: 1, column: 2, width: 3, lines }]);
        }
        Step::Resize(columns, rows) => stage.resize(columns, rows),
    }
    stage.draw();
}

/// Draws everything once into a new terminal.
fn drawn_once(stage: &mut Stage) -> Emulator {
    let size = stage.screen.size();
    let mut terminal = Emulator::new(size.columns, size.rows);
    let mut screen = RegularScreen::new(size, Encoder::new(ColorDepth::True));
    let view = screen.view(&stage.theme);
    screen.start_at_end(&mut stage.blocks, view, usize::MAX);
    let mut out = Vec::new();
    screen.draw(&mut stage.blocks, &frame(&stage.theme, &stage.dock), &mut out);
    terminal.feed(&out);
    terminal
}

fn trimmed<T: Clone>(mut rows: Vec<T>, is_blank: impl Fn(&T) -> bool) -> Vec<T> {
    while rows.last().is_some_and(&is_blank) {
        rows.pop();
    }
    rows
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_resizes_the_screen_is_the_end_of_the_document(steps in steps(false)) {
        let mut stage = Stage::new(30, 12);
        stage.dock = dock(3);
        stage.start_at_beginning();
        stage.draw();
        let mut blocks = Vec::new();
        for step in steps {
            apply(&mut stage, &mut blocks, step.clone(), true);
            let fresh = drawn_once(&mut stage);
            let is_blank = |row: &Vec<(char, String)>| row.iter().all(|cell| cell.0 == ' ');
            let ours = trimmed(stage.terminal.styled(), is_blank);
            let theirs = trimmed(fresh.styled(), is_blank);
            let common = ours.len().min(theirs.len());
            // Final lines keep the look that they had: only rows that can still change are compared.
            prop_assert_eq!(
                &ours[ours.len() - common..],
                &theirs[theirs.len() - common..],
                "after {:?}", step
            );
        }
        let fresh = drawn_once(&mut stage);
        let ours: Vec<String> = stage.history();
        let theirs = trimmed(fresh.logical_lines(), String::is_empty);
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn with_resizes_every_text_is_in_the_history_once(steps in steps(true)) {
        let mut stage = Stage::new(30, 12);
        stage.dock = dock(3);
        stage.start_at_beginning();
        stage.draw();
        let mut blocks: Vec<Shared> = Vec::new();
        for step in steps {
            let is_change = matches!(step, Step::Change(..));
            if !is_change {
                apply(&mut stage, &mut blocks, step.clone(), false);
            }
            let mut expected: String =
                blocks.iter().map(|block| squeezed(&block.borrow().text)).collect();
            expected.extend(stage.dock.iter().map(|line| line.text()));
            let found = squeezed(&stage.history().concat());
            prop_assert_eq!(found, expected, "after {:?}", step);
            let (row, column) = stage.terminal.cursor();
            prop_assert_eq!(column, 1);
            prop_assert_eq!(&stage.terminal.screen()[row], "=0=");
        }
    }
}

/// Returns a dock like that of an editor: borders as wide as the terminal, a caret somewhere.
fn editor(columns: usize, caret: usize) -> Vec<Line> {
    let caret = caret.min(columns - 1);
    let mut input = Line::plain("+".repeat(caret));
    input.push(" ", pi_tui::Style::PLAIN.inverse());
    input.pad_to(columns, pi_tui::Style::PLAIN);
    input.caret = Some(caret);
    let border = || Line::plain("─".repeat(columns));
    vec![border(), input, border(), Line::plain("#".repeat(columns))]
}

fn drags() -> impl Strategy<Value = Vec<(Vec<(usize, usize)>, usize, String)>> {
    let size = (40..81usize, 16..25usize);
    let sizes = prop::collection::vec(size, 1..5);
    prop::collection::vec((sizes, 0..81usize, texts()), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// A window is dragged through several sizes before the program notices the last one.
    #[test]
    fn a_dragged_window_leaves_one_dock(drags in drags()) {
        let mut stage = Stage::new(80, 24);
        stage.dock = editor(80, 3);
        stage.start_at_beginning();
        let mut expected = String::new();
        // On a terminal that is nearly empty, the emulator moves the dock itself into the scrollback.
        for _ in 0..40 {
            push(&mut stage.blocks, "an earlier line");
            expected += "anearlierline";
        }
        stage.draw();
        for (sizes, caret, text) in drags {
            for (columns, rows) in &sizes {
                stage.terminal.resize(*columns, *rows);
            }
            let (columns, rows) = sizes[sizes.len() - 1];
            stage.dock = editor(columns, caret);
            stage.resize(columns, rows);
            push(&mut stage.blocks, &text);
            expected += &squeezed(&text);
            stage.draw();
            let dock: String = stage.dock.iter().map(|line| squeezed(&line.text())).collect();
            let found = squeezed(&stage.history().concat());
            prop_assert_eq!(found, format!("{expected}{dock}"), "at {:?}", sizes);
        }
    }
}

#[test]
fn the_smallest_terminals_are_drawn() {
    for (columns, rows) in [(1, 1), (1, 3), (2, 2), (3, 1)] {
        let mut stage = Stage::new(columns, rows);
        push(&mut stage.blocks, "日本 text");
        stage.draw();
        stage.resize(columns + 1, rows + 1);
        stage.resize(columns, rows);
        assert_eq!(stage.screen.size(), Size::new(columns, rows));
    }
}
