//! The parts of an answer that can be copied on their own: its code blocks.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The name of the part.
    pub(crate) label: String,
    /// The beginning of the text.
    pub(crate) preview: String,
    pub(crate) text: String,
}

/// Returns the answer as a whole and then its code blocks.
pub(crate) fn parts(answer: &str) -> Vec<Part> {
    let mut parts = vec![part("Whole answer".to_owned(), answer)];
    let mut code: Option<(String, String)> = None;
    for event in Parser::new(answer) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split(' ').next().unwrap_or("").to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                code = Some((language, String::new()));
            }
            Event::Text(text) => {
                if let Some((_, code)) = &mut code {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, code)) = code.take() {
                    let label = format!("Code block {} {language}", parts.len());
                    parts.push(part(label.trim_end().to_owned(), &code));
                }
            }
            _ => {}
        }
    }
    parts
}

fn part(label: String, text: &str) -> Part {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Part { label, preview: first.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn code_blocks_of_an_answer_are_parts() {
        let answer =
            "Look:\n\n```rust\nfn f() {}\n```\n\ntext\n\n- item\n\n  ```\n  a\n  b\n  ```\n";
        let found = parts(answer);
        let shown: Vec<(&str, &str)> =
            found.iter().map(|part| (part.label.as_str(), part.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("Whole answer", answer),
                ("Code block 1 rust", "fn f() {}\n"),
                ("Code block 2", "a\nb\n"),
            ]
        );
        assert_eq!(parts("no code").len(), 1);
    }
}
