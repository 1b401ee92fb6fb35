//! Images on the screen: sizes, the sequences that show them, and text where none can be shown.

pub mod dropped;
mod format;
mod sequences;
#[cfg(test)]
mod tests;

pub use format::{Format, ImageInfo};
pub use sequences::{iterm2_show, kitty_delete, kitty_place, kitty_show};

/// Width and height of a cell in pixels where the terminal does not report it.
pub const DEFAULT_CELL: (u16, u16) = (9, 18);

/// An image at a place of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Number of the image, unique in this process.
    pub id: u32,
    /// The image as PNG.
    pub png: std::sync::Arc<[u8]>,
    /// Columns that it covers.
    pub columns: usize,
    /// Rows that it covers.
    pub rows: usize,
}

/// Returns the columns and rows that an image covers in its own proportions, within limits. Images
/// are made smaller, never larger.
pub fn size_in_cells(
    pixels: (u32, u32),
    cell: (u16, u16),
    max_columns: usize,
    max_rows: usize,
) -> (usize, usize) {
    let cell = if cell.0 == 0 || cell.1 == 0 { DEFAULT_CELL } else { cell };
    let (width, height) = (f64::from(pixels.0.max(1)), f64::from(pixels.1.max(1)));
    let (cell_width, cell_height) = (f64::from(cell.0), f64::from(cell.1));
    let most = |cells: usize, size: f64| cells.max(1) as f64 * size;
    let scale =
        (most(max_columns, cell_width) / width).min(most(max_rows, cell_height) / height).min(1.0);
    let cells = |pixels: f64, size: f64, limit: usize| {
        ((pixels * scale / size).ceil() as usize).clamp(1, limit.max(1))
    };
    (cells(width, cell_width, max_columns), cells(height, cell_height, max_rows))
}

/// Returns the text that stands for an image: `[Image: name [image/png] 640x480]`.
pub fn fallback_text(name: Option<&str>, media_type: &str, pixels: Option<(u32, u32)>) -> String {
    let mut text = String::from("[Image: ");
    if let Some(name) = name {
        text += name;
        text.push(' ');
    }
    text += &format!("[{media_type}]");
    if let Some((width, height)) = pixels {
        text += &format!(" {width}x{height}");
    }
    text.push(']');
    text
}
