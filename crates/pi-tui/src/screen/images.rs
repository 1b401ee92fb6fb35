//! Images on the screens.
//!
//! An image stands at the end of its line and covers the empty lines below it. It is uploaded once,
//! and shown again where its line moves to. An image that does not fit is not shown.

use super::Row;
use crate::image::{self, Placement};
use crate::terminal::ImageProtocol;

/// Images that stay in the memory of the terminal, beyond those on the screen.
const KEPT: usize = 16;

/// The images of a terminal.
#[derive(Debug, Default)]
pub(super) struct Images {
    pub(super) protocol: Option<ImageProtocol>,
    /// Numbers of the images that were uploaded, the last used at the end.
    uploaded: Vec<u32>,
}

impl Images {
    /// Appends the bytes that show an image at the cursor, and leave the cursor there.
    pub(super) fn show(&mut self, placement: &Placement, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b7");
        match self.protocol {
            Some(ImageProtocol::Kitty) => {
                let known = self.uploaded.iter().position(|id| *id == placement.id);
                match known.map(|index| self.uploaded.remove(index)) {
                    Some(_) => image::kitty_show(placement, out),
                    None => image::kitty_place(placement, out),
                }
                self.uploaded.push(placement.id);
            }
            Some(ImageProtocol::Iterm2) => image::iterm2_show(placement, out),
            None => {}
        }
        out.extend_from_slice(b"\x1b8");
    }

    /// Removes the images that were on the screen and are no longer, and forgets the oldest ones.
    pub(super) fn hide<'a, 'b>(
        &mut self,
        before: impl Iterator<Item = &'a Row>,
        after: impl Iterator<Item = &'b Row>,
        out: &mut Vec<u8>,
    ) {
        if self.protocol != Some(ImageProtocol::Kitty) || self.uploaded.is_empty() {
            return;
        }
        let shown: Vec<u32> = after.filter_map(image_of).map(|image| image.id).collect();
        for id in before.filter_map(image_of).map(|image| image.id) {
            if !shown.contains(&id) {
                image::kitty_delete(id, false, out);
            }
        }
        let surplus = self.uploaded.len().saturating_sub(KEPT + shown.len());
        for id in self.uploaded.drain(..surplus) {
            image::kitty_delete(id, true, out);
        }
    }

    /// Forgets what the terminal has, because it was given away.
    pub(super) fn forget(&mut self) {
        self.uploaded.clear();
    }
}

/// Returns the image of a row.
pub(super) fn image_of(row: &Row) -> Option<&Placement> {
    row.line().image.as_deref()
}

/// Returns true if a row has an image that the row before in its place had not.
pub(super) fn is_new(old: Option<&Row>, new: &Row) -> bool {
    image_of(new).is_some() && old.and_then(image_of) != image_of(new)
}

/// Removes images that do not fit into the rows; `all` removes all, because something covers them.
pub(super) fn clip(rows: &mut [Row], all: bool) {
    let count = rows.len();
    for (index, row) in rows.iter_mut().enumerate() {
        if image_of(row).is_some_and(|image| all || index + image.rows > count) {
            let mut line = row.line().clone();
            line.image = None;
            *row = Row::own(line);
        }
    }
}
