//! Tests inside of source files: the test items of Rust, and the examples in documentation (fenced
//! code of Rust, interactive examples of Python). [`blocks`] finds those of other languages. Pure.
//!
//! A run may add such tests. If it changed or removed one, the checks are made with the original
//! ones in the new source.

use std::ops::Range;

use super::blocks;

/// A change of the tests in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InlineChange {
    /// The new source with the tests of the old one.
    Restored(String),
    /// Tests were changed or removed, and the old ones cannot be put into the new source.
    Unrestorable,
}

/// Compares the tests of two versions of a source file. Returns `None` if nothing has to be decided
/// by them.
pub(super) fn compare(path: &str, old: &str, new: &str) -> Option<InlineChange> {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        // Changed examples cannot be put back into a changed text.
        Some("rs") if !keeps_examples(old, new) => Some(InlineChange::Unrestorable),
        Some("rs") => rust(old, new),
        Some("py") if !keeps(&examples(old), &examples(new)) => Some(InlineChange::Unrestorable),
        _ => {
            let (old, new) = (blocks::tests(path, old), blocks::tests(path, new));
            (!keeps(&old, &new)).then_some(InlineChange::Unrestorable)
        }
    }
}

fn keeps(old: &[String], new: &[String]) -> bool {
    old.iter().all(|test| new.contains(test))
}

fn rust(old: &str, new: &str) -> Option<InlineChange> {
    let (old_items, new_items) = (test_items(old), test_items(new));
    let texts = |source: &str, items: &[Item]| -> Vec<String> {
        items.iter().map(|item| compact(source.get(item.range.clone()).unwrap_or(""))).collect()
    };
    let (old_texts, new_texts) = (texts(old, &old_items), texts(new, &new_items));
    if old_texts == new_texts {
        return None;
    }
    let is_top = |items: &[Item]| items.iter().all(|item| item.depth == 0);
    if !is_top(&old_items) || !is_top(&new_items) {
        let is_kept = old_texts.iter().all(|text| new_texts.contains(text));
        return (!is_kept).then_some(InlineChange::Unrestorable);
    }
    let mut restored = String::with_capacity(new.len() + old.len());
    let mut from = 0;
    for item in &new_items {
        restored.push_str(new.get(from..item.range.start).unwrap_or(""));
        from = item.range.end;
    }
    restored.push_str(new.get(from..).unwrap_or(""));
    for item in &old_items {
        restored.push('\n');
        restored.push_str(old.get(item.range.clone()).unwrap_or(""));
        restored.push('\n');
    }
    Some(InlineChange::Restored(restored))
}

/// Removes what a formatter changes.
pub(super) fn compact(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

/// An item that only exists in tests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    /// From the attribute to the end of the item.
    range: Range<usize>,
    /// Number of blocks around it.
    depth: usize,
}

/// Returns the items with an attribute that names tests, without those inside of others.
fn test_items(source: &str) -> Vec<Item> {
    let bytes = source.as_bytes();
    let (mut items, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while at < bytes.len() {
        if let Some(end) = skip_opaque(bytes, at) {
            at = end;
            continue;
        }
        match bytes.get(at) {
            Some(b'{') => depth += 1,
            Some(b'}') => depth = depth.saturating_sub(1),
            Some(b'#') if bytes.get(at + 1) == Some(&b'[') => {
                let end = block_end(bytes, at + 1);
                if is_test_attribute(source.get(at..end).unwrap_or("")) {
                    let end = item_end(bytes, end);
                    items.push(Item { range: at..end, depth });
                    at = end;
                    continue;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    items
}

/// Returns true for `#[test]`, `#[tokio::test]`, `#[cfg(test)]` and the like.
fn is_test_attribute(attribute: &str) -> bool {
    let words = attribute.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let is_negative = attribute.contains("not(test") || attribute.starts_with("#[cfg_attr");
    !is_negative && words.any(|word| matches!(word, "test" | "rstest" | "test_case" | "proptest"))
}

/// Returns the end of the item after an attribute: that of its block, or its semicolon.
fn item_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        if let Some(end) = skip_opaque(bytes, at) {
            at = end;
            continue;
        }
        match bytes.get(at) {
            Some(b'{') => return block_end(bytes, at),
            Some(b'(' | b'[') => at = block_end(bytes, at),
            Some(b';') => return at + 1,
            Some(b'}') => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the position after the bracket that closes the one at `from`.
pub(super) fn block_end(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0_usize);
    while at < bytes.len() {
        if let Some(end) = skip_opaque(bytes, at) {
            at = end;
            continue;
        }
        match bytes.get(at) {
            Some(b'{' | b'(' | b'[') => depth += 1,
            Some(b'}' | b')' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Returns the end of a comment, a string or a character at this position.
fn skip_opaque(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if rest.starts_with(b"//") {
        let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        return Some(at + line);
    }
    if rest.starts_with(b"/*") {
        let end = rest.windows(2).skip(2).position(|two| two == b"*/");
        return Some(end.map_or(bytes.len(), |end| at + end + 4));
    }
    if rest.starts_with(b"r\"") || rest.starts_with(b"r#") {
        let hashes = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let mut close = vec![b'"'];
            close.extend(vec![b'#'; hashes]);
            let body = rest.get(2 + hashes..)?;
            let end = body.windows(close.len()).position(|part| part == close);
            return Some(end.map_or(bytes.len(), |end| at + 2 + hashes + end + close.len()));
        }
        return None;
    }
    match rest.first()? {
        b'"' => {
            let mut end = 1;
            while let Some(byte) = rest.get(end) {
                match byte {
                    b'\\' => end += 2,
                    b'"' => return Some(at + end + 1),
                    _ => end += 1,
                }
            }
            Some(bytes.len())
        }
        // A lifetime has no closing quote.
        b'\'' if rest.get(1) == Some(&b'\\') => {
            let end = rest.iter().skip(3).position(|byte| *byte == b'\'');
            Some(end.map_or(at + 1, |end| at + end + 4))
        }
        b'\'' if rest.get(2) == Some(&b'\'') => Some(at + 3),
        _ => None,
    }
}

/// Returns true if every example in the documentation of a Rust source is still there.
fn keeps_examples(old: &str, new: &str) -> bool {
    let (old, mut new) = (fenced_examples(old), fenced_examples(new));
    old.into_iter().all(|example| {
        let place = new.iter().position(|other| *other == example);
        place.map(|at| new.swap_remove(at)).is_some()
    })
}

/// Returns the fenced code in the comments of a Rust source, with the words after each fence: they
/// say whether the code is run.
fn fenced_examples(source: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut open: Option<String> = None;
    for line in source.lines().map(str::trim_start) {
        let comment = ["///", "//!"].iter().find_map(|start| line.strip_prefix(start));
        let Some(text) = comment.or_else(|| line.strip_prefix('*')).map(str::trim) else {
            // An example that is not closed ends with its comment.
            examples.extend(open.take());
            continue;
        };
        match (text.strip_prefix("```"), &mut open) {
            (Some(words), None) => open = Some(words.replace(' ', "")),
            (Some(_), Some(_)) => examples.extend(open.take()),
            (None, Some(example)) => {
                example.push('\n');
                example.push_str(&compact(text));
            }
            (None, None) => {}
        }
    }
    examples.extend(open);
    // Text and other languages are no tests.
    examples.retain(|example| {
        let words = example.lines().next().unwrap_or_default();
        words.split(',').all(|word| {
            let known = ["", "rust", "should_panic", "no_run", "ignore", "compile_fail"];
            known.contains(&word) || word.starts_with("edition") || word.starts_with("ignore-")
        })
    });
    examples
}

/// Returns the interactive examples of a source with the expected output of each.
fn examples(source: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let mut is_inside = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with(">>>") {
            examples.push(line.to_owned());
            is_inside = true;
        } else if line.is_empty() || line.contains("\"\"\"") || line.contains("'''") {
            is_inside = false;
        } else if is_inside && let Some(example) = examples.last_mut() {
            example.push('\n');
            example.push_str(line);
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "pub fn add(a: i32, b: i32) -> i32 { a - b }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn adds() { assert_eq!(add(1, 2), 3); }\n}\n";

    #[test]
    fn the_original_tests_are_put_into_the_new_source() {
        let cheated = OLD.replace("add(1, 2), 3", "add(1, 2), -1");
        let Some(InlineChange::Restored(text)) = compare("src/lib.rs", OLD, &cheated) else {
            panic!()
        };
        assert!(text.contains("add(1, 2), 3") && !text.contains("-1"), "{text}");
        let fixed = cheated.replace("a - b", "a + b");
        let Some(InlineChange::Restored(text)) = compare("src/lib.rs", OLD, &fixed) else {
            panic!()
        };
        assert!(text.contains("a + b") && text.contains("add(1, 2), 3"), "{text}");
        // The work may change, and formatting does.
        assert_eq!(compare("src/lib.rs", OLD, &OLD.replace("a - b", "a + b")), None);
        assert_eq!(compare("src/lib.rs", OLD, &OLD.replace("    ", "  ")), None);
        assert_eq!(compare("src/lib.txt", OLD, &cheated), None);
        // Items for tests only can take the place of the work.
        let shadow = format!("#[cfg(test)]\nfn add() {{}}\n{OLD}");
        assert!(matches!(compare("a.rs", OLD, &shadow), Some(InlineChange::Restored(text))
            if !text.contains("fn add() {}")));
    }

    #[test]
    fn strings_comments_and_lifetimes_do_not_confuse() {
        let source = r##"
            fn a<'a>(x: &'a str) -> char { let _ = "}#[test]{"; /* } */ '{' }
            // #[test] fn comment() {}
            const R: &str = r#"#[test] fn raw() { " }"#;
            #[test]
            fn real() { assert_eq!(a("x"), '\''); }
            mod inner { #[tokio::test] async fn nested() {} }
            #[cfg(not(test))]
            fn work() {}
        "##;
        let items = test_items(source);
        let found: Vec<(&str, usize)> = items
            .iter()
            .map(|item| (source[item.range.clone()].lines().next().unwrap().trim(), item.depth))
            .collect();
        assert_eq!(found, [("#[test]", 0), ("#[tokio::test] async fn nested() {}", 1)]);
    }

    #[test]
    fn nested_tests_may_be_added_and_not_changed() {
        let old = "mod a { #[test] fn one() { assert!(true); } }";
        let added = "mod a { #[test] fn one() { assert!(true); } #[test] fn two() {} }";
        assert_eq!(compare("a.rs", old, added), None);
        let changed = "mod a { #[test] fn one() {} }";
        assert_eq!(compare("a.rs", old, changed), Some(InlineChange::Unrestorable));
    }

    #[test]
    fn examples_of_rust_are_compared() {
        let old = "//! Adds.\n\n/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(2, 3), 5);\n/// ```\n///\n/// ```text\n/// a + b\n/// ```\npub fn add(a: i32, b: i32) -> i32 { a - b }\n";
        let unrestorable = Some(InlineChange::Unrestorable);
        let cases = [
            (old.replace("a - b", "a + b"), None),
            (old.replace("/// a + b", "/// a and b"), None),
            (old.replace("3), 5", "3), -1"), unrestorable.clone()),
            (old.replace("```\n/// assert", "```ignore\n/// assert"), unrestorable.clone()),
            (old.replace("/// assert_eq!(calc::add(2, 3), 5);\n", ""), unrestorable),
            (format!("{old}\n/// ```\n/// calc::add(1, 1);\n/// ```\nfn more() {{}}\n"), None),
        ];
        for (new, expected) in cases {
            assert_eq!(compare("src/lib.rs", old, &new), expected, "{new}");
        }
    }

    #[test]
    fn examples_of_python_are_compared() {
        let old = "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(1, 2)\n    3\n    \"\"\"\n    return a - b\n";
        assert_eq!(compare("a.py", old, &old.replace("a - b", "a + b")), None);
        let more = old.replace("    3\n", "    3\n    >>> add(0, 0)\n    0\n");
        assert_eq!(compare("a.py", old, &more), None);
        let cheated = old.replace("    3\n", "    -1\n");
        assert_eq!(compare("a.py", old, &cheated), Some(InlineChange::Unrestorable));
        let old =
            "def add(a, b):\n    return a - b\n\ndef test_add():\n    assert add(1, 2) == 3\n";
        assert_eq!(compare("a.py", old, &old.replace("a - b", "a + b")), None);
        let cheated = old.replace("== 3", "== -1");
        assert_eq!(compare("a.py", old, &cheated), Some(InlineChange::Unrestorable));
    }

    proptest::proptest! {
        #[test]
        fn no_source_panics(old in ".{0,200}", new in "[a-z#\\[\\]{}()'\"/*rtes\\n ;]{0,200}") {
            compare("a.rs", &old, &new);
            compare("a.rs", &new, &old);
            compare("a.py", &old, &new);
        }
    }
}
