//! Sequence diagrams: a column for each participant, a row for each message.

use super::canvas::Canvas;
use super::label;
use crate::text;
use crate::theme::Token;

/// Participants and messages of a diagram that is drawn.
const PARTICIPANT_LIMIT: usize = 20;
const ROW_LIMIT: usize = 200;

/// The arrows, longest first: with a dashed line, with a head.
const ARROWS: &[(&str, bool, &str)] = &[
    ("-->>", true, "▶"),
    ("->>", false, "▶"),
    ("--x", true, "×"),
    ("--)", true, ">"),
    ("-->", true, "─"),
    ("-x", false, "×"),
    ("-)", false, ">"),
    ("->", false, "─"),
];

/// A row of a diagram.
#[derive(Debug)]
enum Row {
    Message {
        from: usize,
        to: usize,
        text: String,
        is_dashed: bool,
        head: &'static str,
    },
    Note {
        first: usize,
        last: usize,
        text: String,
    },
    /// The start of a part, such as a loop.
    Section(String),
}

#[derive(Debug, Default)]
struct Diagram {
    ids: Vec<String>,
    labels: Vec<String>,
    rows: Vec<Row>,
}

/// Draws a sequence diagram. Returns nothing if a statement is not supported.
pub(super) fn draw(statements: &[&str]) -> Option<Canvas> {
    let mut diagram = Diagram::default();
    for statement in statements {
        diagram.statement(statement.trim_end_matches(';'))?;
        if diagram.ids.len() > PARTICIPANT_LIMIT || diagram.rows.len() > ROW_LIMIT {
            return None;
        }
    }
    if diagram.ids.is_empty() { None } else { diagram.draw() }
}

impl Diagram {
    fn statement(&mut self, statement: &str) -> Option<()> {
        let (word, rest) = statement.split_once(' ').unwrap_or((statement, ""));
        match word {
            "participant" | "actor" => {
                let (id, name) = rest.split_once(" as ").unwrap_or((rest, rest));
                let at = self.participant(id.trim());
                *self.labels.get_mut(at)? = label(name);
            }
            "autonumber" | "activate" | "deactivate" | "end" => {}
            "loop" | "alt" | "opt" | "else" | "par" | "and" | "critical" | "option" | "break" => {
                self.rows.push(Row::Section(format!("[{word}] {}", label(rest)).trim().to_owned()));
            }
            "Note" | "note" => {
                let (place, content) = rest.split_once(':')?;
                let names = ["over ", "left of ", "right of "]
                    .iter()
                    .find_map(|side| place.trim_start().strip_prefix(side))?;
                let at: Vec<usize> =
                    names.split(',').map(|id| self.participant(id.trim())).collect();
                let (first, last) = (*at.iter().min()?, *at.iter().max()?);
                self.rows.push(Row::Note { first, last, text: label(content) });
            }
            _ => return self.message(statement),
        }
        Some(())
    }

    fn message(&mut self, statement: &str) -> Option<()> {
        let (parties, content) = statement.split_once(':').unwrap_or((statement, ""));
        let find = |arrow: &&(&'static str, bool, &'static str)| parties.contains(arrow.0);
        let (arrow, is_dashed, head) = ARROWS.iter().find(find)?;
        let (from, to) = parties.split_once(arrow)?;
        let to = to.trim().trim_start_matches(['+', '-']).trim();
        let (from, to) = (self.participant(from.trim()), self.participant(to));
        let text = label(content);
        self.rows.push(Row::Message { from, to, text, is_dashed: *is_dashed, head });
        Some(())
    }

    fn participant(&mut self, id: &str) -> usize {
        self.ids.iter().position(|known| known == id).unwrap_or_else(|| {
            self.ids.push(id.to_owned());
            self.labels.push(label(id));
            self.ids.len() - 1
        })
    }

    /// Returns the columns of the life lines, so that every text fits between them, and the width
    /// of the whole.
    fn columns(&self) -> (Vec<usize>, usize) {
        let half = |at: usize| self.labels.get(at).map_or(0, |label| text::width(label) / 2 + 2);
        let mut columns: Vec<usize> = Vec::new();
        for at in 0..self.ids.len() {
            let beside = columns.last().map_or(half(at), |last| last + half(at - 1) + half(at) + 2);
            let mut column = beside;
            for row in &self.rows {
                let (first, last, room) = match row {
                    Row::Message { from, to, text, .. } if from != to => {
                        (*from.min(to), *from.max(to), text::width(text) + 4)
                    }
                    Row::Message { from, text, .. } => (*from, from + 1, text::width(text) + 7),
                    Row::Note { first, last, text } if first < last => {
                        (*first, *last, text::width(text) + 4)
                    }
                    _ => continue,
                };
                if last == at
                    && let Some(first) = columns.get(first)
                {
                    column = column.max(first + room);
                }
            }
            columns.push(column);
        }
        let last = columns.last().copied().unwrap_or(0);
        let mut width = last + half(self.ids.len().saturating_sub(1)) + 2;
        for row in &self.rows {
            let end = match row {
                Row::Message { from, to, text, .. } if from == to => {
                    columns.get(*from).map_or(0, |column| column + text::width(text) + 7)
                }
                Row::Note { first, last, text } if first == last => {
                    columns.get(*first).map_or(0, |column| column + text::width(text) + 5)
                }
                Row::Section(text) => text::width(text) + 4,
                _ => 0,
            };
            width = width.max(end);
        }
        (columns, width)
    }

    fn draw(&self) -> Option<Canvas> {
        let (columns, width) = self.columns();
        let height = |row: &Row| match row {
            Row::Message { from, to, .. } if from == to => 3,
            Row::Message { text, .. } if text.is_empty() => 1,
            Row::Message { .. } => 2,
            Row::Note { .. } => 3,
            Row::Section(_) => 1,
        };
        let total = 4 + self.rows.iter().map(height).sum::<usize>();
        let mut canvas = Canvas::new(width, total)?;
        for (column, label) in columns.iter().zip(&self.labels) {
            canvas.labeled_box(column.checked_sub(text::width(label) / 2 + 2)?, 0, label, false);
            canvas.text(*column, 2, "┬", Token::BorderMuted);
            for y in 3..total {
                canvas.text(*column, y, "│", Token::BorderMuted);
            }
        }
        let mut y = 3;
        for row in &self.rows {
            match row {
                Row::Message { from, to, text, is_dashed, head } => {
                    let (from, to) = (*columns.get(*from)?, *columns.get(*to)?);
                    message(&mut canvas, y, from, to, text, *is_dashed, head);
                }
                Row::Note { first, last, text } => {
                    let (first, last) = (*columns.get(*first)?, *columns.get(*last)?);
                    let middle = usize::midpoint(first, last);
                    let start = middle.saturating_sub(text::width(text) / 2 + 2);
                    canvas.labeled_box(start, y, text, false);
                }
                Row::Section(text) => {
                    let rest = width.saturating_sub(text::width(text) + 4);
                    let line = format!("┄ {text} {}", "┄".repeat(rest));
                    canvas.text(0, y, &line, Token::Muted);
                }
            }
            y += height(row);
        }
        Some(canvas)
    }
}

fn message(
    canvas: &mut Canvas,
    y: usize,
    from: usize,
    to: usize,
    text: &str,
    is_dashed: bool,
    head: &str,
) {
    let bar = if is_dashed { "╌" } else { "─" };
    if from == to {
        canvas.text(from, y, &format!("├{bar}{bar}╮"), Token::Accent);
        canvas.text(from + 5, y, text, Token::Text);
        let back = if head == "▶" { "◀" } else { head };
        canvas.text(from + 1, y + 1, &format!("{back}{bar}╯"), Token::Accent);
        return;
    }
    let (left, right) = (from.min(to), from.max(to));
    let room = right - left - 1;
    let mut y = y;
    if !text.is_empty() {
        let start = left + 1 + room.saturating_sub(text::width(text)) / 2;
        canvas.text(start, y, text, Token::Text);
        y += 1;
    }
    let line = bar.repeat(room.saturating_sub(1));
    if from < to {
        canvas.text(left, y, "├", Token::Accent);
        canvas.text(left + 1, y, &format!("{line}{head}"), Token::Accent);
    } else {
        let head = match head {
            "▶" => "◀",
            ">" => "<",
            head => head,
        };
        canvas.text(left + 1, y, &format!("{head}{line}"), Token::Accent);
        canvas.text(right, y, "┤", Token::Accent);
    }
}
