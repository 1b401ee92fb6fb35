//! Images of servers: those that every provider accepts, bounded in number and size.
//!
//! The session keeps an image and sends it with every later request. An image that a provider
//! refuses would end the session, so the content decides, not what the server says about it.

/// The largest image, in base64.
const LARGEST: usize = 8 << 20;

/// The most images of one result, and their size together, in base64.
const MOST: usize = 20;
const LARGEST_TOGETHER: usize = 20 << 20;

/// The room for images that a result has left.
#[derive(Debug)]
pub(crate) struct Room {
    images: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { images: MOST, bytes: LARGEST_TOGETHER }
    }
}

impl Room {
    /// Returns true, and takes the room, if an image of this size in base64 still fits.
    pub(crate) fn take(&mut self, size: usize) -> bool {
        let fits = self.images > 0 && size <= self.bytes.min(LARGEST);
        if fits {
            self.images -= 1;
            self.bytes -= size;
        }
        fits
    }
}

/// Returns the type of an image that all providers accept, by its content.
pub(crate) fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', rest @ ..] => {
            let begins = rest.get(4..8).is_some_and(|kind| kind == b"IHDR");
            begins.then_some("image/png")
        }
        [0xff, 0xd8, 0xff, _, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', _, ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', b'V', ..] => {
            Some("image/webp")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides_about_the_type() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some("image/png")),
            (b"\x89PNG\r\n\x1a\n", None),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a\x01", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVEfmt ", None),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:?}");
        }
    }
}
