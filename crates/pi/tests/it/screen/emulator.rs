//! A terminal in memory: takes the bytes of a program and gives rows, styles, cursor and modes.
//!
//! It knows no processes: what the terminal answers is collected, and the caller sends it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Osc52, Term, TermMode};
use alacritty_terminal::vte::ansi::{Color, NamedColor, Processor, Rgb};

/// Rows that the scrollback keeps.
const SCROLLBACK: usize = 20_000;

/// What a terminal answers to queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    /// Supports the kitty keyboard protocol.
    pub(crate) kitty: bool,
    /// Reports its colors: a dark terminal with the usual palette.
    pub(crate) colors: bool,
}

impl Profile {
    /// A terminal that answers only the query of its device attributes.
    pub(crate) const PLAIN: Self = Self { kitty: false, colors: false };
    /// A terminal that answers every query.
    pub(crate) const MODERN: Self = Self { kitty: true, colors: true };
}

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    pub(crate) const fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows }
    }

    /// Parses `80x24`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (columns, rows) = text.split_once('x')?;
        Some(Self::new(columns.parse().ok()?, rows.parse().ok()?))
    }
}

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        self.rows
    }

    fn screen_lines(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }
}

/// Colors and attributes of a cell, in a form that is the same for equal looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Style {
    /// The color and attributes that show only on characters.
    on_text: String,
    /// The color and attributes that also show on blanks.
    on_cell: String,
}

impl Style {
    fn of(cell: &Cell) -> Self {
        let color = |name: &str, color: Color, default: NamedColor| match color {
            Color::Named(named) if named == default => None,
            Color::Named(named) => Some(format!("{name} {}", named as usize)),
            Color::Indexed(index) => Some(format!("{name} {index}")),
            Color::Spec(Rgb { r, g, b }) => Some(format!("{name} #{r:02x}{g:02x}{b:02x}")),
        };
        let words = |first: Option<String>, flags: &[(Flags, &str)]| {
            let flags = flags.iter().filter(|(flag, _)| cell.flags.intersects(*flag));
            let words = first.into_iter().chain(flags.map(|(_, name)| (*name).to_owned()));
            words.collect::<Vec<_>>().join(" ")
        };
        let on_text = [
            (Flags::BOLD, "bold"),
            (Flags::DIM, "dim"),
            (Flags::ITALIC, "italic"),
            (Flags::HIDDEN, "hidden"),
        ];
        let on_cell = [
            (Flags::ALL_UNDERLINES, "underline"),
            (Flags::STRIKEOUT, "strike"),
            (Flags::INVERSE, "inverse"),
        ];
        Self {
            on_text: words(color("fg", cell.fg, NamedColor::Foreground), &on_text),
            on_cell: words(color("bg", cell.bg, NamedColor::Background), &on_cell),
        }
    }

    pub(crate) fn is_inverse(&self) -> bool {
        self.on_cell.ends_with("inverse")
    }

    /// Returns what shows only on characters, and what also shows on blanks.
    pub(crate) fn layers(&self) -> (String, String) {
        (self.on_text.clone(), self.on_cell.clone())
    }
}

/// A cell that is not the second half of a wide character.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Glyph {
    pub(crate) text: String,
    pub(crate) width: usize,
    pub(crate) style: Style,
}

/// A row of the screen or of the scrollback.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    /// Text without trailing spaces.
    pub(crate) text: String,
    pub(crate) cells: Vec<Glyph>,
    /// The row continues in the next one, as the terminal sees it.
    pub(crate) wrapped: bool,
}

/// What the program asked of the terminal, beside drawing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    pub(crate) title: Option<String>,
    /// Texts for the clipboard (OSC 52).
    pub(crate) clipboard: Vec<String>,
    pub(crate) bells: usize,
    answers: Vec<u8>,
}

#[derive(Clone)]
struct Listener {
    profile: Profile,
    requests: Arc<Mutex<Requests>>,
}

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        let mut requests = self.requests.lock().unwrap();
        match event {
            Event::Title(title) => requests.title = Some(title),
            Event::ResetTitle => requests.title = None,
            Event::ClipboardStore(_, text) => requests.clipboard.push(text),
            Event::PtyWrite(text) => requests.answers.extend(text.into_bytes()),
            Event::ColorRequest(index, format) if self.profile.colors => {
                requests.answers.extend(format(color(index)).into_bytes());
            }
            Event::Bell => requests.bells += 1,
            _ => {}
        }
    }
}

/// Returns the color that the terminal reports for an index: 256 is the text, 257 the background.
fn color(index: usize) -> Rgb {
    let (r, g, b) = match index {
        256 => (0xd8, 0xd8, 0xd8),
        257 => (0x18, 0x18, 0x18),
        bright @ 8..16 => {
            let channel = |bit: usize| if bright & bit == 0 { 0x55 } else { 0xff };
            (channel(1), channel(2), channel(4))
        }
        other => {
            let channel = |bit: usize| if other & bit == 0 { 0x00 } else { 0xbb };
            (channel(1), channel(2), channel(4))
        }
    };
    Rgb { r, g, b }
}

/// A terminal.
pub(crate) struct Emulator {
    term: Term<Listener>,
    parser: Processor,
    requests: Arc<Mutex<Requests>>,
    /// All bytes of the program.
    pub(crate) raw: Vec<u8>,
    scanned: usize,
    /// Private modes that the program switched, with their last state.
    switched: BTreeMap<u32, bool>,
}

impl Emulator {
    pub(crate) fn new(size: Size, profile: Profile) -> Self {
        let requests = Arc::new(Mutex::new(Requests::default()));
        let listener = Listener { profile, requests: Arc::clone(&requests) };
        let config = Config {
            scrolling_history: SCROLLBACK,
            kitty_keyboard: profile.kitty,
            osc52: Osc52::OnlyCopy,
            ..Config::default()
        };
        Self {
            term: Term::new(config, &size, listener),
            parser: Processor::new(),
            requests,
            raw: Vec::new(),
            scanned: 0,
            switched: BTreeMap::new(),
        }
    }

    /// Takes output of the program and returns what the terminal answers.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.raw.extend_from_slice(bytes);
        self.scan();
        self.parser.advance(&mut self.term, bytes);
        std::mem::take(&mut self.requests.lock().unwrap().answers)
    }

    /// Shows an update that the program began and did not end, as terminals do after a while.
    pub(crate) fn end_update(&mut self) {
        self.parser.stop_sync(&mut self.term);
    }

    /// Follows the private modes in the output, since the emulator does not know all of them.
    fn scan(&mut self) {
        while let Some(at) = find(&self.raw[self.scanned..], b"\x1b[?") {
            let start = self.scanned + at + 3;
            let rest = &self.raw[start..];
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';');
            let length = digits.count();
            let Some(last) = rest.get(length) else { return };
            if matches!(last, b'h' | b'l') {
                let modes = String::from_utf8_lossy(&rest[..length]).into_owned();
                for mode in modes.split(';').filter_map(|mode| mode.parse().ok()) {
                    self.switched.insert(mode, *last == b'h');
                }
            }
            self.scanned = start;
        }
        self.scanned = self.scanned.max(self.raw.len().saturating_sub(2));
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.term.resize(size);
    }

    fn row(&self, line: i32) -> Row {
        let row = &self.term.grid()[Line(line)];
        let mut cells = Vec::new();
        for column in 0..self.term.columns() {
            let cell = &row[Column(column)];
            let spacer = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
            if cell.flags.intersects(spacer) {
                continue;
            }
            let mut text =
                String::from(if cell.c == '\0' || cell.c == '\t' { ' ' } else { cell.c });
            text.extend(cell.zerowidth().into_iter().flatten());
            let width = if cell.flags.contains(Flags::WIDE_CHAR) { 2 } else { 1 };
            cells.push(Glyph { text, width, style: Style::of(cell) });
        }
        let text: String = cells.iter().map(|cell| cell.text.as_str()).collect();
        let last = row.last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE));
        Row { text: text.trim_end().to_owned(), cells, wrapped: last }
    }

    /// Returns the rows of the screen.
    pub(crate) fn rows(&self) -> Vec<Row> {
        (0..self.term.screen_lines() as i32).map(|line| self.row(line)).collect()
    }

    /// Returns the rows above the screen, oldest first.
    pub(crate) fn scrollback(&self) -> Vec<Row> {
        let count = self.term.grid().history_size() as i32;
        (-count..0).map(|line| self.row(line)).collect()
    }

    /// Returns the column and the row of the cursor, from 0.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        let point = self.term.grid().cursor.point;
        (point.column.0, point.line.0.max(0) as usize)
    }

    pub(crate) fn cursor_is_shown(&self) -> bool {
        self.term.mode().contains(TermMode::SHOW_CURSOR)
    }

    pub(crate) fn mode(&self) -> TermMode {
        *self.term.mode()
    }

    /// Returns the private modes whose state differs from that of a new terminal.
    pub(crate) fn modes_left(&self) -> Vec<u32> {
        let on_at_first = [7, 25];
        let changed = |(mode, on): &(&u32, &bool)| **on != on_at_first.contains(*mode);
        self.switched.iter().filter(changed).map(|(mode, _)| *mode).collect()
    }

    /// Returns the last state of a private mode that the program switched.
    pub(crate) fn switched(&self, mode: u32) -> Option<bool> {
        self.switched.get(&mode).copied()
    }

    pub(crate) fn requests(&self) -> Requests {
        self.requests.lock().unwrap().clone()
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[test]
fn the_emulator_gives_rows_styles_modes_and_answers() {
    let mut terminal = Emulator::new(Size::new(10, 2), Profile::PLAIN);
    let answer =
        terminal.feed(b"\x1b]0;title\x07one\r\n\x1b[1;38;5;5mtwo\x1b[0m\r\n\x1b[44m \x1b[?20");
    assert_eq!(answer, b"");
    assert_eq!(
        terminal.feed(b"04;25l\x1b[?1049h\x1b[?1049l\x1b[c\x1b[?u\x1b]11;?\x07"),
        b"\x1b[?6c"
    );
    let rows = terminal.rows();
    assert_eq!(rows[0].text, "two");
    assert_eq!(rows[0].cells[0].style.layers(), ("fg 5 bold".to_owned(), String::new()));
    assert_eq!(rows[1].cells[0].style.layers(), (String::new(), "bg 4".to_owned()));
    assert_eq!(rows[1].text, "");
    assert_eq!(terminal.scrollback()[0].text, "one");
    assert_eq!((terminal.cursor(), terminal.cursor_is_shown()), ((1, 1), false));
    assert_eq!(terminal.modes_left(), [25]);
    assert_eq!(terminal.requests().title.as_deref(), Some("title"));
    let mut modern = Emulator::new(Size::new(10, 2), Profile::MODERN);
    let answer = modern.feed(b"\x1b[>7u\x1b[?u\x1b]11;?\x07\x1b]52;c;eA==\x07");
    assert_eq!(String::from_utf8(answer).unwrap(), "\x1b[?7u\x1b]11;rgb:1818/1818/1818\x07");
    assert_eq!(modern.requests().clipboard, ["x"]);
}
