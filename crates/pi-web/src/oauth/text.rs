//! Texts of servers, made safe to show.

/// Longest text of a server that is shown.
const MAX_CHARS: usize = 300;

/// Returns a text of a server in one line, without control characters and with a limited length.
pub(super) fn clean(text: &str) -> String {
    let visible = text.chars().map(|one| if one.is_control() { ' ' } else { one });
    let visible: String = visible.filter(|one| !is_format(*one)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns true for characters that change the direction or the look of the text around them.
fn is_format(one: char) -> bool {
    matches!(one, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Escapes a text for HTML.
pub(super) fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_control_a_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\r\nc\u{9b}d\u{202e}e\0"), "a [2Jb c de");
        assert_eq!(clean(&"x".repeat(1000)).chars().count(), MAX_CHARS + 1);
        assert_eq!(clean("  "), "");
    }

    #[test]
    fn pages_cannot_be_injected() {
        assert_eq!(escape_html("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
