//! Texts of servers, made safe to show.

use pi_base::text::{cut, one_line};

/// Longest text of a server that is shown.
const MAX_CHARS: usize = 300;

/// Returns a text of a server in one line, without invisible characters and with a limited length.
pub(super) fn clean(text: &str) -> String {
    cut(&one_line(text), MAX_CHARS).into_owned()
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
        assert_eq!(clean("a\u{1b}[2Jb\r\nc\u{9b}d\u{202e}e\u{e0041}\0"), "a[2Jb cde");
        assert_eq!(clean(&"x".repeat(1000)).chars().count(), MAX_CHARS + 1);
        assert_eq!(clean("  "), "");
    }

    #[test]
    fn pages_cannot_be_injected() {
        assert_eq!(escape_html("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
