//! Escape sequences within a text: where they end, and which styles are in force after them.

use pi_tui::text::{grapheme_width, graphemes};

/// Columns of a tab.
const TAB: usize = 3;

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// An escape sequence that takes no column.
    Sequence(&'a str),
    /// A grapheme cluster and its columns.
    Cluster(&'a str, usize),
}

impl<'a> Piece<'a> {
    /// Returns the sequence, if the piece is one.
    pub(super) fn sequence(self) -> Option<&'a str> {
        match self {
            Self::Sequence(sequence) => Some(sequence),
            Self::Cluster(..) => None,
        }
    }
}

/// Returns the pieces of a text in order.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(length) = sequence_length(rest) {
            let (sequence, after) = rest.split_at(length);
            rest = after;
            return Some(Piece::Sequence(sequence));
        }
        let cluster = graphemes(rest).next()?;
        rest = rest.get(cluster.len()..).unwrap_or_default();
        Some(Piece::Cluster(cluster, columns_of(cluster)))
    })
}

/// Returns the columns of a grapheme cluster.
fn columns_of(cluster: &str) -> usize {
    match cluster {
        "\t" => TAB,
        "\u{2028}" | "\u{2029}" => 1,
        "\u{ad}" => 0,
        _ => grapheme_width(cluster),
    }
}

/// Returns the number of columns of a text.
pub(super) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return text.len();
    }
    let columns = pieces(text).map(|piece| match piece {
        Piece::Sequence(_) => 0,
        Piece::Cluster(_, columns) => columns,
    });
    columns.sum()
}

/// Returns the text without escape sequences.
pub(super) fn strip(text: &str) -> String {
    let kept = pieces(text).map(|piece| match piece {
        Piece::Sequence(_) => "",
        Piece::Cluster(cluster, _) => cluster,
    });
    kept.collect()
}

/// Returns the length of the escape sequence at the start of a text: styles, cursor and erase
/// commands of components, operating system commands and application commands.
fn sequence_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\u{1b}')?;
    match rest.as_bytes().first()? {
        b'[' => {
            let body = rest.get(1..)?;
            let end = body.bytes().position(|byte| !byte.is_ascii_digit() && byte != b';')?;
            let is_known = matches!(body.as_bytes().get(end)?, b'm' | b'G' | b'K' | b'H' | b'J');
            is_known.then_some(end + 3)
        }
        b']' | b'_' => {
            let body = rest.get(1..)?;
            let bell = body.find('\u{7}').map(|at| (at, 1));
            let terminator = body.find("\u{1b}\\").map(|at| (at, 2));
            let (at, length) = match (bell, terminator) {
                (Some(bell), Some(terminator)) => bell.min(terminator),
                (found, None) | (None, found) => found?,
            };
            Some(2 + at + length)
        }
        _ => None,
    }
}

/// Returns the address of the link that covers a column.
pub(super) fn link_at(text: &str, column: usize) -> Option<String> {
    let mut link = None;
    let mut at = 0;
    for piece in pieces(text) {
        match piece {
            Piece::Sequence(sequence) => {
                if let Some(found) = Link::read(sequence) {
                    link = found;
                }
            }
            Piece::Cluster(_, columns) => {
                at += columns;
                if at > column {
                    return link.map(|link| link.address().to_owned());
                }
            }
        }
    }
    None
}

/// A hyperlink as its sequence opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    open: String,
}

impl Link {
    /// Reads a sequence: `None` if it is no link, `Some(None)` if it closes one.
    fn read(sequence: &str) -> Option<Option<Self>> {
        let body = sequence.strip_prefix("\u{1b}]8;")?;
        let body = body.strip_suffix('\u{7}').or_else(|| body.strip_suffix("\u{1b}\\"))?;
        let (_, address) = body.split_once(';')?;
        Some((!address.is_empty()).then(|| Self { open: sequence.to_owned() }))
    }

    fn address(&self) -> &str {
        let body = self.open.get(4..).unwrap_or_default();
        let body = body.trim_end_matches("\u{1b}\\").trim_end_matches('\u{7}');
        body.split_once(';').map_or("", |(_, address)| address)
    }

    /// Returns the sequence that closes the link, with the terminator of the one that opened it.
    pub(super) fn close(&self) -> &'static str {
        if self.open.ends_with('\u{7}') { "\u{1b}]8;;\u{7}" } else { "\u{1b}]8;;\u{1b}\\" }
    }
}

/// Attributes with the numbers that set them and the numbers that end them.
const ATTRIBUTES: &[(u8, u8)] =
    &[(1, 22), (2, 22), (3, 23), (4, 24), (5, 25), (7, 27), (8, 28), (9, 29)];

/// The styles that are in force.
#[derive(Debug, Clone, Default)]
pub(super) struct Tracker {
    attributes: u16,
    foreground: Option<String>,
    background: Option<String>,
    link: Option<Link>,
}

impl Tracker {
    /// Applies the sequences of a text.
    pub(super) fn read(&mut self, text: &str) {
        for piece in pieces(text) {
            if let Piece::Sequence(sequence) = piece {
                self.apply(sequence);
            }
        }
    }

    /// Applies one sequence.
    pub(super) fn apply(&mut self, sequence: &str) {
        if let Some(link) = Link::read(sequence) {
            self.link = link;
            return;
        }
        let Some(parameters) = sequence.strip_prefix("\u{1b}[") else { return };
        let Some(parameters) = parameters.strip_suffix('m') else { return };
        let mut fields = parameters.split(';');
        while let Some(field) = fields.next() {
            let code: u8 = match field {
                "" => 0,
                field => field.parse().unwrap_or(u8::MAX),
            };
            match code {
                0 => {
                    *self = Self { link: self.link.take(), ..Self::default() };
                }
                38 | 48 => {
                    let color = match fields.next() {
                        Some("5") => fields.next().map(|index| format!("{code};5;{index}")),
                        Some("2") => {
                            let mut next = || fields.next();
                            let parts = (next(), next(), next());
                            match parts {
                                (Some(r), Some(g), Some(b)) => {
                                    Some(format!("{code};2;{r};{g};{b}"))
                                }
                                _ => None,
                            }
                        }
                        _ => None,
                    };
                    let target =
                        if code == 38 { &mut self.foreground } else { &mut self.background };
                    if color.is_some() {
                        *target = color;
                    }
                }
                30..=37 | 90..=97 => self.foreground = Some(code.to_string()),
                40..=47 | 100..=107 => self.background = Some(code.to_string()),
                39 => self.foreground = None,
                49 => self.background = None,
                _ => {
                    for (at, (start, end)) in ATTRIBUTES.iter().enumerate() {
                        if code == *start {
                            self.attributes |= 1 << at;
                        } else if code == *end {
                            self.attributes &= !(1 << at);
                        }
                    }
                }
            }
        }
    }

    fn has(&self, code: u8) -> bool {
        let at = ATTRIBUTES.iter().position(|(start, _)| *start == code);
        at.is_some_and(|at| self.attributes & (1 << at) != 0)
    }

    /// Returns the sequences that set everything that is in force.
    pub(super) fn active(&self) -> String {
        let set = ATTRIBUTES.iter().filter(|(start, _)| self.has(*start));
        let mut codes: Vec<String> = set.map(|(start, _)| start.to_string()).collect();
        codes.extend(self.foreground.clone());
        codes.extend(self.background.clone());
        let mut active = String::new();
        if !codes.is_empty() {
            active = format!("\u{1b}[{}m", codes.join(";"));
        }
        if let Some(link) = &self.link {
            active.push_str(&link.open);
        }
        active
    }

    /// Returns the sequences that end what would show beyond the end of a line: lines through the
    /// text and links.
    pub(super) fn line_end(&self) -> String {
        let mut end = String::new();
        if self.has(4) {
            end.push_str("\u{1b}[24m");
        }
        if self.has(9) {
            end.push_str("\u{1b}[29m");
        }
        if let Some(link) = &self.link {
            end.push_str(link.close());
        }
        end
    }

    /// Returns the sequence that closes the link in force.
    pub(super) fn link_end(&self) -> &'static str {
        self.link.as_ref().map_or("", Link::close)
    }
}
