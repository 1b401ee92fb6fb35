//! Images in files: recognized by their content, converted and scaled for models.

#[cfg(feature = "images")]
mod fit;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use pi_agent::ToolOutput;
use pi_protocol::{ImageContent, ImageResize, UserBlock};
use serde_json::json;

/// Settings for images, which depend on the model in use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageSettings {
    /// Limits to which images are scaled down. Absent limits have defaults: 2000 × 2000 pixels,
    /// 4.5 MiB in base64, JPEG quality 80. With `None`, images are sent unscaled; bitmaps are
    /// still converted to PNG.
    pub resize: Option<ImageResize>,
    /// The model accepts images. If not, the model is told that there was an image.
    pub supported: bool,
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self { resize: Some(ImageResize::default()), supported: true }
    }
}

/// An image that can be sent, with notes for the model.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mime_type: &'static str,
    pub(crate) hints: Vec<String>,
}

/// The step that failed when an image cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Omitted {
    #[error("[Image omitted: could not be converted to a supported inline image format.]")]
    NotConverted,
    #[error("[Image omitted: could not be resized below the inline image size limit.]")]
    NotResized,
}

/// The only recognized format that models do not accept.
const BITMAP: &str = "image/bmp";

/// Returns the MIME type of an image, by its content. Animations count as binary files: models do
/// not accept them.
pub(crate) fn mime_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, 0xf7, ..] => None,
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', rest @ ..] => {
            let begins = rest.get(4..8).is_some_and(|kind| kind == b"IHDR");
            (begins && !is_animated(rest)).then_some("image/png")
        }
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'B', b'M', ..] if is_bitmap(bytes) => Some(BITMAP),
        _ => None,
    }
}

/// Checks the second header, because two letters are not enough to recognize a bitmap.
fn is_bitmap(bytes: &[u8]) -> bool {
    let number = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (planes, depth) = match (number(14), number(16)) {
        (Some(12), Some(0)) => (number(22), number(24)),
        (Some(40 | 52 | 56 | 64 | 108 | 124), Some(0)) => (number(26), number(28)),
        _ => return false,
    };
    planes == Some(1) && matches!(depth, Some(1 | 4 | 8 | 16 | 24 | 32))
}

/// Returns true if a PNG file declares an animation, which it must do before the first frame.
fn is_animated(mut chunks: &[u8]) -> bool {
    while let [l0, l1, l2, l3, kind @ ..] = chunks {
        let length = u32::from_be_bytes([*l0, *l1, *l2, *l3]) as usize;
        match kind.get(..4) {
            Some(b"acTL") => return true,
            Some(b"IDAT") | None => return false,
            // Skips the chunk type and the checksum.
            Some(_) => chunks = kind.get(length.saturating_add(8)..).unwrap_or_default(),
        }
    }
    false
}

/// Creates the result of reading an image. Large images take a while.
pub(crate) fn show(bytes: Vec<u8>, mime_type: &'static str, images: &ImageSettings) -> ToolOutput {
    let fitted = if images.resize.is_some() || mime_type == BITMAP {
        fitted(bytes, mime_type, images.resize.as_ref())
    } else {
        Ok(Shown { bytes, mime_type, hints: Vec::new() })
    };
    let mut lines = vec![match &fitted {
        Ok(shown) => format!("Read image file [{}]", shown.mime_type),
        Err(_) => format!("Read image file [{mime_type}]"),
    }];
    match &fitted {
        Ok(shown) => lines.extend(shown.hints.iter().cloned()),
        Err(omitted) => lines.push(omitted.to_string()),
    }
    if !images.supported {
        lines.push(
            "[Current model does not support images. The image will be omitted from this request.]"
                .to_owned(),
        );
    }
    let note = lines.join("\n");
    let Ok(shown) = fitted else {
        return ToolOutput::text(note.clone()).with_structured_content(json!(note));
    };
    let data = BASE64_STANDARD.encode(&shown.bytes);
    let structured =
        json!({ "type": "image", "data": data, "mimeType": shown.mime_type, "note": note });
    ToolOutput::blocks(vec![UserBlock::text(note), UserBlock::image(data, shown.mime_type)])
        .with_structured_content(structured)
}

/// Images of a prompt in a form that models accept, with notes for the model.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FittedImages {
    /// The images that can be sent.
    pub images: Vec<ImageContent>,
    /// Notes on scaled, converted and omitted images.
    pub notes: Vec<String>,
}

/// Scales and converts the images of a prompt as `read` does with those of files.
pub async fn fit_images(images: Vec<ImageContent>, settings: ImageSettings) -> FittedImages {
    let mut result = FittedImages::default();
    for image in images {
        let resize = settings.resize.clone();
        let fitting = tokio::task::spawn_blocking(move || fit_image(image, resize.as_ref()));
        match fitting.await {
            Ok(Ok((image, hints))) => {
                result.images.push(image);
                result.notes.extend(hints);
            }
            Ok(Err(omitted)) => result.notes.push(omitted.to_string()),
            Err(_) => result.notes.push(Omitted::NotResized.to_string()),
        }
    }
    result
}

fn fit_image(
    image: ImageContent,
    resize: Option<&ImageResize>,
) -> Result<(ImageContent, Vec<String>), Omitted> {
    let is_bitmap = image.mime_type == BITMAP;
    if resize.is_none() && !is_bitmap {
        return Ok((image, Vec::new()));
    }
    let failed = if is_bitmap { Omitted::NotConverted } else { Omitted::NotResized };
    let bytes = BASE64_STANDARD.decode(&image.data).map_err(|_| failed)?;
    let mime_type = mime_type(&bytes).ok_or(failed)?;
    let shown = fitted(bytes, mime_type, resize)?;
    let data = BASE64_STANDARD.encode(&shown.bytes);
    let fitted = ImageContent { data, mime_type: shown.mime_type.to_owned(), ..image };
    Ok((fitted, shown.hints))
}

#[cfg(feature = "images")]
use fit::fitted;

/// Without a decoder the size of an image is unknown.
#[cfg(not(feature = "images"))]
fn fitted(_: Vec<u8>, mime_type: &'static str, _: Option<&ImageResize>) -> Result<Shown, Omitted> {
    Err(if mime_type == BITMAP { Omitted::NotConverted } else { Omitted::NotResized })
}

#[cfg(test)]
mod tests {
    use super::mime_type;

    #[test]
    fn mime_type_depends_on_content() {
        let png = b"\x89PNG\r\n\x1a\n";
        let animated = [png.as_slice(), b"\0\0\0\x01IHDRx....", b"\0\0\0\x08acTL"].concat();
        let still = [png.as_slice(), b"\0\0\0\x01IHDRx....", b"\0\0\0\x08IDAT....acTL"].concat();
        let bitmap = |size: u8, planes: u8, depth: u8| {
            let start = [b"BM".as_slice(), &[0; 12], &[size, 0, 0, 0]].concat();
            let numbers = [planes, 0, depth, 0];
            [start.as_slice(), &[0; 8][..if size == 12 { 4 } else { 8 }], &numbers].concat()
        };
        let cases: &[(&[u8], Option<&str>)] = &[
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"\xff\xd8\xff\xf7", None),
            (b"\x89PNG", None),
            (png, None),
            (&animated, None),
            (&still, Some("image/png")),
            (b"GIF87a", Some("image/gif")),
            (b"GIF88a", None),
            (b"RIFF....WEBP", Some("image/webp")),
            (b"RIFF....WAVE", None),
            (&bitmap(40, 1, 24), Some("image/bmp")),
            (&bitmap(12, 1, 4), Some("image/bmp")),
            (&bitmap(40, 2, 24), None),
            (&bitmap(40, 1, 77), None),
            (&bitmap(41, 1, 24), None),
            (&bitmap(40, 1, 24)[..28], None),
            (b"BMW builds cars and motorcycles", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(mime_type(bytes), *expected, "{bytes:?}");
        }
    }
}
