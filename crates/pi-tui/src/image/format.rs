//! Kind and size of an image, read from the first bytes of the file. Nothing is decoded.

/// A format of image files that models and terminals know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Format {
    /// Returns the usual extension of file names, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }

    /// Returns the format that an extension names, without the dot.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "gif" => Some(Self::Gif),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }
}

/// Format and size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct ImageInfo {
    pub format: Format,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl ImageInfo {
    /// Reads format and size from the content of a file. Returns `None` for other files and for
    /// images without a size.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (format, (width, height)) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            (Format::Png, (big(bytes, 16, 4)?, big(bytes, 20, 4)?))
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            (Format::Gif, (little(bytes, 6, 2)?, little(bytes, 8, 2)?))
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            (Format::Jpeg, jpeg(bytes)?)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            (Format::Webp, webp(bytes)?)
        } else {
            return None;
        };
        (width > 0 && height > 0).then_some(Self { format, width, height })
    }
}

/// Finds the frame header of a JPEG file, which has the size.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2usize;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // Fill bytes before a marker.
            0xff => at += 1,
            // Markers without a length.
            0x01 | 0xd0..=0xd8 => at += 2,
            // Frame headers; c4, c8 and cc are tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            // The image data: the size would have come before.
            0xd9 | 0xda => return None,
            _ => at = at.checked_add(2 + big(bytes, at + 2, 2)?.max(2) as usize)?,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" if bytes.get(20) == Some(&0x2f) => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " if bytes.get(23..26) == Some(&[0x9d, 0x01, 0x2a]) => {
            Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff))
        }
        _ => None,
    }
}

/// Reads a number of `length` bytes, the highest first.
fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// Reads a number of `length` bytes, the lowest first.
fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
