//! A screen as a fixture: its rows, then the styles of its cells.
//!
//! A frame file has one line per row, without trailing spaces, and then, after a line `styles`, the
//! runs of cells that are not plain: `2 text 1-4 fg 5 bold, …` for what shows only on characters,
//! `2 cell 0-80 bg 4` for what also shows on blanks. Columns begin at 0. The drawn caret, and a
//! cursor that is shown, is the character `‸` before its cell.

use alacritty_terminal::term::TermMode;
use regex_lite::Regex;

use super::emulator::{Emulator, Row};

/// The mark of the caret in a row.
const CARET: char = '‸';

/// A screen with what differs from run to run replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Frame {
    pub(crate) rows: Vec<String>,
    /// Styles of each row: on characters, and on cells.
    pub(crate) styles: Vec<[Vec<StyleRun>; 2]>,
}

/// Columns with the same style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StyleRun {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) style: String,
}

impl Frame {
    /// Returns the screen of a terminal, with the scrollback above it if asked. `stable` replaces
    /// what differs from run to run without changing the length.
    ///
    /// On the main screen, one or two empty rows at the end are replaced by rows above the screen:
    /// what was shown for a moment only, such as a spinner, may have scrolled the screen or not.
    pub(crate) fn of(
        emulator: &Emulator,
        with_scrollback: bool,
        stable: impl Fn(&str) -> String,
    ) -> Self {
        let screen = emulator.rows();
        let height = screen.len();
        let main = !emulator.mode().contains(TermMode::ALT_SCREEN);
        let mut rows = if main { emulator.scrollback() } else { Vec::new() };
        let (column, row) = emulator.cursor();
        let at = rows.len() + row;
        rows.extend(screen);
        let total = rows.len();
        let mut frame = Self::default();
        for (index, row) in rows.iter().enumerate() {
            let caret = (index == at).then_some(column);
            frame.rows.push(stable(&text(row, caret, emulator.cursor_is_shown())));
            frame.styles.push(styles(row));
        }
        while frame.rows.last().is_some_and(String::is_empty)
            && frame.styles.last().is_some_and(|styles| styles.iter().all(Vec::is_empty))
        {
            frame.rows.pop();
            frame.styles.pop();
        }
        if !with_scrollback {
            let empty = total - frame.rows.len();
            let shown = if empty <= 2 { height } else { height - empty.min(height) };
            let above = frame.rows.len().saturating_sub(shown);
            frame.rows.drain(..above);
            frame.styles.drain(..above);
        }
        frame
    }

    /// Parses a frame file.
    pub(crate) fn parse(file: &str) -> Option<Self> {
        let (rows, styles) = file.split_once("\nstyles\n")?;
        let rows: Vec<String> = rows.split('\n').map(ToOwned::to_owned).collect();
        let mut frame = Self { styles: vec![Default::default(); rows.len()], rows };
        for line in styles.lines() {
            let mut words = line.splitn(3, ' ');
            let row: usize = words.next()?.parse().ok()?;
            let layer = match words.next()? {
                "text" => 0,
                "cell" => 1,
                _ => return None,
            };
            let runs = frame.styles.get_mut(row)?;
            for run in words.next()?.split(", ") {
                let (range, style) = run.split_once(' ')?;
                let (start, end) = range.split_once('-')?;
                let (start, end) = (start.parse().ok()?, end.parse().ok()?);
                runs[layer].push(StyleRun { start, end, style: style.to_owned() });
            }
        }
        Some(frame)
    }

    /// Returns the text of a frame file.
    pub(crate) fn text(&self) -> String {
        let mut text = self.rows.join("\n") + "\nstyles\n";
        for (row, layers) in self.styles.iter().enumerate() {
            for (layer, runs) in ["text", "cell"].iter().zip(layers) {
                if !runs.is_empty() {
                    let runs: Vec<String> = runs.iter().map(ToString::to_string).collect();
                    text.push_str(&format!("{row} {layer} {}\n", runs.join(", ")));
                }
            }
        }
        text
    }
}

impl std::fmt::Display for StyleRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{} {}", self.start, self.end, self.style)
    }
}

/// Returns the text of a row with the mark of the caret.
fn text(row: &Row, caret: Option<usize>, shown: bool) -> String {
    let mut text = String::new();
    let mut column = 0;
    for cell in &row.cells {
        if caret == Some(column) && (shown || cell.style.is_inverse()) {
            text.push(CARET);
        }
        text.push_str(&cell.text);
        column += cell.width;
    }
    text.trim_end().to_owned()
}

/// Returns the runs of styles that show on characters, and of those that show on every cell.
fn styles(row: &Row) -> [Vec<StyleRun>; 2] {
    let [mut on_text, mut on_cell] = [Vec::<StyleRun>::new(), Vec::new()];
    let mut column = 0;
    // The end of the last character: the style of characters continues across blanks.
    let mut last_end = 0;
    for cell in &row.cells {
        let end = column + cell.width;
        let (text_style, cell_style) = cell.style.layers();
        if cell.text != " " {
            extend(&mut on_text, last_end, column..end, text_style);
            last_end = end;
        }
        extend(&mut on_cell, column, column..end, cell_style);
        column = end;
    }
    [on_text, on_cell]
}

/// Adds columns to the last run if it has the same style and ends where it should, else a new run.
fn extend(
    runs: &mut Vec<StyleRun>,
    last_end: usize,
    columns: std::ops::Range<usize>,
    style: String,
) {
    if style.is_empty() {
        return;
    }
    let std::ops::Range { start, end } = columns;
    match runs.last_mut() {
        Some(last) if last.style == style && last.end == last_end => last.end = end,
        _ => runs.push(StyleRun { start, end, style }),
    }
}

/// Replaces versions, ids, times and spinners, which differ from run to run, without changing the
/// width.
pub(crate) fn stable(text: &str) -> String {
    let rules = [
        (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋"),
        (r"\bv\d\.\d\.\d\b", "v0.0.0"),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "01234567-89ab-7cde-8f01-23456789abcd",
        ),
        (r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z", "2026-01-01T00-00-00-000Z"),
        (r"\b(Took|Elapsed) \d\.\ds", "${1} 0.0s"),
        // The rule after the label is as much longer.
        (r"Working \d\ds( · escape stops) ", "Working$1 ────"),
        (r"Working \ds( · escape stops) ", "Working$1 ───"),
        (r"pi-bash-[0-9a-f]{16}", "pi-bash-0123456789abcdef"),
        (r"pi-bash-[0-9A-Za-z]{6}-[0-9A-Za-z]{6}", "pi-bash-012345-678901"),
    ];
    rules.into_iter().fold(text.to_owned(), |text, (pattern, replacement)| {
        Regex::new(pattern).unwrap().replace_all(&text, replacement).into_owned()
    })
}

#[test]
fn a_frame_survives_its_file() {
    use super::emulator::{Profile, Size};
    let mut emulator = Emulator::new(Size::new(12, 4), Profile::PLAIN);
    emulator.feed(
        "\x1b[?25l\x1b[1;31ma b\x1b[0m 日\r\n\r\n\x1b[44m \x1b[7m ⠹\x1b[0m\x1b[2D".as_bytes(),
    );
    let frame = Frame::of(&emulator, false, stable);
    assert_eq!(frame.rows, ["a b 日", "", " ‸ ⠋"]);
    let text = frame.text();
    let expected = "0 text 0-3 fg 1 bold\n2 cell 0-1 bg 4, 1-3 bg 4 inverse\n";
    assert_eq!(text.split_once("styles\n").unwrap().1, expected);
    assert_eq!(Frame::parse(&text), Some(frame));
}
