//! Search in the document.
//!
//! Blocks give their text by being rendered, so a search over a long document runs in steps: the
//! caller calls [`FullScreen::search_step`] between frames until nothing is left. The search starts
//! at the first visible line and goes around the end.

use std::ops::Range;

use super::super::Row;
use super::super::cells::cells;
use super::FullScreen;
use super::decorate::restyle;
use super::viewport::{Place, move_up};
use crate::blocks::{BlockId, Blocks};
use crate::component::View;
use crate::style::Style;
use crate::text::{LineEnd, Lines};
use crate::theme::{Theme, Token};

/// The state of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchStatus {
    /// Number of the current match, from 1; 0 without a match.
    pub current: usize,
    /// Matches that were found so far.
    pub total: usize,
    /// All blocks were searched.
    pub is_complete: bool,
}

/// Matches in one block.
#[derive(Debug, Clone, Copy)]
struct Hit {
    block: BlockId,
    count: usize,
}

/// The part of the document that is being searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// From the first visible block to the end.
    Forward,
    /// From the start to the first visible block.
    Wrapped,
    Done,
}

#[derive(Debug)]
pub(super) struct Search {
    needle: Vec<char>,
    /// The line at which the search started.
    origin: Option<Place>,
    phase: Phase,
    /// The next block to search.
    next: Option<BlockId>,
    /// The last block that was searched in the forward direction.
    last: Option<BlockId>,
    /// Matches before the origin, in the order of the document.
    before: Vec<Hit>,
    /// Matches from the block of the origin on.
    after: Vec<Hit>,
    /// The current match: a block, and the number of the match in it.
    current: Option<(BlockId, usize)>,
    /// The view has to move to the current match.
    is_revealing: bool,
    /// Matches in visible blocks.
    visible: Vec<(Lines, Vec<Match>)>,
}

/// The columns of a match, in each line that it touches.
type Match = Vec<(usize, Range<usize>)>;

/// A character of a block, folded for comparison, and its place.
struct Glyph {
    character: char,
    line: usize,
    columns: Range<usize>,
}

/// Returns the text of a block: in lower case, wrapped lines joined, runs of white space as one
/// space, without layout.
fn glyphs(lines: &Lines) -> Vec<Glyph> {
    let mut glyphs: Vec<Glyph> = Vec::new();
    let mut push = |character: char, line: usize, columns: Range<usize>| {
        let is_space = character.is_whitespace();
        if is_space && glyphs.last().is_none_or(|last| last.character == ' ') {
            return;
        }
        glyphs.push(Glyph { character: if is_space { ' ' } else { character }, line, columns });
    };
    for (index, line) in lines.iter().enumerate() {
        let mut end = 0;
        for cell in cells(line, usize::MAX).iter().filter(|cell| !cell.is_layout) {
            end = cell.end();
            for character in cell.text.chars().flat_map(char::to_lowercase) {
                push(character, index, cell.column..cell.end());
            }
        }
        if line.end != LineEnd::Joined {
            push(' ', index, end..end);
        }
    }
    glyphs
}

/// Returns the matches in a block; they do not overlap.
fn matches(lines: &Lines, needle: &[char]) -> Vec<Match> {
    let glyphs = glyphs(lines);
    let mut found = Vec::new();
    let mut at = 0;
    while at + needle.len() <= glyphs.len() {
        let part = &glyphs[at..at + needle.len()];
        if !part.iter().zip(needle).all(|(glyph, wanted)| glyph.character == *wanted) {
            at += 1;
            continue;
        }
        let mut columns: Match = Vec::new();
        for glyph in part.iter().filter(|glyph| !glyph.columns.is_empty()) {
            match columns.last_mut().filter(|(line, _)| *line == glyph.line) {
                Some((_, range)) => range.end = glyph.columns.end,
                None => columns.push((glyph.line, glyph.columns.clone())),
            }
        }
        found.push(columns);
        at += needle.len();
    }
    found
}

impl Search {
    fn new(query: &str, origin: Option<Place>) -> Option<Self> {
        let words: Vec<&str> = query.split_whitespace().collect();
        let needle: Vec<char> = words.join(" ").chars().flat_map(char::to_lowercase).collect();
        if needle.is_empty() {
            return None;
        }
        Some(Self {
            needle,
            origin,
            phase: Phase::Forward,
            next: origin.map(|place| place.block),
            last: None,
            before: Vec::new(),
            after: Vec::new(),
            current: None,
            is_revealing: false,
            visible: Vec::new(),
        })
    }

    /// Searches one block. Returns false if nothing is left.
    fn step(&mut self, blocks: &mut Blocks, view: View<'_>) -> bool {
        self.resume(blocks);
        let Some(block) = self.next else {
            return self.finish_phase(blocks);
        };
        let found = matches(&blocks.lines(block, view), &self.needle);
        let hit = Hit { block, count: found.len() };
        if hit.count > 0 {
            match self.phase {
                Phase::Forward => self.after.push(hit),
                Phase::Wrapped | Phase::Done => self.before.push(hit),
            }
        }
        if self.current.is_none() {
            let first_line = match self.origin {
                Some(origin) if origin.block == block => origin.line,
                _ => 0,
            };
            let starts = |found: &Match| found.first().is_some_and(|(line, _)| *line >= first_line);
            if let Some(index) = found.iter().position(starts) {
                self.set_current(block, index);
            }
        }
        self.next = blocks.next(block);
        match self.phase {
            Phase::Forward => self.last = Some(block),
            Phase::Wrapped | Phase::Done => {
                if self.next == self.origin.map(|origin| origin.block) {
                    self.next = None;
                }
            }
        }
        true
    }

    /// Goes on where the search stopped, if the document became longer or lost a block.
    fn resume(&mut self, blocks: &Blocks) {
        let is_gone = |id: Option<BlockId>| id.is_some_and(|id| !blocks.contains(id));
        if is_gone(self.next)
            || is_gone(self.origin.map(|origin| origin.block))
            || is_gone(self.last)
        {
            self.origin = blocks.first().map(|block| Place { block, line: 0 });
            (self.phase, self.next, self.last) = (Phase::Forward, blocks.first(), None);
            self.before.clear();
            self.after.clear();
        } else if self.phase == Phase::Done && self.last != blocks.last() {
            // The last block may have grown since it was searched.
            self.after.retain(|hit| Some(hit.block) != self.last);
            self.next = self.last.or_else(|| blocks.first());
            self.phase = Phase::Forward;
        }
    }

    fn finish_phase(&mut self, blocks: &Blocks) -> bool {
        match self.phase {
            Phase::Forward => {
                let origin = self.origin.map(|origin| origin.block);
                self.next = blocks.first().filter(|first| Some(*first) != origin);
                // Blocks before the origin are searched once.
                if !self.before.is_empty() || self.next.is_none() {
                    self.phase = Phase::Done;
                    self.next = None;
                } else {
                    self.phase = Phase::Wrapped;
                    return true;
                }
            }
            Phase::Wrapped | Phase::Done => self.phase = Phase::Done,
        }
        if self.current.is_none() {
            let first = self.hits().next().map(|hit| hit.block);
            if let Some(block) = first {
                self.set_current(block, 0);
            }
        }
        false
    }

    fn set_current(&mut self, block: BlockId, index: usize) {
        self.current = Some((block, index));
        self.is_revealing = true;
    }

    fn hits(&self) -> impl Iterator<Item = &Hit> {
        self.before.iter().chain(&self.after)
    }

    /// Returns the number of the current match, from 0.
    fn number(&self) -> Option<usize> {
        let (block, index) = self.current?;
        let mut number = 0;
        for hit in self.hits() {
            if hit.block == block {
                return Some(number + index.min(hit.count.saturating_sub(1)));
            }
            number += hit.count;
        }
        None
    }

    fn status(&self) -> SearchStatus {
        SearchStatus {
            current: self.number().map_or(0, |number| number + 1),
            total: self.hits().map(|hit| hit.count).sum(),
            is_complete: self.phase == Phase::Done,
        }
    }

    /// Makes a match current, by its distance from the current one.
    fn go(&mut self, forward: bool) {
        let total: usize = self.hits().map(|hit| hit.count).sum();
        if total == 0 {
            return;
        }
        let number = match (self.number(), forward) {
            (None, _) => 0,
            (Some(number), true) => (number + 1) % total,
            (Some(number), false) => (number + total - 1) % total,
        };
        let mut before = 0;
        let found = self.hits().find_map(|hit| {
            let index = number.checked_sub(before).filter(|index| *index < hit.count);
            before += hit.count;
            index.map(|index| (hit.block, index))
        });
        if let Some((block, index)) = found {
            self.set_current(block, index);
        }
    }

    /// Returns the matches in a visible block.
    fn matches_in(&mut self, lines: &Lines) -> &[Match] {
        let known = self.visible.iter().position(|(other, _)| std::rc::Rc::ptr_eq(other, lines));
        let index = known.unwrap_or_else(|| {
            self.visible.push((std::rc::Rc::clone(lines), matches(lines, &self.needle)));
            self.visible.len() - 1
        });
        &self.visible[index].1
    }
}

impl FullScreen {
    /// Starts a search at the first visible line; an empty query ends the search.
    pub fn search(&mut self, query: &str) {
        let origin = self.viewport.lines().first().map(|visible| visible.place);
        self.search = Search::new(query, origin);
    }

    /// Searches some blocks. Returns true if there are more.
    pub fn search_step(&mut self, blocks: &mut Blocks, theme: &Theme, count: usize) -> bool {
        let view = self.block_view(theme);
        let Some(search) = &mut self.search else { return false };
        (0..count).all(|_| search.step(blocks, view))
    }

    /// Makes the next match current.
    pub fn search_next(&mut self) {
        if let Some(search) = &mut self.search {
            search.go(true);
        }
    }

    /// Makes the previous match current.
    pub fn search_previous(&mut self) {
        if let Some(search) = &mut self.search {
            search.go(false);
        }
    }

    /// Returns the state of the search.
    pub fn search_status(&self) -> SearchStatus {
        self.search.as_ref().map(Search::status).unwrap_or_default()
    }

    /// Moves the view so that the current match is at a third of the height, once.
    pub(super) fn show_match(&mut self, blocks: &mut Blocks, view: View<'_>) {
        let height = self.viewport.height();
        let Some(search) = &mut self.search else { return };
        if !std::mem::take(&mut search.is_revealing) {
            return;
        }
        let Some((block, index)) = search.current.filter(|(block, _)| blocks.contains(*block))
        else {
            return;
        };
        let found = matches(&blocks.lines(block, view), &search.needle);
        let index = index.min(found.len().saturating_sub(1));
        let line = found.get(index).and_then(|found| found.first()).map_or(0, |(line, _)| *line);
        let place = move_up(Place { block, line }, height / 3, blocks, view);
        self.viewport.show(place.block, place.line);
        self.viewport.layout(blocks, view, height);
    }

    /// Marks the matches in the visible rows.
    pub(super) fn highlight_matches(&mut self, rows: &mut [Row], theme: &Theme) {
        let Some(search) = &mut self.search else { return };
        let visible = self.viewport.lines();
        search.visible.retain(|(lines, _)| {
            visible.iter().any(|line| std::rc::Rc::ptr_eq(&line.row.lines, lines))
        });
        let text = theme.fg(Token::SearchMatchText).on(theme.bg(Token::SearchMatchBg));
        let current = search.current;
        for (line, row) in visible.iter().zip(rows) {
            for (index, found) in search.matches_in(&line.row.lines).iter().enumerate() {
                let is_current = current == Some((line.place.block, index));
                let look = |style: Style| {
                    let style = text.over(style);
                    if is_current { style.inverse().bold() } else { style.underline() }
                };
                let here = found.iter().filter(|(at, _)| *at == line.place.line);
                for (_, columns) in here {
                    *row = Row::own(restyle(row.line(), columns.clone(), look));
                }
            }
        }
    }
}
