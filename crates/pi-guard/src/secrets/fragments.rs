//! Fragments of known values, in any common encoding and with anything between their characters.
//!
//! A text and every form of a value are compared as sequences of lower-case letters and digits;
//! everything else is skipped. So a form is found if it is spaced, folded, quoted, cut in pieces or
//! full of invisible characters, and escapes such as `%73` and `\x73` are digits with separators.
//! The same is done for other [`views`] of the text. A fragment counts if it has [`LEAST`] characters
//! in a row, or [`LEAST_PLAIN`] of the value itself. The search is linear: a rolling hash of the last
//! few characters is looked up among those of all forms.

use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::random::looks_random;
use super::views::{self, Symbol};
use super::{Kind, Span};

/// Characters in a row that make a fragment. Random text of this length does not occur by chance.
const LEAST: usize = 16;
/// The same for a form with all letters and digits. Numbers occur by chance much sooner.
const LEAST_PLAIN: usize = 12;
/// Characters of a hash. A fragment is a row of known hashes.
const WINDOW: usize = 12;
/// Bytes of a value that are searched for: some tokens are very long.
const MOST: usize = 512;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hashes of all fragments of known values.
#[derive(Default)]
pub(super) struct Fragments {
    windows: HashMap<u64, Window>,
    /// One bit per hash, to reject nearly all text quickly.
    filter: Vec<u64>,
}

/// The last characters of a fragment of a form.
#[derive(Clone, Copy)]
struct Window {
    kind: Kind,
    /// Least length of a fragment of the form.
    least: usize,
}

impl Fragments {
    /// Collects the fragments of values. Values that might be words or numbers have none.
    pub(super) fn of<'a>(values: impl Iterator<Item = (&'a str, Kind)>) -> Self {
        let mut windows = HashMap::new();
        for (value, kind) in values {
            for (form, least) in forms(value) {
                let mut rolling = Rolling::default();
                for byte in form.bytes() {
                    if let Some(hash) = rolling.push(byte) {
                        windows.entry(hash).or_insert(Window { kind, least });
                    }
                }
            }
        }
        let words = (windows.len() / 4).next_power_of_two();
        let mut fragments = Self { windows, filter: vec![0; words] };
        for hash in fragments.windows.keys() {
            let (word, bit) = place(*hash, words);
            fragments.filter[word] |= bit;
        }
        fragments
    }

    /// Adds the fragments in a text.
    pub(super) fn find(&self, text: &str, spans: &mut Vec<Span>) {
        if self.windows.is_empty() {
            return;
        }
        self.search(spans, |search| views::plain(text, |symbol| search.push(symbol)));
        if views::needs_tidying(text) {
            self.search(spans, |search| views::tidied(text, |symbol| search.push(symbol)));
        }
        let (has_groups, has_long_rows) = views::binary_digits(text);
        let shifts = if has_long_rows { 0..8 } else { 0..usize::from(has_groups) };
        for shift in shifts {
            self.search(spans, |search| views::binary(text, shift, |symbol| search.push(symbol)));
        }
    }

    /// Searches one view of a text.
    fn search(&self, spans: &mut Vec<Span>, view: impl FnOnce(&mut Search<'_>)) {
        let (rolling, symbols) = (Rolling::default(), [0; WINDOW]);
        let mut search =
            Search { fragments: self, spans, rolling, starts: symbols, seen: 0, row: None };
        view(&mut search);
        let row = search.row.take();
        spans.extend(row.and_then(Row::span));
    }

    fn window(&self, hash: u64) -> Option<Window> {
        let (word, bit) = place(hash, self.filter.len());
        if self.filter[word] & bit == 0 {
            return None;
        }
        self.windows.get(&hash).copied()
    }
}

/// The search in one view.
struct Search<'a> {
    fragments: &'a Fragments,
    spans: &'a mut Vec<Span>,
    rolling: Rolling,
    /// Places of the last symbols.
    starts: [usize; WINDOW],
    seen: usize,
    row: Option<Row>,
}

impl Search<'_> {
    fn push(&mut self, symbol: Symbol) {
        self.starts[self.seen % WINDOW] = symbol.start;
        self.seen += 1;
        let hash = self.rolling.push(symbol.byte);
        let window = hash.and_then(|hash| self.fragments.window(hash));
        match (window, &mut self.row) {
            (Some(window), Some(row)) => {
                (row.windows, row.end) = (row.windows + 1, symbol.end);
                row.least = row.least.min(window.least);
            }
            (Some(Window { kind, least }), none) => {
                let start = self.starts[self.seen % WINDOW];
                *none = Some(Row { start, end: symbol.end, windows: 1, kind, least });
            }
            (None, _) => self.spans.extend(self.row.take().and_then(Row::span)),
        }
    }
}

/// Known hashes in a row.
struct Row {
    start: usize,
    end: usize,
    windows: usize,
    kind: Kind,
    least: usize,
}

impl Row {
    fn span(self) -> Option<Span> {
        let is_fragment = self.windows + WINDOW > self.least;
        is_fragment.then_some(Span { start: self.start, end: self.end, kind: self.kind })
    }
}

/// Returns the word and the bit of a hash in a filter, whose length is a power of two.
fn place(hash: u64, words: usize) -> (usize, u64) {
    let mixed = (hash ^ (hash >> 29)).wrapping_mul(FACTOR);
    let word = (mixed >> 32) as usize & (words - 1);
    (word, 1 << (mixed & 63))
}

/// A hash of the last [`WINDOW`] bytes.
#[derive(Default)]
struct Rolling {
    hash: u64,
    last: [u8; WINDOW],
    count: usize,
}

impl Rolling {
    /// Adds a byte. Returns the hash once there are enough.
    fn push(&mut self, byte: u8) -> Option<u64> {
        const OUT: u64 = FACTOR.wrapping_pow(WINDOW as u32);
        let slot = &mut self.last[self.count % WINDOW];
        let oldest = std::mem::replace(slot, byte);
        self.hash = self
            .hash
            .wrapping_mul(FACTOR)
            .wrapping_add(u64::from(byte))
            .wrapping_sub(OUT.wrapping_mul(u64::from(oldest)));
        self.count += 1;
        (self.count >= WINDOW).then_some(self.hash)
    }
}

/// Returns a value in each encoding, as lower-case letters and digits, with the least length of a
/// fragment.
fn forms(value: &str) -> Vec<(String, usize)> {
    let is_random = looks_random(value);
    if !is_random && value.len() < LEAST {
        return Vec::new();
    }
    let bytes = &value.as_bytes()[..value.len().min(MOST)];
    let mut plain = Vec::new();
    // Words occur in other texts, too.
    if is_random {
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        let rotated: Vec<u8> = bytes.iter().map(|byte| rot13(*byte)).collect();
        plain.extend([squeezed(bytes), squeezed(&reversed), squeezed(&rotated)]);
    }
    let mut forms = Vec::new();
    // `736b`, `\x73`, `0x73`, `\u0073`, `\u{73}`, `115`, `\163`, `\55`, `0163`
    let numbers: [fn(&mut String, u8) -> std::fmt::Result; 9] = [
        |out, byte| write!(out, "{byte:02x}"),
        |out, byte| write!(out, "x{byte:02x}"),
        |out, byte| write!(out, "0x{byte:02x}"),
        |out, byte| write!(out, "u00{byte:02x}"),
        |out, byte| write!(out, "u{byte:02x}"),
        |out, byte| write!(out, "{byte}"),
        |out, byte| write!(out, "{byte:03o}"),
        |out, byte| write!(out, "{byte:o}"),
        |out, byte| write!(out, "0{byte:o}"),
    ];
    for number in numbers {
        let mut form = String::new();
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = number(&mut form, *byte);
        }
        forms.push(form);
    }
    // Dumps in words of two bytes, the second first.
    for aligned in [bytes, bytes.get(1..).unwrap_or_default()] {
        let mut form = String::new();
        for pair in aligned.chunks_exact(2) {
            let _ = write!(form, "{:02x}{:02x}", pair[1], pair[0]);
        }
        forms.push(form);
    }
    for once in base64_cores(bytes) {
        forms.extend(base64_cores(once.as_bytes()).iter().map(|twice| squeezed(twice.as_bytes())));
        forms.push(squeezed(once.as_bytes()));
    }
    forms.extend((0..5).map(|shift| base32_core(bytes, shift)));
    forms.extend(other_bases(bytes));
    let plain = plain.into_iter().map(|form| (form, LEAST_PLAIN));
    plain.chain(forms.into_iter().map(|form| (form, LEAST))).collect()
}

/// Keeps letters and digits, in lower case.
fn squeezed(bytes: &[u8]) -> String {
    let kept = bytes.iter().filter(|byte| byte.is_ascii_alphanumeric());
    kept.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

fn rot13(byte: u8) -> u8 {
    let first = if byte.is_ascii_lowercase() { b'a' } else { b'A' };
    if byte.is_ascii_alphabetic() { first + (byte - first + 13) % 26 } else { byte }
}

/// Returns bytes in base64 at each of the three alignments, without the characters that also depend
/// on neighboring bytes: each has six bits.
pub(super) fn base64_cores(bytes: &[u8]) -> Vec<String> {
    let core = |shift: usize| {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(bytes);
        let (first, last) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
        STANDARD_NO_PAD.encode(&shifted).get(first..last).map(str::to_owned)
    };
    (0..3).filter_map(core).collect()
}

/// Returns bytes in base32 after `shift` other bytes, without the characters that also depend on
/// those: each has five bits.
fn base32_core(bytes: &[u8], shift: usize) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let (mut core, mut bits, mut count) = (String::new(), 0_u32, 0);
    // Bits of the first byte that end the last character of the bytes before.
    let skipped = (shift * 8).div_ceil(5) * 5 - shift * 8;
    let mut skip = skipped;
    for byte in bytes {
        (bits, count) = (bits << 8 | u32::from(*byte), count + 8);
        if skip > 0 {
            (count, skip) = (count - skip, 0);
        }
        while count >= 5 {
            count -= 5;
            core.push(char::from(DIGITS[(bits >> count) as usize & 31]));
        }
        bits &= (1 << count) - 1;
    }
    core
}

/// Returns the forms of bytes in base85, of three alphabets, and in the encoding of `uuencode`, each
/// after other bytes that fill a part of the first group. Groups that depend on other bytes are left
/// out.
fn other_bases(bytes: &[u8]) -> Vec<String> {
    const PLAIN: &[u8] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    const ZERO_MQ: &[u8] =
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let of_alphabet = |alphabet: &[u8], digit: u32| alphabet.get(digit as usize).copied();
    let ascii = |digit: u32| u8::try_from(digit + 33).ok();
    let mut forms = Vec::new();
    for start in 0..4.min(bytes.len()) {
        let groups = || bytes[start..].chunks_exact(4).map(|group| digits(group, 85, 5));
        let with = |byte: &dyn Fn(u32) -> Option<u8>| {
            let encoded: Vec<u8> = groups().flatten().filter_map(byte).collect();
            squeezed(&encoded)
        };
        forms.push(with(&|digit| of_alphabet(PLAIN, digit)));
        forms.push(with(&|digit| of_alphabet(ZERO_MQ, digit)));
        forms.push(with(&ascii));
        let groups = bytes[start..].chunks_exact(3).flat_map(|group| digits(group, 64, 4));
        let encoded: Vec<u8> = groups.filter_map(|digit| u8::try_from(digit + 32).ok()).collect();
        forms.push(squeezed(&encoded));
    }
    forms
}

/// Returns the digits of a group of bytes, the highest first.
fn digits(group: &[u8], base: u32, count: usize) -> Vec<u32> {
    let mut number = group.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let mut digits = vec![0; count];
    for digit in digits.iter_mut().rev() {
        (*digit, number) = (number % base, number / base);
    }
    digits
}
