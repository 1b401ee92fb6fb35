//! Images in messages and results: as images if the terminal has them, else a line of text.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{ImageContent, UserBlock};
use pi_tui::Line;
use pi_tui::image::{Format, ImageInfo, Placement, fallback_text, size_in_cells};

use super::options::Look;

/// Characters of base64 that are decoded to find the size of an image.
const HEAD: usize = 64 * 1024;
/// Rows that an image may cover.
const MAX_ROWS: usize = 24;

/// Returns the text in the place of an image: its type, and its size if it is known.
pub(super) fn fallback(image: &ImageContent) -> String {
    let pixels = info(image).map(|info| (info.width, info.height));
    fallback_text(None, &image.mime_type, pixels)
}

/// Returns true if an image is drawn. Terminals take PNG only.
pub(super) fn is_shown(image: &ImageContent, look: Look<'_>) -> bool {
    look.options.images.is_some() && info(image).is_some_and(|info| info.format == Format::Png)
}

/// Returns the images of a result as lines below its box.
pub(super) fn below(content: &[UserBlock], look: Look<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for block in content {
        if let UserBlock::Image(image) = block
            && is_shown(image, look)
            && let Some(placement) = placement(image, look)
        {
            lines.push(Line::new());
            let rows = placement.rows;
            let mut first = Line::new();
            first.image = Some(Rc::new(placement));
            lines.push(first);
            lines.extend(std::iter::repeat_n(Line::new(), rows.saturating_sub(1)));
        }
    }
    lines
}

fn placement(image: &ImageContent, look: Look<'_>) -> Option<Placement> {
    let limits = look.options.images?;
    let info = info(image)?;
    let png = STANDARD.decode(&image.data).ok()?;
    let pixels = (info.width, info.height);
    let most = limits.columns.min(look.view.width);
    let (columns, rows) = size_in_cells(pixels, limits.cell, most, MAX_ROWS);
    // One image has one number, so that it is uploaded once.
    let mut hasher = DefaultHasher::new();
    image.data.hash(&mut hasher);
    let id = (hasher.finish() as u32).max(1);
    Some(Placement { id, png: png.into(), columns, rows })
}

fn info(image: &ImageContent) -> Option<ImageInfo> {
    let end = image.data.len().min(HEAD) / 4 * 4;
    ImageInfo::read(&STANDARD.decode(image.data.get(..end)?).ok()?)
}
