//! Bytes and texts: what `Buffer`, `TextEncoder` and `TextDecoder` need from Rust.

#![allow(clippy::needless_pass_by_value)] // The engine hands over the arguments of a function.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::host::Host;
use crate::value::Bytes;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("encode", Function::new(ctx.clone(), encode)?)?;
    object.set("decode", Function::new(ctx.clone(), decode)?)?;
    object.set("utf8Length", Function::new(ctx.clone(), |text: String| text.len())?)?;
    object.set(
        "isUtf8",
        Function::new(ctx.clone(), |bytes: Bytes| std::str::from_utf8(&bytes.0).is_ok())?,
    )?;
    object
        .set("compare", Function::new(ctx.clone(), |a: Bytes, b: Bytes| a.0.cmp(&b.0) as i32)?)?;
    object.set("find", Function::new(ctx.clone(), find)?)?;
    object.set("encodingName", Function::new(ctx.clone(), encoding_name)?)?;
    object.set("completeLength", Function::new(ctx.clone(), complete_length)?)?;
    object.set(
        "decodeText",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, bytes: Bytes, name: String, fatal: bool| {
            let encoding = encoding_rs::Encoding::for_label(name.as_bytes())
                .ok_or_else(|| NativeError::new(format!("no encoding {name}")).throw(&ctx))?;
            let (text, had_errors) = encoding.decode_without_bom_handling(&bytes.0);
            Ok::<_, rquickjs::Error>((!(fatal && had_errors)).then(|| text.into_owned()))
        })?,
    )?;
    Ok(object)
}

/// Returns the bytes of a text. Invalid input ends `hex` and is skipped in `base64`, as in Node.
fn encode(text: String, encoding: String) -> Bytes {
    match encoding.as_str() {
        "hex" => {
            let pairs = text.as_bytes().chunks_exact(2);
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let byte = |pair: &[u8]| {
                let (high, low) = (digit(*pair.first()?)?, digit(*pair.get(1)?)?);
                u8::try_from(high * 16 + low).ok()
            };
            Bytes(pairs.map_while(byte).collect())
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
            Bytes(LENIENT.decode(plain).unwrap_or_default())
        }
        _ => Bytes(text.into_bytes()),
    }
}

/// Returns the text of bytes.
fn decode(bytes: Bytes, encoding: String) -> String {
    let bytes = bytes.0;
    match encoding.as_str() {
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

/// Returns the place of `part` in `bytes` from `at` on, or up to `at`; -1 without one.
fn find(bytes: Bytes, part: Bytes, at: usize, is_last: bool) -> i64 {
    let found = if is_last {
        let end = at.saturating_add(part.0.len()).min(bytes.0.len());
        let before = bytes.0.get(..end).unwrap_or_default();
        memchr::memmem::rfind(before, &part.0)
    } else {
        let rest = bytes.0.get(at..).unwrap_or_default();
        memchr::memmem::find(rest, &part.0).map(|found| found + at)
    };
    found.and_then(|found| i64::try_from(found).ok()).unwrap_or(-1)
}

/// Returns the name of an encoding by a label of the web.
fn encoding_name(label: String) -> Option<String> {
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes())?;
    (encoding != encoding_rs::REPLACEMENT).then(|| encoding.name().to_ascii_lowercase())
}

/// Returns the number of bytes before an incomplete last character.
fn complete_length(bytes: Bytes, encoding: String) -> usize {
    let bytes = bytes.0;
    match encoding.as_str() {
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
            let found = complete_length(Bytes(bytes.to_vec()), (*encoding).to_owned());
            assert_eq!(found, *expected, "{bytes:?}");
        }
    }
}
