//! Texts of servers in errors and notes: bounded, and without control characters.
//!
//! An error goes to logs, to screens and to models, and a server decides how long its message is.

/// The longest text, in bytes.
const LONGEST: usize = 4 << 10;

/// Returns a text as it can be shown. Line breaks and tabs stay.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LONGEST));
    for c in text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()) {
        if shown.len() + c.len_utf8() > LONGEST {
            shown.push('…');
            break;
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_has_no_control_characters() {
        assert_eq!(shown("a\u{1b}[2J\r\nb\u{9b}"), "a[2J\nb");
        let long = shown(&"ä".repeat(1 << 20));
        assert!(long.len() <= LONGEST + 3 && long.ends_with("ä…"), "{}", long.len());
    }
}
