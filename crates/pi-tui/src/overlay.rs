//! Overlays: components that are drawn above others. Screens do the drawing.

mod place;
mod stack;

pub use place::{Anchor, Length, Margins, OverlayOptions, Rect, place};
pub use stack::{OverlayId, Overlays};
