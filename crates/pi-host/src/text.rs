//! Untrusted text as one line: names, prompts and paths that other programs or models wrote.

/// Returns a text as one line of at most `width` characters, without control characters.
pub fn line(text: &str, width: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Returns the first characters of an id, without control characters.
pub fn id(id: &str, length: usize) -> String {
    id.chars().filter(|c| !c.is_control()).take(length).collect()
}

/// Returns a number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_joined_and_cut() {
        let cases = [("a\n b\u{1b}[0m", 10, "a b[0m"), ("abcdef", 4, "abc…"), ("äöü", 3, "äöü")];
        for (text, width, expected) in cases {
            assert_eq!(line(text, width), expected);
        }
    }
}
