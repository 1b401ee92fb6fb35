//! Texts of servers in errors and notes: bounded, and without invisible characters.
//!
//! An error goes to logs, to screens and to models, and a server decides how long its message is.

use pi_base::text;

/// The longest text, in bytes.
const LONGEST: usize = 4 << 10;

/// Returns a text as it can be shown. Line breaks and tabs stay.
pub(crate) fn shown(text: &str) -> String {
    text::cut_bytes(&text::clean(text), LONGEST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_visible() {
        assert_eq!(shown("a\u{1b}[2J\r\nb\u{9b}\u{202e}\u{e0041}"), "a[2J\nb");
        let long = shown(&"ä".repeat(1 << 20));
        assert!(long.len() <= LONGEST + 3 && long.ends_with("ä…"), "{}", long.len());
    }
}
