//! The part of a prompt that the user wrote, without attached files.

/// Returns the text after the files that a prompt begins with (`<file name="…">…</file>`), or the
/// whole text if there is nothing else.
pub(crate) fn own_words(text: &str) -> &str {
    let (_, own) = split_files(text);
    if own.trim().is_empty() { text } else { own }
}

/// Splits a prompt into the files at its beginning and the rest.
pub(crate) fn split_files(text: &str) -> (&str, &str) {
    const END: &str = "</file>\n";
    if !text.starts_with("<file name=\"") {
        return ("", text);
    }
    // The last end: files may contain the tag, too.
    text.rfind(END).map_or(("", text), |at| text.split_at(at + END.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_not_the_words_of_the_user() {
        let file = "<file name=\"/a\">\none\n</file>\n";
        let cases = [
            ("plain".to_owned(), "plain"),
            (format!("{file}Fix it."), "Fix it."),
            (format!("{file}{file}Fix it."), "Fix it."),
            (
                "text <file name=\"x\"></file>\nmore".to_owned(),
                "text <file name=\"x\"></file>\nmore",
            ),
            (file.to_owned(), file),
            ("<file name=\"/a\"> without an end".to_owned(), "<file name=\"/a\"> without an end"),
        ];
        for (text, expected) in &cases {
            assert_eq!(own_words(text), *expected);
        }
    }
}
