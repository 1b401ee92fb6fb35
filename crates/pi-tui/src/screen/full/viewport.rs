//! The visible part of the document.
//!
//! The place of the view is a line of a block, not a row number: heights of blocks above it may be
//! corrected without a jump.

use super::super::Row;
use crate::blocks::{BlockId, Blocks};
use crate::component::View;

/// A movement of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Scroll {
    /// Lines; negative towards the start.
    Lines(isize),
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    Bottom,
    PreviousPrompt,
    NextPrompt,
    /// A row of the document.
    Row(usize),
}

/// Blocks that a jump to a prompt looks through.
const PROMPT_BLOCKS: usize = 2_000;

/// A line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: BlockId,
    pub(super) line: usize,
}

/// A line on the screen.
#[derive(Debug, Clone)]
pub(super) struct VisibleLine {
    pub(super) place: Place,
    pub(super) row: Row,
}

/// The visible part.
#[derive(Debug, Default)]
pub(super) struct Viewport {
    /// The first visible line; `None` while the view follows the end.
    anchor: Option<Place>,
    /// Lines of the block of the anchor when it was set, and the width.
    anchor_height: usize,
    width: usize,
    pending: Vec<Scroll>,
    lines: Vec<VisibleLine>,
    height: usize,
    top_row: usize,
}

impl Viewport {
    pub(super) fn scroll(&mut self, scroll: Scroll) {
        self.pending.push(scroll);
    }

    pub(super) fn show(&mut self, block: BlockId, line: usize) {
        self.pending.clear();
        self.anchor = Some(Place { block, line });
        self.anchor_height = 0;
    }

    pub(super) fn is_following(&self) -> bool {
        self.anchor.is_none()
    }

    /// Returns the row of the document at the top.
    pub(super) fn top_row(&self) -> usize {
        self.top_row
    }

    /// Returns the number of rows.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Returns the visible lines.
    pub(super) fn lines(&self) -> &[VisibleLine] {
        &self.lines
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.lines.iter().map(|line| &line.row)
    }

    /// Applies movements and renders the visible lines.
    pub(super) fn layout(&mut self, blocks: &mut Blocks, view: View<'_>, height: usize) {
        self.height = height;
        self.keep_anchor(blocks, view);
        for scroll in std::mem::take(&mut self.pending) {
            self.apply(scroll, blocks, view);
        }
        self.lines.clear();
        let place = self.anchor.or_else(|| self.end_place(blocks, view));
        let Some(mut top) = place else {
            self.top_row = 0;
            return;
        };
        self.collect(top, blocks, view);
        if self.anchor.is_some() && self.lines.len() <= height {
            // The end of the document is visible, or less than a screen is left.
            self.anchor = None;
            if self.lines.len() < height
                && let Some(place) = self.end_place(blocks, view)
            {
                top = place;
                self.lines.clear();
                self.collect(top, blocks, view);
            }
        }
        self.lines.truncate(height);
        self.top_row = blocks.row_of(top.block).unwrap_or(0) + top.line;
        self.width = view.width;
        if let Some(anchor) = self.anchor {
            self.anchor_height = blocks.lines(anchor.block, view).len();
        }
    }

    /// Collects the lines from a place on, and one more than fit, if there are so many.
    fn collect(&mut self, from: Place, blocks: &mut Blocks, view: View<'_>) {
        let mut skip = from.line;
        let mut next = Some(from.block);
        while let Some(block) = next {
            let lines = blocks.lines(block, view);
            for line in skip..lines.len() {
                let place = Place { block, line };
                self.lines.push(VisibleLine { place, row: Row::shared(&lines, line) });
                if self.lines.len() > self.height {
                    return;
                }
            }
            skip = 0;
            next = blocks.next(block);
        }
    }

    /// Keeps the anchor at its text when its block was wrapped again or is gone.
    fn keep_anchor(&mut self, blocks: &mut Blocks, view: View<'_>) {
        let Some(place) = self.anchor else { return };
        if !blocks.contains(place.block) {
            self.anchor = place_at(self.top_row, blocks, view);
            return;
        }
        let height = blocks.lines(place.block, view).len();
        let mut line = place.line;
        if self.width != view.width && self.anchor_height > 0 {
            line = line * height / self.anchor_height;
        }
        self.anchor = Some(Place { line: line.min(height.saturating_sub(1)), ..place });
    }

    fn apply(&mut self, scroll: Scroll, blocks: &mut Blocks, view: View<'_>) {
        let page = self.height.saturating_sub(4).max(1) as isize;
        let half = (self.height / 2).max(1) as isize;
        let lines = match scroll {
            Scroll::Lines(lines) => lines,
            Scroll::PageUp => -page,
            Scroll::PageDown => page,
            Scroll::HalfUp => -half,
            Scroll::HalfDown => half,
            Scroll::Top => {
                self.anchor = blocks.first().map(|block| Place { block, line: 0 });
                return;
            }
            Scroll::Bottom => {
                self.anchor = None;
                return;
            }
            Scroll::Row(row) => {
                self.anchor = place_at(row, blocks, view);
                return;
            }
            Scroll::PreviousPrompt | Scroll::NextPrompt => {
                self.jump(scroll == Scroll::NextPrompt, blocks, view);
                return;
            }
        };
        let place = self.anchor.or_else(|| self.end_place(blocks, view));
        let Some(place) = place else { return };
        if lines < 0 {
            self.anchor = Some(move_up(place, lines.unsigned_abs(), blocks, view));
        } else if self.anchor.is_some() {
            self.anchor = move_down(place, lines.unsigned_abs(), blocks, view);
        }
    }

    /// Moves to the prompt before or after the first visible line.
    fn jump(&mut self, forward: bool, blocks: &mut Blocks, view: View<'_>) {
        let place = self.anchor.or_else(|| self.end_place(blocks, view));
        let Some(Place { block, line }) = place else { return };
        let (mut next, mut from) = (Some(block), Some(line));
        for _ in 0..PROMPT_BLOCKS {
            let Some(block) = next else { break };
            let lines = blocks.lines(block, view);
            let mut prompts = lines.iter().enumerate().filter(|(_, line)| line.is_prompt);
            let found = if forward {
                prompts.find(|(index, _)| from.is_none_or(|from| *index > from))
            } else {
                prompts.rfind(|(index, _)| from.is_none_or(|from| *index < from))
            };
            if let Some((line, _)) = found {
                self.anchor = Some(Place { block, line });
                return;
            }
            from = None;
            next = if forward { blocks.next(block) } else { blocks.previous(block) };
        }
        if forward {
            self.anchor = None;
        } else {
            self.apply(Scroll::Top, blocks, view);
        }
    }

    /// Returns the first visible line while the end is shown.
    fn end_place(&self, blocks: &mut Blocks, view: View<'_>) -> Option<Place> {
        let mut missing = self.height;
        let mut block = blocks.last()?;
        loop {
            let height = blocks.lines(block, view).len();
            if height >= missing {
                return Some(Place { block, line: height - missing });
            }
            missing -= height;
            match blocks.previous(block) {
                Some(previous) => block = previous,
                None => return Some(Place { block, line: 0 }),
            }
        }
    }
}

/// Returns the place at a row of the document. The height of its block may be an estimate, so the
/// line is corrected.
fn place_at(row: usize, blocks: &mut Blocks, view: View<'_>) -> Option<Place> {
    let (block, line) = blocks.at_row(row)?;
    let height = blocks.lines(block, view).len();
    Some(Place { block, line: line.min(height.saturating_sub(1)) })
}

/// Returns the place some lines above another; the first line if there are not so many.
pub(super) fn move_up(
    place: Place,
    mut count: usize,
    blocks: &mut Blocks,
    view: View<'_>,
) -> Place {
    let Place { mut block, mut line } = place;
    while count > line {
        count -= line;
        let Some(previous) = blocks.previous(block) else { return Place { block, line: 0 } };
        block = previous;
        line = blocks.lines(block, view).len();
    }
    Place { block, line: line - count }
}

/// Returns the place some lines below another; `None` if there are not so many.
fn move_down(place: Place, mut count: usize, blocks: &mut Blocks, view: View<'_>) -> Option<Place> {
    let Place { mut block, mut line } = place;
    loop {
        let height = blocks.lines(block, view).len();
        if line + count < height {
            return Some(Place { block, line: line + count });
        }
        count -= height.saturating_sub(line);
        (block, line) = (blocks.next(block)?, 0);
    }
}
