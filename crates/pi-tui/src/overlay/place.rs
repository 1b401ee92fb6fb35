//! The place of an overlay: a pure function of its options and the size of the terminal.

use crate::screen::Size;

/// A part of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Rect {
    pub column: usize,
    pub row: usize,
    pub width: usize,
    pub height: usize,
}

/// A number of cells, or a part of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Cells.
    Cells(usize),
    /// Percent of a length.
    Percent(usize),
}

impl Length {
    fn of(self, whole: usize) -> usize {
        match self {
            Self::Cells(cells) => cells,
            Self::Percent(percent) => whole.saturating_mul(percent) / 100,
        }
    }
}

/// The part of the screen in which an overlay is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Anchor {
    #[default]
    Center,
    TopLeft,
    TopCenter,
    TopRight,
    LeftCenter,
    RightCenter,
    BottomLeft,
    BottomCenter,
    BottomRight,
}

impl Anchor {
    /// Returns the share of the free space, in percent, that is left of the overlay and above it.
    fn shares(self) -> (usize, usize) {
        match self {
            Self::TopLeft => (0, 0),
            Self::TopCenter => (50, 0),
            Self::TopRight => (100, 0),
            Self::LeftCenter => (0, 50),
            Self::Center => (50, 50),
            Self::RightCenter => (100, 50),
            Self::BottomLeft => (0, 100),
            Self::BottomCenter => (50, 100),
            Self::BottomRight => (100, 100),
        }
    }
}

/// Cells at the edges of the screen that overlays leave free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Margins {
    pub top: usize,
    pub right: usize,
    pub bottom: usize,
    pub left: usize,
}

impl Margins {
    /// Returns the same margin at all edges.
    pub fn all(cells: usize) -> Self {
        Self { top: cells, right: cells, bottom: cells, left: cells }
    }
}

/// The wishes for the place of an overlay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverlayOptions {
    /// The width; 80 columns, or what is available, if it is not set.
    pub width: Option<Length>,
    /// The least width, as far as there is room.
    pub min_width: usize,
    /// The greatest height.
    pub max_height: Option<Length>,
    /// The place, unless `row` or `column` are set.
    pub anchor: Anchor,
    /// Columns to the right of the anchor.
    pub offset_x: isize,
    /// Rows below the anchor.
    pub offset_y: isize,
    /// The first row, or the percentage of the free rows that are above.
    pub row: Option<Length>,
    /// The first column, or the percentage of the free columns that are to the left.
    pub column: Option<Length>,
    /// Cells that stay free.
    pub margins: Margins,
    /// The overlay is shown in terminals that are at least this big.
    pub min_terminal: Option<Size>,
    /// The overlay is only shown: it takes the focus when it is told to, not by itself.
    pub is_passive: bool,
}

impl OverlayOptions {
    /// Returns the columns that an overlay will have.
    pub fn columns(&self, size: Size) -> usize {
        let margins = self.margins.left + self.margins.right;
        let available = size.columns.saturating_sub(margins).max(1).min(size.columns);
        let wanted = self.width.map_or(80, |width| width.of(size.columns));
        wanted.max(self.min_width).clamp(available.min(1), available)
    }

    /// Returns true if the terminal is big enough.
    pub fn fits(&self, size: Size) -> bool {
        self.min_terminal
            .is_none_or(|least| size.columns >= least.columns && size.rows >= least.rows)
    }
}

/// Returns the place of an overlay with some lines of content. It is within the margins, or at
/// least within the terminal.
pub fn place(options: &OverlayOptions, size: Size, content_height: usize) -> Rect {
    let margins = options.margins;
    let (share_x, share_y) = options.anchor.shares();
    let width = options.columns(size);
    let rows = size.rows.saturating_sub(margins.top + margins.bottom).max(1).min(size.rows);
    let max_height = options.max_height.map_or(rows, |height| height.of(size.rows).max(1));
    let height = content_height.min(max_height).min(rows);
    let horizontal = Axis { size: size.columns, before: margins.left, after: margins.right };
    let vertical = Axis { size: size.rows, before: margins.top, after: margins.bottom };
    Rect {
        column: horizontal.start(width, share_x, options.column, options.offset_x),
        row: vertical.start(height, share_y, options.row, options.offset_y),
        width,
        height,
    }
}

/// One direction of the screen, with its margins.
struct Axis {
    size: usize,
    before: usize,
    after: usize,
}

impl Axis {
    /// Returns the first cell of something that is `length` long.
    fn start(&self, length: usize, share: usize, wish: Option<Length>, offset: isize) -> usize {
        let free = self.size.saturating_sub(self.before + self.after).saturating_sub(length);
        let start = match wish {
            Some(Length::Cells(cell)) => cell,
            Some(Length::Percent(percent)) => self.before + Length::Percent(percent).of(free),
            None => self.before + Length::Percent(share).of(free),
        };
        let last = self.size.saturating_sub(length);
        start
            .saturating_add_signed(offset)
            .clamp(self.before.min(last), (self.before + free).min(last))
    }
}
