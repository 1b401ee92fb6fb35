//! Conversion of images: upright, small enough, in a format that models accept.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use pi_protocol::ImageResize;

use super::{BITMAP, Omitted, Shown};

const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";

/// Limits for models that declare none.
const MAX_SIDE: u64 = 2000;
const MAX_ENCODED: u64 = 4_718_592;
const QUALITY: u64 = 80;
/// Maximum size of the decoded pixels, enough for photographs of 89 megapixels.
const MAX_DECODED: u64 = 256 * 1024 * 1024;
/// JPEG qualities to try if the first is too large.
const QUALITIES: [u8; 4] = [85, 70, 55, 40];

/// Returns the original if it fits, or a converted image. Without limits, only the format is
/// converted.
pub(super) fn fitted(
    bytes: Vec<u8>,
    mime_type: &'static str,
    limits: Option<&ImageResize>,
) -> Result<Shown, Omitted> {
    let convert = mime_type == BITMAP;
    // The image is decoded even if it could be sent unchanged: a provider that cannot read an image
    // refuses the request and all later requests of the session.
    let unreadable = if convert { Omitted::NotConverted } else { Omitted::NotResized };
    let picture = decoded(&bytes).ok_or(unreadable)?;
    let (width, height) = (picture.width(), picture.height());
    let conversion =
        |to: &str| convert.then(|| format!("[Image converted from {mime_type} to {to}.]"));
    let (bytes, own_type) =
        if convert { (encode(&picture, None).ok_or(unreadable)?, PNG) } else { (bytes, mime_type) };
    let as_it_is = |bytes| {
        let hints = conversion(own_type).into_iter().collect();
        Ok(Shown { bytes, mime_type: own_type, hints })
    };
    let Some(limits) = limits else { return as_it_is(bytes) };

    let side = |side: Option<u64>| u32::try_from(side.unwrap_or(MAX_SIDE)).unwrap_or(u32::MAX);
    let (max_width, max_height) = (side(limits.max_width).max(1), side(limits.max_height).max(1));
    let max_encoded = limits.max_bytes.unwrap_or(MAX_ENCODED);
    let fits = |bytes: &[u8]| {
        base64::encoded_len(bytes.len(), true).is_some_and(|length| length as u64 <= max_encoded)
    };
    let quality = limits.jpeg_quality.unwrap_or(QUALITY).clamp(1, 100) as u8;
    if width <= max_width && height <= max_height && fits(&bytes) {
        return as_it_is(bytes);
    }
    drop(bytes);

    let (mut w, mut h) = scaled(width, height, max_width, max_height);
    loop {
        let scaled = if (w, h) == (width, height) {
            picture.clone()
        } else {
            picture.resize_exact(w, h, FilterType::Lanczos3)
        };
        let encoded = |quality| encode(&scaled, quality).ok_or(Omitted::NotResized);
        let (png, jpeg) = (encoded(None)?, encoded(Some(quality))?);
        let (first, second) = if png.len() <= jpeg.len() {
            ((png, PNG), (jpeg, JPEG))
        } else {
            ((jpeg, JPEG), (png, PNG))
        };
        let mut found = [first, second].into_iter().find(|(bytes, _)| fits(bytes));
        for quality in QUALITIES {
            if found.is_none() {
                let bytes = encoded(Some(quality))?;
                found = Some((bytes, JPEG)).filter(|(bytes, _)| fits(bytes));
            }
        }
        if let Some((bytes, mime_type)) = found {
            let scale = f64::from(width) / f64::from(w);
            let size = format!(
                "[Image: original {width}x{height}, displayed at {w}x{h}. Multiply coordinates by {scale:.2} to map to original image.]"
            );
            let hints = conversion(mime_type).into_iter().chain([size]).collect();
            return Ok(Shown { bytes, mime_type, hints });
        }
        if (w, h) == (1, 1) {
            return Err(Omitted::NotResized);
        }
        (w, h) = ((w * 3 / 4).max(1), (h * 3 / 4).max(1));
    }
}

/// Decodes a picture and turns it upright. Returns `None` for broken images, and for large ones,
/// which may be an attempt to exhaust the memory: a small file can have any number of pixels.
fn decoded(bytes: &[u8]) -> Option<DynamicImage> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let mut decoder = reader.into_decoder().ok()?;
    if decoder.total_bytes() > MAX_DECODED {
        return None;
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(2 * MAX_DECODED);
    decoder.set_limits(limits).ok()?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).ok()?;
    picture.apply_orientation(orientation);
    Some(picture)
}

/// Returns the largest size with the same proportions that fits.
fn scaled(width: u32, height: u32, max_width: u32, max_height: u32) -> (u32, u32) {
    let scale = (f64::from(max_width) / f64::from(width.max(1)))
        .min(f64::from(max_height) / f64::from(height.max(1)))
        .min(1.0);
    let side = |side: u32, most: u32| ((f64::from(side) * scale).round() as u32).clamp(1, most);
    (side(width, max_width), side(height, max_height))
}

/// Encodes a picture as PNG, or as JPEG of this quality.
fn encode(picture: &DynamicImage, quality: Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    let written = match quality {
        None => picture.write_to(&mut bytes, ImageFormat::Png),
        Some(quality) => {
            JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&picture.to_rgb8())
        }
    };
    written.ok()?;
    Some(bytes.into_inner())
}
