//! Breaking a text into lines, with the styles of a broken line set again on the next.

use super::ansi::{Piece, Tracker, pieces, width as width_of};

/// Breaks a text at line breaks and at spaces, before and after CJK characters, and within words
/// that are too long.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tracker = Tracker::default();
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let prefix = if lines.is_empty() { String::new() } else { tracker.active() };
        lines.extend(wrap_line(&format!("{prefix}{line}"), width));
        tracker.read(line);
    }
    lines
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    if width_of(line) <= width {
        return vec![line.to_owned()];
    }
    let mut wrapped = Wrapped { width, lines: Vec::new(), line: String::new(), columns: 0 };
    let mut tracker = Tracker::default();
    for token in tokens(line) {
        wrapped.add(&token, &mut tracker);
    }
    if !wrapped.line.is_empty() {
        wrapped.lines.push(wrapped.line);
    }
    let trimmed = wrapped.lines.into_iter().map(|line| line.trim_end().to_owned());
    let lines: Vec<String> = trimmed.collect();
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// The lines so far and the one that grows.
struct Wrapped {
    width: usize,
    lines: Vec<String>,
    line: String,
    columns: usize,
}

impl Wrapped {
    fn add(&mut self, token: &Token, tracker: &mut Tracker) {
        if token.columns > self.width && !token.is_space {
            if !self.line.is_empty() {
                self.end_line(tracker, true);
            }
            self.break_word(&token.text, tracker);
            return;
        }
        if self.columns + token.columns > self.width && self.columns > 0 {
            if token.is_space {
                // The spaces at a break are in neither line; the sequences among them stay.
                let kept = self.line.trim_end().len();
                self.line.truncate(kept);
                self.line.extend(pieces(&token.text).filter_map(Piece::sequence));
                tracker.read(&token.text);
                self.end_line(tracker, false);
                self.line = tracker.active();
                return;
            }
            self.end_line(tracker, true);
            self.line = tracker.active();
        }
        tracker.read(&token.text);
        if token.columns > self.width {
            // An indentation that is wider than the line: as many spaces as fit.
            for piece in pieces(&token.text) {
                match piece {
                    Piece::Sequence(sequence) => self.line.push_str(sequence),
                    Piece::Cluster(space, columns) if self.columns + columns <= self.width => {
                        self.line.push_str(space);
                        self.columns += columns;
                    }
                    Piece::Cluster(..) => {}
                }
            }
            return;
        }
        self.line.push_str(&token.text);
        self.columns += token.columns;
    }

    fn end_line(&mut self, tracker: &Tracker, trims: bool) {
        let line = std::mem::take(&mut self.line);
        let line = if trims { line.trim_end() } else { line.as_str() };
        self.lines.push(format!("{line}{}", tracker.line_end()));
        self.columns = 0;
    }

    /// Adds a word that is wider than a line, cluster by cluster.
    fn break_word(&mut self, word: &str, tracker: &mut Tracker) {
        self.line = tracker.active();
        self.columns = 0;
        for piece in pieces(word) {
            match piece {
                Piece::Sequence(sequence) => {
                    self.line.push_str(sequence);
                    tracker.apply(sequence);
                }
                Piece::Cluster(cluster, columns) => {
                    if self.columns + columns > self.width {
                        self.end_line(tracker, false);
                        self.line = tracker.active();
                    }
                    self.line.push_str(cluster);
                    self.columns += columns;
                }
            }
        }
    }
}

/// A run of spaces, a CJK character, or a word; sequences belong to what follows them.
#[derive(Debug)]
struct Token {
    text: String,
    columns: usize,
    is_space: bool,
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut pending = String::new();
    // A token that the next cluster can continue.
    let mut is_open = false;
    for piece in pieces(line) {
        match piece {
            Piece::Sequence(sequence) => pending.push_str(sequence),
            Piece::Cluster(cluster, columns) => {
                let is_space = cluster == " ";
                let is_single = cluster.chars().next().is_some_and(is_cjk);
                let last = tokens.last_mut();
                match last.filter(|last| is_open && !is_single && last.is_space == is_space) {
                    Some(last) => {
                        last.text.push_str(&std::mem::take(&mut pending));
                        last.text.push_str(cluster);
                        last.columns += columns;
                    }
                    None => {
                        let text = format!("{}{cluster}", std::mem::take(&mut pending));
                        tokens.push(Token { text, columns, is_space });
                    }
                }
                is_open = !is_single;
            }
        }
    }
    if !pending.is_empty() {
        match tokens.last_mut() {
            Some(last) => last.text.push_str(&pending),
            None => tokens.push(Token { text: pending, columns: 0, is_space: false }),
        }
    }
    tokens
}

/// Returns true for characters between which a line can be broken.
fn is_cjk(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{2fd5}'
            | '\u{3001}'..='\u{3003}'
            | '\u{3005}'..='\u{3011}'
            | '\u{3013}'..='\u{301f}'
            | '\u{3021}'..='\u{3035}'
            | '\u{3037}'..='\u{9fff}'
            | '\u{a960}'..='\u{a97c}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe45}'..='\u{fe46}'
            | '\u{ff61}'..='\u{ffdc}'
            | '\u{1aff0}'..='\u{1b16f}'
            | '\u{20000}'..='\u{3ffff}'
    )
}
