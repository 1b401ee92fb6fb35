//! Content encodings of a response.
//!
//! Requests for streams ask for none, since a compressing proxy delays them; some servers use one
//! anyway.

use std::io::Write as _;

use flate2::write::{MultiGzDecoder, ZlibDecoder};

/// Decoder of the content encoding of a body, chunk by chunk.
#[derive(Debug)]
pub struct Encoding(Decoder);

#[derive(Debug)]
enum Decoder {
    Identity,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
}

impl Encoding {
    /// Returns the decoder for a `content-encoding` header.
    pub fn named(name: Option<&str>) -> Result<Self, String> {
        let name = name.map(str::trim).unwrap_or_default().to_ascii_lowercase();
        Ok(Self(match name.as_str() {
            "" | "identity" => Decoder::Identity,
            "gzip" | "x-gzip" => Decoder::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Decoder::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
            other => {
                return Err(format!(
                    "The server used the unsupported content encoding \"{other}\""
                ));
            }
        }))
    }

    /// Decodes a chunk and passes the result to `out`.
    pub fn decode(&mut self, bytes: &[u8], out: impl FnOnce(&[u8])) -> Result<(), std::io::Error> {
        let decoded = match &mut self.0 {
            Decoder::Identity => {
                out(bytes);
                return Ok(());
            }
            Decoder::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Decoder::Deflate(decoder) => {
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
    pub fn finish(&mut self, out: impl FnOnce(&[u8])) -> Result<(), std::io::Error> {
        match &mut self.0 {
            Decoder::Identity => {}
            Decoder::Gzip(decoder) => {
                decoder.try_finish()?;
                out(decoder.get_ref());
            }
            Decoder::Deflate(decoder) => {
                decoder.try_finish()?;
                out(decoder.get_ref());
            }
        }
        Ok(())
    }
}
