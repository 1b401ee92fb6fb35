//! Images in files: recognised by what they contain, shown as models can take them.

#[cfg(feature = "images")]
mod fit;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use pi_agent::ToolOutput;
use pi_protocol::{ImageResize, UserBlock};
use serde_json::json;

/// What the model in use can do with images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// To what size they are scaled down; what is not said is as usual: 2000 × 2000 pixels,
    /// 4.5 MiB in base64, JPEG of quality 80.
    pub resize: ImageResize,
    /// The model can see images. If not, it is told that there was one.
    pub visible: bool,
}

impl Default for Images {
    fn default() -> Self {
        Self { resize: ImageResize::default(), visible: true }
    }
}

/// An image that can be sent, and what the model should know of it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mime_type: &'static str,
    pub(crate) hints: Vec<String>,
}

/// Why an image cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Omitted {
    #[error("[Image omitted: could not be converted to a supported inline image format.]")]
    Unreadable,
    #[cfg_attr(not(feature = "images"), allow(dead_code))]
    #[error("[Image omitted: could not be resized below the inline image size limit.]")]
    TooBig,
}

/// The MIME type of an image. Names do not count, and an animation is not an image to models.
pub(crate) fn mime_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, 0xf7, ..] => None,
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', rest @ ..] => {
            (!is_animated(rest)).then_some("image/png")
        }
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        // Two letters are not much; the length of the second header tells a bitmap from prose.
        [b'B', b'M', ..] => {
            let length = bytes.get(14..18)?.try_into().map(u32::from_le_bytes).ok()?;
            matches!(length, 12 | 40 | 52 | 56 | 64 | 108 | 124).then_some("image/bmp")
        }
        _ => None,
    }
}

/// Whether a PNG file says that it is an animation, which it has to do before the first picture.
fn is_animated(mut chunks: &[u8]) -> bool {
    while let [l0, l1, l2, l3, kind @ ..] = chunks {
        let length = u32::from_be_bytes([*l0, *l1, *l2, *l3]) as usize;
        match kind.get(..4) {
            Some(b"acTL") => return true,
            Some(b"IDAT") | None => return false,
            // The kind itself and a check sum.
            Some(_) => chunks = kind.get(length.saturating_add(8)..).unwrap_or_default(),
        }
    }
    false
}

/// The result of reading an image. Takes a while for big ones.
pub(crate) fn show(bytes: Vec<u8>, mime_type: &'static str, images: &Images) -> ToolOutput {
    let fitted = fitted(bytes, mime_type, &images.resize);
    let mut lines = vec![match &fitted {
        Ok(shown) => format!("Read image file [{}]", shown.mime_type),
        Err(_) => format!("Read image file [{mime_type}]"),
    }];
    match &fitted {
        Ok(shown) => lines.extend(shown.hints.iter().cloned()),
        Err(omitted) => lines.push(omitted.to_string()),
    }
    if !images.visible {
        lines.push(
            "[Current model does not support images. The image will be omitted from this request.]"
                .to_owned(),
        );
    }
    let note = lines.join("\n");
    let Ok(shown) = fitted else {
        return ToolOutput { structured_content: Some(json!(note)), ..ToolOutput::text(note) };
    };
    let data = BASE64_STANDARD.encode(&shown.bytes);
    let structured =
        json!({ "type": "image", "data": data, "mimeType": shown.mime_type, "note": note });
    ToolOutput {
        content: vec![UserBlock::text(note), UserBlock::image(data, shown.mime_type)],
        structured_content: Some(structured),
        ..ToolOutput::default()
    }
}

#[cfg(feature = "images")]
use fit::fitted;

/// Without a decoder nobody knows how big an image is.
#[cfg(not(feature = "images"))]
fn fitted(_: Vec<u8>, _: &'static str, _: &ImageResize) -> Result<Shown, Omitted> {
    Err(Omitted::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::mime_type;

    #[test]
    fn content_counts() {
        let png = b"\x89PNG\r\n\x1a\n";
        let animated = [png.as_slice(), b"\0\0\0\x01IHDRx....", b"\0\0\0\x08acTL"].concat();
        let still = [png.as_slice(), b"\0\0\0\x01IHDRx....", b"\0\0\0\x08IDAT....acTL"].concat();
        let bitmap = [b"BM".as_slice(), &[0; 12], &[40, 0, 0, 0]].concat();
        let cases: &[(&[u8], Option<&str>)] = &[
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"\xff\xd8\xff\xf7", None),
            (b"\x89PNG", None),
            (png, Some("image/png")),
            (&animated, None),
            (&still, Some("image/png")),
            (b"GIF87a", Some("image/gif")),
            (b"GIF88a", None),
            (b"RIFF....WEBP", Some("image/webp")),
            (b"RIFF....WAVE", None),
            (&bitmap, Some("image/bmp")),
            (b"BMW builds cars and motorcycles", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(mime_type(bytes), *expected, "{bytes:?}");
        }
    }
}
