//! Telling randomly generated texts from names, numbers and stand-ins.

/// Returns true for a letter, a digit or `_`.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Parts of texts that stand in for a secret in examples and code.
const STAND_INS: &[&str] = &[
    "xxxx",
    "your",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "redacted",
    "insert",
    "replace",
    "dummy",
    "sample",
    "****",
    "....",
    "todo",
    "0000000",
    "0123456789abcdef",
    "abcdefgh",
    "masked",
    "process.env",
    "os.environ",
    "getenv",
];

/// Returns true if the text only stands in for a secret: `your-key-here`, `xxxx`, `AKIA…EXAMPLE`.
pub(super) fn is_stand_in(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if STAND_INS.iter().any(|known| lower.contains(known)) {
        return true;
    }
    let mut seen = [false; 256];
    lower.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count() < 6
}

/// Returns true if the text looks random: letters and digits, mixed more than in a name or number.
pub fn looks_random(text: &str) -> bool {
    let long = text.len();
    if !(12..=4096).contains(&long) || is_stand_in(text) {
        return false;
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    if digits < 2 || letters < 2 || entropy(text) < 2.9 {
        return false;
    }
    // Names consist of words; in random text the kind of character changes all the time.
    (digits + letters) * 2 <= runs(text) * 7
}

/// Returns the entropy in bits per byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / all)
        .map(|share| -share * share.log2())
        .sum()
}

/// Counts the words and numbers in the text; `camelCase` counts as two.
fn runs(text: &str) -> usize {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Lower,
        Upper,
        Digit,
        Other,
    }
    let mut before = Class::Other;
    let mut runs = 0;
    for byte in text.bytes() {
        let class = match byte {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            _ => Class::Other,
        };
        let continues = class == before || (before == Class::Upper && class == Class::Lower);
        runs += usize::from(class != Class::Other && !continues);
        before = class;
    }
    runs
}

/// Returns true for a UUID, which is nearly always an identifier and not a secret.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
