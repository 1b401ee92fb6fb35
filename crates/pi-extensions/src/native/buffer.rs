//! Bytes and texts: what `Buffer`, `TextEncoder` and `TextDecoder` need from Rust.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::NativeError;
use crate::host::Natives;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) const FUNCTIONS: Natives = &[
    ("encode", |call| call.reply(encode(call.text(0)?, &call.text(1)?))),
    ("decode", |call| call.reply(decode(call.bytes(0)?, &call.text(1)?))),
    ("utf8Length", |call| call.reply(call.text(0)?.len())),
    ("isUtf8", |call| call.reply(std::str::from_utf8(&call.bytes(0)?).is_ok())),
    ("compare", |call| call.reply(call.bytes(0)?.cmp(&call.bytes(1)?) as i32)),
    ("find", |call| {
        let found = find(&call.bytes(0)?, &call.bytes(1)?, call.size(2)?, call.flag(3)?);
        call.reply(found.map_or(-1.0, |found| found as f64))
    }),
    ("encodingName", |call| call.reply(encoding_name(&call.text(0)?))),
    ("completeLength", |call| call.reply(complete_length(&call.bytes(0)?, &call.text(1)?))),
    ("decodeText", |call| {
        let (bytes, name, fatal) = (call.bytes(0)?, call.text(1)?, call.flag(2)?);
        let encoding = encoding_rs::Encoding::for_label(name.as_bytes())
            .ok_or_else(|| NativeError::new(format!("no encoding {name}")))?;
        let (text, had_errors) = encoding.decode_without_bom_handling(&bytes);
        call.reply((!(fatal && had_errors)).then(|| text.into_owned()))
    }),
];

/// Returns the bytes of a text. Invalid input ends `hex` and is skipped in `base64`, as in Node.
fn encode(text: String, encoding: &str) -> Vec<u8> {
    match encoding {
        "hex" => {
            let pairs = text.as_bytes().chunks_exact(2);
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let byte = |pair: &[u8]| {
                let (high, low) = (digit(*pair.first()?)?, digit(*pair.get(1)?)?);
                u8::try_from(high * 16 + low).ok()
            };
            pairs.map_while(byte).collect()
        }
        "base64" => {
            let body = text.split('=').next().unwrap_or_default();
            let plain = body.bytes().filter_map(|byte| match byte {
                b'-' => Some(b'+'),
                b'_' => Some(b'/'),
                b'+' | b'/' => Some(byte),
                _ => byte.is_ascii_alphanumeric().then_some(byte),
            });
            let mut plain: Vec<u8> = plain.collect();
            // A single last digit has less than a byte.
            if plain.len() % 4 == 1 {
                plain.pop();
            }
            LENIENT.decode(plain).unwrap_or_default()
        }
        _ => text.into_bytes(),
    }
}

/// Returns the text of bytes.
fn decode(bytes: Vec<u8>, encoding: &str) -> String {
    match encoding {
        "hex" => bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit).collect(),
        "base64" => base64::engine::general_purpose::STANDARD.encode(bytes),
        "base64url" => base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        "latin1" => bytes.into_iter().map(char::from).collect(),
        "ascii" => bytes.into_iter().map(|byte| char::from(byte & 127)).collect(),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

/// Returns the place of `part` in `bytes` from `at` on, or up to `at`.
fn find(bytes: &[u8], part: &[u8], at: usize, is_last: bool) -> Option<usize> {
    if is_last {
        let end = at.saturating_add(part.len()).min(bytes.len());
        return memchr::memmem::rfind(bytes.get(..end).unwrap_or_default(), part);
    }
    let rest = bytes.get(at..).unwrap_or_default();
    memchr::memmem::find(rest, part).map(|found| found + at)
}

/// Returns the name of an encoding by a label of the web.
fn encoding_name(label: &str) -> Option<String> {
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes())?;
    (encoding != encoding_rs::REPLACEMENT).then(|| encoding.name().to_ascii_lowercase())
}

/// Returns the number of bytes before an incomplete last character.
fn complete_length(bytes: &[u8], encoding: &str) -> usize {
    match encoding {
        "utf-8" => {
            let tail = bytes.len().saturating_sub(3);
            let rest = bytes.get(tail..).unwrap_or_default();
            let start = rest.iter().rposition(|byte| byte & 0xC0 != 0x80);
            let Some(start) = start else { return bytes.len() };
            let incomplete = match std::str::from_utf8(rest.get(start..).unwrap_or_default()) {
                Ok(_) => false,
                // No length: the bytes end where more could follow.
                Err(error) => error.error_len().is_none(),
            };
            if incomplete { tail + start } else { bytes.len() }
        }
        "utf-16le" | "utf-16be" => {
            let whole = bytes.len() - bytes.len() % 2;
            let high =
                if encoding == "utf-16le" { whole.wrapping_sub(1) } else { whole.wrapping_sub(2) };
            let is_surrogate = bytes.get(high).is_some_and(|byte| (0xD8..0xDC).contains(byte));
            if is_surrogate { whole - 2 } else { whole }
        }
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_characters_wait() {
        let rows: &[(&[u8], &str, usize)] = &[
            (b"abc", "utf-8", 3),
            (b"a\xc3", "utf-8", 1),
            (b"a\xe2\x82", "utf-8", 1),
            (b"\xf0\x9f\x98", "utf-8", 0),
            (b"a\xff", "utf-8", 2),
            (b"a\x80", "utf-8", 2),
            (b"", "utf-8", 0),
            (b"A\0\x3d\xd8", "utf-16le", 2),
            (b"A\0B", "utf-16le", 2),
        ];
        for (bytes, encoding, expected) in rows {
            let found = complete_length(bytes, encoding);
            assert_eq!(found, *expected, "{bytes:?}");
        }
    }
}
