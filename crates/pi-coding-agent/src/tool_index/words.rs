//! Terms: the words of names, descriptions and queries in one form.

/// Words that say nothing about a tool.
const STOP_WORDS: [&str; 21] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on",
    "or", "that", "the", "this", "to", "with",
];

/// Returns the terms of a text: identifiers are cut at changes of case and at signs, all is in
/// lower case and in the singular, and words without meaning are left out. Scripts without spaces
/// between words are cut into pairs of characters.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        // Most words have one part, and are in lower case already.
        if word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9')) {
            if !word.is_empty() && !STOP_WORDS.contains(&word) {
                terms.push(singular(word.to_owned()));
            }
            continue;
        }
        for part in runs(word).into_iter().flat_map(parts) {
            if part.starts_with(is_unspaced) {
                terms.extend(pairs(part));
                continue;
            }
            let part = part.to_lowercase();
            if !STOP_WORDS.contains(&part.as_str()) {
                terms.push(singular(part));
            }
        }
    }
    terms
}

/// Returns true for characters of scripts that do not separate all words: Thai, kana, Chinese
/// characters and Hangul.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2fa1f}')
}

/// Cuts a word where such a script begins or ends.
fn runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let kind = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != kind).unwrap_or(rest.len());
        let (run, later) = rest.split_at(end);
        runs.push(run);
        rest = later;
    }
    runs
}

/// Returns the pairs of neighboring characters; a single character stands for itself.
fn pairs(run: &str) -> Vec<String> {
    let characters: Vec<char> = run.chars().collect();
    match characters.as_slice() {
        [single] => vec![single.to_string()],
        several => several.windows(2).map(|pair| pair.iter().collect()).collect(),
    }
}

/// Cuts `getHTMLPage` into `get`, `HTML` and `Page`.
fn parts(word: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, window) in characters.windows(2).enumerate() {
        let [(_, left), (middle, right)] = window else { continue };
        let next = characters.get(at + 2).map(|(_, next)| *next);
        let begins_word = right.is_uppercase()
            && (!left.is_uppercase() || next.is_some_and(|next| next.is_lowercase()));
        if begins_word {
            parts.push(&word[start..*middle]);
            start = *middle;
        }
    }
    if start < word.len() {
        parts.push(&word[start..]);
    }
    parts
}

/// Removes the ending of a plural. The result need not be a word, only the same for both forms.
fn singular(mut word: String) -> String {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes"].iter().any(|ending| word.ends_with(ending)) {
        word.truncate(word.len() - 2);
    } else if word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending))
    {
        word.truncate(word.len() - 1);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_into_terms() {
        let cases: [(&str, &[&str]); 10] = [
            ("read_text_file", &["read", "text", "file"]),
            ("getHTMLPage", &["get", "html", "page"]),
            ("list-repositories", &["list", "repository"]),
            ("the status of the boxes", &["status", "box"]),
            ("classes, buses and gas", &["class", "buse", "gas"]),
            ("Müller's Straße", &["müller", "s", "straße"]),
            ("搜索文件 file", &["搜索", "索文", "文件", "file"]),
            ("PDFを読む", &["pdf", "を読", "読む"]),
            ("", &[]),
            ("__  --", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(terms(text), expected, "{text}");
        }
    }
}
