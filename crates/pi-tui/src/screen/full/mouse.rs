//! The mouse in fullscreen mode: wheel, scroll bar, selection, clicks.

use std::time::{Duration, Instant};

use super::selection::{Point, Selection, Unit};
use super::viewport::Place;
use super::{FullScreen, Scroll, Scrollbar};
use crate::blocks::{BlockId, Blocks};
use crate::component::View;
use crate::input::{Modifiers, Mouse, MouseButton, MouseKind};
use crate::theme::Theme;

/// Clicks at the same cell within this time belong together.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// The time between two steps while a selection is dragged over an edge.
const EDGE_STEP: Duration = Duration::from_millis(50);

/// A pause of this length ends a gesture with the wheel.
const GESTURE_PAUSE: Duration = Duration::from_millis(200);

/// The most lines of an event of the wheel.
const MAX_WHEEL_LINES: usize = 6;

/// Lines per event of the wheel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WheelLines {
    /// One, and more the faster the wheel turns.
    #[default]
    Auto,
    /// Always the same number.
    Fixed(usize),
}

/// The effect of a mouse event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MouseOutcome {
    /// The view, the selection or the scroll bar changed: draw a frame.
    Scrolled,
    /// A click on the document.
    Clicked {
        /// The block.
        block: BlockId,
        /// The line in the block.
        row: usize,
        /// The column.
        column: usize,
        /// The address of the link there.
        link: Option<String>,
    },
    /// A press on the dock.
    Dock {
        /// The row, from the first row of the dock that is visible.
        row: usize,
        /// The column.
        column: usize,
    },
    /// A selection was completed.
    Selected(String),
    /// The event has no meaning here.
    Ignored,
}

#[derive(Debug, Default)]
pub(super) struct MouseState {
    wheel: Wheel,
    /// The last press: time, cell, and the number of clicks there.
    press: Option<(Instant, (usize, usize), u8)>,
    /// The point that was pressed, while the button is down.
    down: Option<Point>,
    /// Steps towards the start or the end while the mouse is beyond an edge.
    edge: Option<Edge>,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    lines: isize,
    column: usize,
    next: Instant,
}

impl MouseState {
    /// Returns the time of the next step at an edge.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.edge.map(|edge| edge.next)
    }
}

#[derive(Debug, Default)]
struct Wheel {
    setting: WheelLines,
    /// First and last event of the gesture, and the number of events.
    gesture: Option<(Instant, Instant, u32)>,
}

impl Wheel {
    fn lines(&mut self, now: Instant) -> usize {
        if let WheelLines::Fixed(lines) = self.setting {
            return lines;
        }
        let gesture =
            self.gesture.filter(|(_, last, _)| now.duration_since(*last) <= GESTURE_PAUSE);
        let (first, _, events) = gesture.unwrap_or((now, now, 0));
        self.gesture = Some((first, now, events + 1));
        if events == 0 {
            return 1;
        }
        let gap = now.duration_since(first) / events;
        (100 / gap.as_millis().max(1) as usize).clamp(1, MAX_WHEEL_LINES)
    }
}

impl FullScreen {
    /// Sets the lines per event of the wheel.
    pub fn set_wheel_lines(&mut self, lines: WheelLines) {
        self.mouse.wheel.setting = lines;
    }

    /// Sets when the scroll bar is visible.
    pub fn set_scrollbar(&mut self, scrollbar: Scrollbar) {
        self.scrollbar.setting = scrollbar;
    }

    /// Ends a drag without a selection, because the terminal lost the focus.
    pub fn cancel_drag(&mut self) {
        if self.mouse.down.take().is_some() {
            self.selection = None;
        }
        self.mouse.edge = None;
        self.scrollbar.dragged = None;
    }

    /// Handles a mouse event over the rows of the last frame.
    pub fn handle_mouse(
        &mut self,
        mouse: Mouse,
        blocks: &mut Blocks,
        theme: &Theme,
        now: Instant,
    ) -> MouseOutcome {
        let view = self.block_view(theme);
        match mouse.kind {
            MouseKind::WheelUp | MouseKind::WheelDown => {
                let fast = mouse.modifiers.contains(Modifiers::ALT);
                let lines = self.mouse.wheel.lines(now) * if fast { 5 } else { 1 };
                let up = mouse.kind == MouseKind::WheelUp;
                let lines = if up { -(lines as isize) } else { lines as isize };
                self.viewport.scroll(Scroll::Lines(lines));
                MouseOutcome::Scrolled
            }
            MouseKind::Press(MouseButton::Left) => self.press(mouse, blocks, view, now),
            MouseKind::Drag(MouseButton::Left) => self.drag(mouse, blocks, view, now),
            MouseKind::Release(MouseButton::Left) => self.release(blocks, view),
            MouseKind::Move => self.hover(mouse),
            _ => MouseOutcome::Ignored,
        }
    }

    fn is_on_scrollbar(&self, mouse: Mouse) -> bool {
        self.scrollbar.is_active()
            && mouse.column + 1 == self.size.columns
            && mouse.row < self.viewport.height()
    }

    fn hover(&mut self, mouse: Mouse) -> MouseOutcome {
        let is_hovered = self.is_on_scrollbar(mouse);
        if std::mem::replace(&mut self.scrollbar.is_hovered, is_hovered) == is_hovered {
            return MouseOutcome::Ignored;
        }
        MouseOutcome::Scrolled
    }

    fn press(
        &mut self,
        mouse: Mouse,
        blocks: &mut Blocks,
        view: View<'_>,
        now: Instant,
    ) -> MouseOutcome {
        let cell = (mouse.row, mouse.column);
        let clicks = match self.mouse.press {
            Some((last, at, clicks)) if at == cell && now.duration_since(last) < DOUBLE_CLICK => {
                clicks % 3 + 1
            }
            _ => 1,
        };
        self.mouse.press = Some((now, cell, clicks));
        let had_selection = self.selection.take().is_some();
        let on_label = self
            .label
            .as_ref()
            .is_some_and(|(row, columns)| *row == mouse.row && columns.contains(&mouse.column));
        if on_label {
            self.viewport.scroll(Scroll::Bottom);
            return MouseOutcome::Scrolled;
        }
        if self.is_on_scrollbar(mouse) {
            if let Some(row) = self.scrollbar.press(mouse.row) {
                self.viewport.scroll(Scroll::Row(row));
            }
            return MouseOutcome::Scrolled;
        }
        if let Some(row) = mouse.row.checked_sub(self.viewport.height()) {
            return MouseOutcome::Dock { row, column: mouse.column };
        }
        self.mouse.down = self.point(mouse.row, mouse.column);
        if let Some(point) = self.mouse.down.filter(|_| clicks > 1) {
            let unit = if clicks == 2 { Unit::Word } else { Unit::Line };
            self.selection = Some(Selection::new(unit, point, blocks, view));
        }
        if had_selection || self.selection.is_some() {
            MouseOutcome::Scrolled
        } else {
            MouseOutcome::Ignored
        }
    }

    fn drag(
        &mut self,
        mouse: Mouse,
        blocks: &mut Blocks,
        view: View<'_>,
        now: Instant,
    ) -> MouseOutcome {
        if self.scrollbar.dragged.is_some() {
            if let Some(row) = self.scrollbar.drag(mouse.row) {
                self.viewport.scroll(Scroll::Row(row));
            }
            return MouseOutcome::Scrolled;
        }
        let Some(down) = self.mouse.down else { return MouseOutcome::Ignored };
        let lines = match mouse.row {
            0 => -1,
            row if row + 1 >= self.viewport.height() => 1,
            _ => 0,
        };
        let next = self.mouse.edge.map_or(now + EDGE_STEP, |edge| edge.next);
        self.mouse.edge = (lines != 0).then_some(Edge { lines, column: mouse.column, next });
        self.extend_selection(down, mouse.row, mouse.column, blocks, view);
        MouseOutcome::Scrolled
    }

    fn release(&mut self, blocks: &mut Blocks, view: View<'_>) -> MouseOutcome {
        self.mouse.edge = None;
        if self.scrollbar.dragged.take().is_some() {
            return MouseOutcome::Scrolled;
        }
        let Some(down) = self.mouse.down.take() else { return MouseOutcome::Ignored };
        if let Some(selection) = &self.selection {
            let text = selection.text(blocks, view);
            return text.map_or(MouseOutcome::Scrolled, MouseOutcome::Selected);
        }
        let Point { place: Place { block, line }, column } = down;
        let lines = blocks.lines(block, view);
        let cells = lines.get(line).map(|line| super::super::cells::cells(line, usize::MAX));
        let link = cells.and_then(|cells| {
            let cell = cells.into_iter().find(|cell| (cell.column..cell.end()).contains(&column));
            cell.and_then(|cell| cell.link).map(|link| link.to_string())
        });
        MouseOutcome::Clicked { block, row: line, column, link }
    }

    /// Returns the point at a cell of the screen; below the document, the end of its last line.
    fn point(&self, row: usize, column: usize) -> Option<Point> {
        let lines = self.viewport.lines();
        match lines.get(row) {
            Some(visible) => Some(Point { place: visible.place, column }),
            None => {
                let last = lines.last()?;
                Some(Point { place: last.place, column: last.row.line().width() })
            }
        }
    }

    fn extend_selection(
        &mut self,
        down: Point,
        row: usize,
        column: usize,
        blocks: &mut Blocks,
        view: View<'_>,
    ) {
        let row = row.min(self.viewport.height().saturating_sub(1));
        let Some(to) = self.point(row, column) else { return };
        match &mut self.selection {
            Some(selection) => selection.extend(to, blocks, view),
            None if to == down => {}
            None => {
                let mut selection = Selection::new(Unit::Character, down, blocks, view);
                selection.extend(to, blocks, view);
                self.selection = Some(selection);
            }
        }
    }

    /// Scrolls while a selection is dragged over an edge. The lines that come into view are selected
    /// by the frame after this one.
    pub(super) fn drag_at_edge(&mut self, blocks: &mut Blocks, view: View<'_>, now: Instant) {
        let (Some(mut edge), Some(down)) = (self.mouse.edge, self.mouse.down) else { return };
        if now < edge.next {
            return;
        }
        self.viewport.scroll(Scroll::Lines(edge.lines));
        self.viewport.layout(blocks, view, self.viewport.height());
        let row = if edge.lines < 0 { 0 } else { self.viewport.height().saturating_sub(1) };
        self.extend_selection(down, row, edge.column, blocks, view);
        edge.next = now + EDGE_STEP;
        self.mouse.edge = Some(edge);
    }
}
