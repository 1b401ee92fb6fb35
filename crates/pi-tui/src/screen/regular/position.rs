//! The border between final lines and the rest: a line of a block, and how much text is before it.
//!
//! The text before the border is counted, because lines change when the width changes. The count
//! leaves out spaces and layout, which depend on the width.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::super::Row;
use super::super::cells::{Cell, cells};
use super::reflow::Emitted;
use super::{HISTORY, RegularScreen, START_SCREENS, Shown};
use crate::blocks::{BlockId, Blocks};
use crate::component::View;
use crate::text::{Line, Lines};

/// A place between two lines of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Mark {
    /// Number of lines before the place.
    pub(super) line: usize,
    /// Columns of the next line that are before the place, too, and the text in them.
    skip: usize,
    skipped: Text,
    /// Clusters of text before the place.
    content: usize,
    /// Lines without text directly before the place.
    blanks: usize,
    /// The text of the line before the place.
    last: Text,
}

/// A text, to recognize it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Text {
    clusters: usize,
    hash: u64,
}

impl Text {
    /// Returns the text with more clusters at its end.
    fn with<'a>(self, cells: impl Iterator<Item = &'a Cell<'a>>) -> Self {
        cells.fold(self, |text, cell| {
            let mut hasher = DefaultHasher::new();
            (text.hash, cell.text).hash(&mut hasher);
            Self { clusters: text.clusters + 1, hash: hasher.finish() }
        })
    }
}

impl Mark {
    /// Returns the place after a line, of which the columns before this place are left out.
    pub(super) fn after(self, line: &Line) -> Self {
        let cells = cells(line, usize::MAX);
        let last = self.skipped.with(cells.iter().filter(|cell| cell.is_content()));
        let added = last.clusters - self.skipped.clusters;
        Self {
            line: self.line.saturating_add(1),
            content: self.content + added,
            blanks: if added == 0 { self.blanks + 1 } else { 0 },
            last,
            ..Self::default()
        }
    }

    /// Returns the place after a line whose text is counted already.
    fn after_all(self, line: &Line) -> Self {
        Self { content: self.content, ..self.after(line) }
    }

    /// Returns the place within a line, after some clusters of its text.
    fn within(self, line: &Line, clusters: usize) -> Self {
        let cells = cells(line, usize::MAX);
        let mut text = cells.iter().filter(|cell| cell.is_content());
        let skipped = Text::default().with(text.by_ref().take(clusters));
        let skip = text.next().map_or(0, |cell| cell.column);
        Self { skip, skipped, ..self }
    }
}

/// A place in the document. Without a block it is the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    pub(super) block: Option<BlockId>,
    pub(super) mark: Mark,
    /// The width for which the lines of the mark are counted.
    pub(super) width: usize,
}

impl Position {
    /// Returns the place before the first line of a block.
    pub(super) fn before(block: BlockId) -> Self {
        Self { block: Some(block), ..Self::default() }
    }

    /// Returns the place after the last line of a block.
    pub(super) fn after(block: BlockId) -> Self {
        let mark = Mark { line: usize::MAX, ..Mark::default() };
        Self { block: Some(block), mark, width: 0 }
    }
}

/// Finds the place after some text in lines of another width.
fn place(lines: &Lines, old: Mark) -> Mark {
    let mut mark = Mark::default();
    for line in lines.iter() {
        let after = mark.after(line);
        if mark.content == old.content {
            // Lines without text before the place were written; those after it were not.
            let is_blank = after.content == mark.content;
            if !is_blank || mark.blanks >= old.blanks {
                return mark;
            }
        } else if after.content > old.content {
            let within = mark.within(line, old.content - mark.content);
            return Mark { content: old.content, blanks: 0, ..within };
        }
        mark = after;
    }
    mark
}

/// Finds the place again after the line that it is in, or the line before it, became longer or was
/// wrapped again, as happens to the last line of a streamed text.
fn settled(lines: &Lines, mark: Mark) -> Mark {
    let (start, text) = match mark.line.checked_sub(1) {
        _ if mark.skipped.clusters > 0 => (mark.line, mark.skipped),
        Some(before) => (before, mark.last),
        None => return mark,
    };
    let mut seen = Text::default();
    for (index, line) in lines.iter().enumerate().skip(start) {
        let cells = cells(line, usize::MAX);
        let mut content = cells.iter().filter(|cell| cell.is_content());
        let missing = text.clusters - seen.clusters;
        seen = seen.with(content.by_ref().take(missing));
        if seen.clusters < text.clusters {
            continue;
        }
        let is_known = seen == text;
        let grown = content.next().is_some();
        if is_known && grown {
            let before = index.checked_sub(1).and_then(|before| lines.get(before));
            let last = before.map_or_else(Text::default, |line| Mark::default().after(line).last);
            return Mark { line: index, blanks: 0, last, ..mark }.within(line, missing);
        }
        if is_known && index > start {
            return Mark { line: index, skip: 0, skipped: Text::default(), ..mark }.after_all(line);
        }
        return mark;
    }
    mark
}

impl RegularScreen {
    /// Makes the position valid for the document and the width.
    pub(super) fn find_position(&mut self, blocks: &mut Blocks, view: View<'_>) {
        if self.position.block.is_some_and(|block| !blocks.contains(block)) {
            let written = self.history.iter().rev().filter_map(|line| line.source);
            let survivor = written.map(|(block, _)| block).find(|block| blocks.contains(*block));
            let shown = self.rows.iter().filter_map(|row| row.source);
            let shown = shown.map(|(block, _)| block).find(|block| blocks.contains(*block));
            match (survivor, shown) {
                (Some(block), _) => self.position = Position::after(block),
                (None, Some(block)) => self.position = Position::before(block),
                (None, None) => self.is_started = false,
            }
        }
        if !self.is_started {
            self.start_at_end(blocks, view, START_SCREENS * self.size.rows);
        }
        let Position { block, mark, width } = self.position;
        if let Some(block) = block.filter(|_| mark.line != usize::MAX) {
            let lines = blocks.lines(block, view);
            let is_same_width = width == view.width;
            self.position.mark =
                if is_same_width { settled(&lines, mark) } else { place(&lines, mark) };
        }
        self.position.width = view.width;
    }

    /// Returns the lines of the document that are not final.
    pub(super) fn document(&self, blocks: &mut Blocks, view: View<'_>) -> Vec<Shown> {
        let mut wanted = Vec::new();
        let mut skip = self.position.mark;
        let mut next = self.position.block.or_else(|| blocks.first());
        while let Some(block) = next {
            let lines = blocks.lines(block, view);
            for (index, line) in lines.iter().enumerate().skip(skip.line) {
                let mut row = Row::shared(&lines, index);
                if index == skip.line && skip.skip > 0 {
                    let mut rest = crate::text::slice(line, skip.skip, line.width());
                    rest.end = line.end;
                    row = Row::own(rest);
                }
                wanted.push(Shown { row, source: Some((block, index)) });
            }
            skip = Mark::default();
            next = blocks.next(block);
        }
        wanted
    }

    /// Makes the first rows final.
    pub(super) fn commit(&mut self, rows: &[Shown]) {
        let lines = self.emitted(rows);
        if let Some((Some(last), shown)) = lines.last().map(|line| line.source).zip(rows.last()) {
            let (block, mark) = last;
            let width = self.position.width;
            self.position =
                Position { block: Some(block), mark: mark.after(shown.row.line()), width };
        }
        self.history.extend(lines);
        while self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }

    /// Returns what is remembered of rows: their shape, and the place before each of them.
    pub(super) fn emitted(&self, rows: &[Shown]) -> Vec<Emitted> {
        let mut lines = Vec::with_capacity(rows.len());
        let mut block = self.position.block;
        let mut mark = self.position.mark;
        let mut is_paragraph = self.history.back().is_none_or(|line| line.ends_paragraph);
        for shown in rows {
            let line = shown.row.line();
            let source = shown.source.map(|(of, index)| {
                if block != Some(of) {
                    (block, mark) = (Some(of), Mark::default());
                }
                mark.line = index;
                (of, mark)
            });
            lines.push(Emitted::new(line, self.position.width, source, is_paragraph));
            mark = mark.after(line);
            is_paragraph = lines.last().is_some_and(|line| line.ends_paragraph);
        }
        lines
    }
}
