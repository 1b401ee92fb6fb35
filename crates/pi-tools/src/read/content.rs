//! Reading a file of any size with little memory: an image whole, the selected lines of a text.

use std::io::{self, Read};

use pi_protocol::CancelToken;

use super::select::Selection;
use crate::image;
use crate::output::Decoder;
use crate::seen::{Fingerprint, Fingerprinting};

/// Bytes that are examined of a text. Counting the lines of more would take too long, and is more
/// than the TypeScript pi can read.
const MOST_EXAMINED: u64 = 512 * 1024 * 1024;
/// Largest image file that is decoded.
pub(super) const MOST_IMAGE: u64 = 64 * 1024 * 1024;
/// The beginning of a file, by which an image is recognized, and the size of the other steps.
const STEP: usize = 1024 * 1024;

/// The content of a file, as far as it is needed.
pub(super) enum Content {
    Image {
        bytes: Vec<u8>,
        mime_type: &'static str,
    },
    /// An image above [`MOST_IMAGE`].
    LargeImage,
    Text(Selection),
}

/// Reads a file. Also returns its fingerprint, if the file was read to its end.
pub(super) fn read(
    mut file: Box<dyn Read + Send>,
    mut selection: Selection,
    cancel: &CancelToken,
) -> io::Result<(Content, Option<Fingerprint>)> {
    let mut bytes = Vec::new();
    file.by_ref().take(STEP as u64).read_to_end(&mut bytes)?;
    if image::mime_type(&bytes).is_some() {
        file.take(MOST_IMAGE + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_IMAGE {
            return Ok((Content::LargeImage, None));
        }
        // With the whole file: the beginning may not show that it is an animation.
        if let Some(mime_type) = image::mime_type(&bytes) {
            let fingerprint = Fingerprint::of(&bytes);
            return Ok((Content::Image { bytes, mime_type }, Some(fingerprint)));
        }
        let mut decoder = Decoder::default();
        decoder.push(&bytes, |text| selection.push(text));
        selection.push(decoder.finish());
        return Ok((Content::Text(selection), Some(Fingerprint::of(&bytes))));
    }
    let (mut decoder, mut fingerprint) = (Decoder::default(), Fingerprinting::default());
    let mut examined = 0;
    while !bytes.is_empty() {
        fingerprint.add(&bytes);
        decoder.push(&bytes, |text| selection.push(text));
        examined += bytes.len() as u64;
        if examined >= MOST_EXAMINED || cancel.is_cancelled() {
            selection.is_incomplete = true;
            return Ok((Content::Text(selection), None));
        }
        bytes.clear();
        file.by_ref().take(STEP as u64).read_to_end(&mut bytes)?;
    }
    selection.push(decoder.finish());
    Ok((Content::Text(selection), Some(fingerprint.finish())))
}
