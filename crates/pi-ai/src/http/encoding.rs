//! Content encodings of a response.
//!
//! Requests ask for none, since a compressing proxy delays a stream; some servers use one anyway.

use std::io::Write as _;

use flate2::write::{MultiGzDecoder, ZlibDecoder};

/// Decoder of the content encoding of a body, chunk by chunk.
pub(crate) enum Encoding {
    Identity,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
}

impl Encoding {
    /// Returns the decoder for a `content-encoding` header.
    pub(crate) fn named(name: Option<&str>) -> Result<Self, String> {
        match name.map(str::trim).unwrap_or_default().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            "deflate" => Ok(Self::Deflate(Box::new(ZlibDecoder::new(Vec::new())))),
            other => Err(format!("The server used the unsupported content encoding \"{other}\"")),
        }
    }

    /// Decodes a chunk and passes the result to `out`.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        out: impl FnOnce(&[u8]),
    ) -> Result<(), std::io::Error> {
        let decoded = match self {
            Self::Identity => {
                out(bytes);
                return Ok(());
            }
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Deflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
        };
        out(decoded);
        decoded.clear();
        Ok(())
    }

    /// Ends the body: passes the rest to `out`. Fails if the body is truncated.
    pub(crate) fn finish(&mut self, out: impl FnOnce(&[u8])) -> Result<(), std::io::Error> {
        match self {
            Self::Identity => {}
            Self::Gzip(decoder) => {
                decoder.try_finish()?;
                out(decoder.get_ref());
            }
            Self::Deflate(decoder) => {
                decoder.try_finish()?;
                out(decoder.get_ref());
            }
        }
        Ok(())
    }
}
