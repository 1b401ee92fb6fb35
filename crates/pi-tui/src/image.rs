//! Images on the screen.

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
