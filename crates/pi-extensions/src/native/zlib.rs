//! Compression: gzip, zlib and raw deflate, in steps.

use std::cell::RefCell;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::{
    DeflateDecoder, DeflateEncoder, GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder,
};

use crate::error::NativeError;
use crate::host::{Natives, function};

/// Input of one step, so that the limit of the output is checked in time.
const STEP: usize = 16 << 10;

/// A coder; the output of each step is taken from it.
enum Coder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    DeflateRaw(DeflateEncoder<Vec<u8>>),
    Gunzip(MultiGzDecoder<Vec<u8>>),
    Inflate(ZlibDecoder<Vec<u8>>),
    InflateRaw(DeflateDecoder<Vec<u8>>),
    /// Gzip or zlib, by the first byte.
    Unzip,
}

macro_rules! each {
    ($coder:expr, $inner:ident => $do:expr) => {
        match $coder {
            Coder::Gzip($inner) => $do,
            Coder::Deflate($inner) => $do,
            Coder::DeflateRaw($inner) => $do,
            Coder::Gunzip($inner) => $do,
            Coder::Inflate($inner) => $do,
            Coder::InflateRaw($inner) => $do,
            Coder::Unzip => Ok(()),
        }
    };
}

impl Coder {
    fn named(name: &str, level: Option<u32>) -> Option<Self> {
        let level = level.map_or_else(Compression::default, |level| Compression::new(level.min(9)));
        Some(match name {
            "gzip" => Self::Gzip(GzEncoder::new(Vec::new(), level)),
            "deflate" => Self::Deflate(ZlibEncoder::new(Vec::new(), level)),
            "deflateRaw" => Self::DeflateRaw(DeflateEncoder::new(Vec::new(), level)),
            "gunzip" => Self::Gunzip(MultiGzDecoder::new(Vec::new())),
            "inflate" => Self::Inflate(ZlibDecoder::new(Vec::new())),
            "inflateRaw" => Self::InflateRaw(DeflateDecoder::new(Vec::new())),
            "unzip" => Self::Unzip,
            _ => return None,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if matches!(self, Self::Unzip) {
            let Some(first) = bytes.first() else { return Ok(()) };
            let name = if *first == 0x1f { "gunzip" } else { "inflate" };
            *self = Self::named(name, None).unwrap_or(Self::Unzip);
        }
        each!(self, coder => coder.write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        each!(self, coder => coder.flush())
    }

    fn finish(&mut self) -> io::Result<()> {
        each!(self, coder => coder.try_finish())
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Gzip(coder) => std::mem::take(coder.get_mut()),
            Self::Deflate(coder) => std::mem::take(coder.get_mut()),
            Self::DeflateRaw(coder) => std::mem::take(coder.get_mut()),
            Self::Gunzip(coder) => std::mem::take(coder.get_mut()),
            Self::Inflate(coder) => std::mem::take(coder.get_mut()),
            Self::InflateRaw(coder) => std::mem::take(coder.get_mut()),
            Self::Unzip => Vec::new(),
        }
    }
}

pub(super) const FUNCTIONS: Natives = &[
    // `create(name, level, limit)` returns `step(bytes, mode)`, which returns the output so far.
    // `mode` is `write`, `flush` or `finish`.
    ("create", |call| {
        let (name, limit) = (call.text(0)?, call.size(2)?);
        let coder = Coder::named(&name, call.optional_id(1)?)
            .ok_or_else(|| NativeError::new(format!("no coder {name}")))?;
        let state = RefCell::new((coder, 0_usize));
        let step = function(call.ctx(), call.host, move |call| {
            let mut state = state.borrow_mut();
            let (coder, produced) = &mut *state;
            call.reply(step(coder, produced, &call.bytes(0)?, &call.text(1)?, limit)?)
        })?;
        Ok(step.into_value())
    }),
    ("crc32", |call| call.reply(checksum(&call.bytes(0)?, call.id(1)?))),
];

fn checksum(bytes: &[u8], start: u32) -> u32 {
    if start == 0 {
        let mut sum = flate2::Crc::new();
        sum.update(bytes);
        return sum.sum();
    }
    // A checksum continues only bitwise: the crate starts at zero.
    bytes.iter().fold(!start, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg())
        })
    }) ^ u32::MAX
}

fn step(
    coder: &mut Coder,
    produced: &mut usize,
    bytes: &[u8],
    mode: &str,
    limit: usize,
) -> Result<Vec<u8>, NativeError> {
    let mut output = Vec::new();
    let mut take = |coder: &mut Coder| {
        let part = coder.take();
        *produced += part.len();
        output.extend_from_slice(&part);
        if *produced > limit {
            return Err(NativeError::of(
                "RangeError",
                format!("Cannot create a Buffer larger than {limit} bytes"),
            )
            .with("code", "ERR_BUFFER_TOO_LARGE"));
        }
        Ok(())
    };
    for part in bytes.chunks(STEP) {
        coder.write(part).map_err(|error| failure(&error))?;
        take(coder)?;
    }
    match mode {
        "finish" => {
            // What came before was valid, so that the rest is missing. A short text that is not
            // gzip at all is found here too.
            let is_other = matches!(coder, Coder::Gunzip(_))
                && !bytes.is_empty()
                && !bytes.starts_with(&[0x1f, 0x8b]);
            let found = if is_other {
                io::Error::other("invalid header")
            } else {
                io::ErrorKind::UnexpectedEof.into()
            };
            coder.finish().map_err(|_| failure(&found))?;
        }
        "flush" => coder.flush().map_err(|error| failure(&error))?,
        _ => {}
    }
    take(coder)?;
    Ok(output)
}

/// Describes an error in the words of zlib.
fn failure(error: &io::Error) -> NativeError {
    let text = error.to_string();
    let (message, code, number) = match error.kind() {
        io::ErrorKind::UnexpectedEof => ("unexpected end of file", "Z_BUF_ERROR", -5),
        _ if text.contains("header") => ("incorrect header check", "Z_DATA_ERROR", -3),
        _ if text.contains("corrupt") => ("invalid stored block lengths", "Z_DATA_ERROR", -3),
        _ => (text.as_str(), "Z_DATA_ERROR", -3),
    };
    NativeError::new(message).with("errno", number).with("code", code)
}
