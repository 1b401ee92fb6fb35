//! Making an image fit: upright, small enough, in a format that models take.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};
use pi_protocol::ImageResize;

use super::{Omitted, Shown};

/// What fits, where the model says nothing else.
const MAX_SIDE: u64 = 2000;
const MAX_ENCODED: u64 = 4_718_592;
const QUALITY: u64 = 80;
/// Qualities that are tried when the first is too big.
const QUALITIES: [u8; 4] = [85, 70, 55, 40];

/// The image as it is, if it may be sent so, or made to fit.
pub(super) fn fitted(
    bytes: Vec<u8>,
    mime_type: &'static str,
    limits: &ImageResize,
) -> Result<Shown, Omitted> {
    let side = |side: Option<u64>| u32::try_from(side.unwrap_or(MAX_SIDE)).unwrap_or(u32::MAX);
    let (max_width, max_height) = (side(limits.max_width).max(1), side(limits.max_height).max(1));
    let max_encoded = limits.max_bytes.unwrap_or(MAX_ENCODED);
    let fits = |bytes: &[u8]| {
        base64::encoded_len(bytes.len(), true).is_some_and(|length| length as u64 <= max_encoded)
    };
    let quality = limits.jpeg_quality.unwrap_or(QUALITY).clamp(1, 100) as u8;

    let reader = ImageReader::new(Cursor::new(&bytes)).with_guessed_format();
    let mut decoder =
        reader.ok().and_then(|reader| reader.into_decoder().ok()).ok_or(Omitted::Unreadable)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let (width, height) = upright(decoder.dimensions(), orientation);
    let small = width <= max_width && height <= max_height;
    // Models do not take bitmaps.
    let convert = mime_type == "image/bmp";
    if small && !convert && fits(&bytes) {
        drop(decoder);
        return Ok(Shown { bytes, mime_type, hints: Vec::new() });
    }
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_| Omitted::Unreadable)?;
    drop(bytes);
    picture.apply_orientation(orientation);

    let hints = |shown: (u32, u32), to: &str| {
        let mut hints = Vec::new();
        if convert {
            hints.push(format!("[Image converted from {mime_type} to {to}.]"));
        }
        if shown != (width, height) {
            let (w, h) = shown;
            let scale = f64::from(width) / f64::from(w);
            hints.push(format!("[Image: original {width}x{height}, displayed at {w}x{h}. Multiply coordinates by {scale:.2} to map to original image.]"));
        }
        hints
    };
    if small && convert {
        let bytes = encode(&picture, None)?;
        if fits(&bytes) {
            let mime_type = "image/png";
            return Ok(Shown { bytes, mime_type, hints: hints((width, height), mime_type) });
        }
    }
    let (mut w, mut h) = scaled(width, height, max_width, max_height);
    loop {
        let scaled = if (w, h) == (width, height) {
            picture.clone()
        } else {
            picture.resize_exact(w, h, FilterType::Lanczos3)
        };
        let (png, jpeg) = (encode(&scaled, None)?, encode(&scaled, Some(quality))?);
        let (first, second) = if png.len() <= jpeg.len() {
            ((png, "image/png"), (jpeg, "image/jpeg"))
        } else {
            ((jpeg, "image/jpeg"), (png, "image/png"))
        };
        let mut found = [first, second].into_iter().find(|(bytes, _)| fits(bytes));
        for quality in QUALITIES {
            if found.is_none() {
                let bytes = encode(&scaled, Some(quality))?;
                found = Some((bytes, "image/jpeg")).filter(|(bytes, _)| fits(bytes));
            }
        }
        if let Some((bytes, mime_type)) = found {
            return Ok(Shown { bytes, mime_type, hints: hints((w, h), mime_type) });
        }
        if (w, h) == (1, 1) {
            return Err(Omitted::TooBig);
        }
        (w, h) = ((w * 3 / 4).max(1), (h * 3 / 4).max(1));
    }
}

/// The size of an image that is turned as its file says.
fn upright((width, height): (u32, u32), orientation: Orientation) -> (u32, u32) {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    match orientation {
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH => (height, width),
        _ => (width, height),
    }
}

/// The largest size with the same proportions that fits.
fn scaled(width: u32, height: u32, max_width: u32, max_height: u32) -> (u32, u32) {
    let scale = (f64::from(max_width) / f64::from(width.max(1)))
        .min(f64::from(max_height) / f64::from(height.max(1)))
        .min(1.0);
    let side = |side: u32, most: u32| ((f64::from(side) * scale).round() as u32).clamp(1, most);
    (side(width, max_width), side(height, max_height))
}

/// The picture as PNG, or as JPEG of some quality.
fn encode(picture: &DynamicImage, quality: Option<u8>) -> Result<Vec<u8>, Omitted> {
    let mut bytes = Cursor::new(Vec::new());
    let written = match quality {
        None => picture.write_to(&mut bytes, ImageFormat::Png),
        Some(quality) => {
            JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&picture.to_rgb8())
        }
    };
    written.map_err(|_| Omitted::Unreadable)?;
    Ok(bytes.into_inner())
}
