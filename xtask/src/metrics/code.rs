//! Code without comments and literals, and the functions and public items in it.
//!
//! A scanner, not a parser: it knows comments, strings and braces, which is enough to count lines
//! and functions of code that rustfmt has formatted. Pure.

/// The first words of an item after `pub`. Modules and re-exports add no item.
const ITEMS: &[&str] = &[
    "async", "const", "enum", "extern", "fn", "static", "struct", "trait", "type", "union",
    "unsafe",
];

/// Returns the code of `text` line by line: comments become spaces, the insides of strings and
/// characters become `_`.
pub(super) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (taken, filler) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), ' '),
            '/' if rest.starts_with("/*") => (block_comment(rest), ' '),
            '"' => (string(rest), '_'),
            'r' | 'b' | 'c' if !ends_in_word(&out) && raw_string(rest).is_some() => {
                (raw_string(rest).unwrap_or(1), '_')
            }
            '\'' if character(rest).is_some() => (character(rest).unwrap_or(1), '_'),
            _ => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        let (token, after) = rest.split_at(taken);
        out.extend(token.chars().map(|c| if c == '\n' { '\n' } else { filler }));
        rest = after;
    }
    out
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The length of a comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string with escapes.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of `r#"..."#` and its relatives.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - inside.len();
    Some(inside.find(&end).map_or(text.len(), |at| before + at + end.len()))
}

/// The length of a character. `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let inside = &text[1..];
    let first = inside.chars().next()?;
    if first == '\\' {
        let escape = inside[1..].chars().next()?.len_utf8();
        return inside[1 + escape..].find('\'').map(|at| 1 + 1 + escape + at + 1);
    }
    inside[first.len_utf8()..].starts_with('\'').then_some(2 + first.len_utf8())
}

/// Counts lines that are neither blank nor only a comment.
pub(super) fn code_lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Counts functions, types, traits, constants and statics that are `pub` without a restriction.
pub(super) fn public_items(code: &str) -> usize {
    let is_item = |line: &&str| {
        let item = line.trim_start().strip_prefix("pub ");
        let word = item.and_then(|item| item.split_whitespace().next());
        word.is_some_and(|word| ITEMS.contains(&word))
    };
    code.lines().filter(is_item).count()
}

/// Returns the number of lines of each function that has a body.
pub(super) fn function_lengths(code: &str) -> Vec<usize> {
    let keywords = code.match_indices("fn ").filter(|(at, _)| !ends_in_word(&code[..*at]));
    keywords.filter_map(|(at, _)| length(&code[at..])).collect()
}

/// The lines of the function that starts here; `None` without a body.
fn length(code: &str) -> Option<usize> {
    let mut lines = 1;
    // Braces, and the parentheses and brackets before the body.
    let (mut braces, mut others) = (0_usize, 0_usize);
    for c in code.chars() {
        match c {
            '\n' => lines += 1,
            '(' | '[' if braces == 0 => others += 1,
            ')' | ']' if braces == 0 => others = others.saturating_sub(1),
            ';' if braces == 0 && others == 0 => return None,
            '{' if others == 0 => braces += 1,
            '}' if braces > 0 => {
                braces -= 1;
                if braces == 0 {
                    return Some(lines);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_removed() {
        for (text, expected) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c\n */ */ d", "a          \n       d"),
            (r#"a("{\"}")"#, "a(______)"),
            ("a(r#\"}\"{\"#, b\"{\")", "a(________, b___)"),
            ("'{' '\\'' '\\u{7b}' &'a str", "___ ____ ________ &'a str"),
            ("'ä'", "___"),
            ("for r in br { c }", "for r in br { c }"),
            ("\"open", "_____"),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_and_items_are_counted() {
        let code = code(
            "//! File.\n\npub fn a() {}\n    pub async fn b() {}\npub(crate) fn c() {}\npub use d;\n\
             pub struct E {\n    pub field: u8,\n}\n/* pub fn f() {} */\npub const G: u8 = 1;\n",
        );
        assert_eq!(public_items(&code), 4);
        assert_eq!(code_lines(&code), 8);
    }

    #[test]
    fn functions_end_with_their_brace() {
        let code = code(
            "fn a() {}\nfn b(\n    c: [u8; 2],\n) -> u8 {\n    if d { e(\"}\") }\n}\n\
             trait F {\n    fn g(&self);\n}\ntype H = fn (u8);\nlet often = 1;\n",
        );
        assert_eq!(function_lengths(&code), [1, 5]);
    }
}
