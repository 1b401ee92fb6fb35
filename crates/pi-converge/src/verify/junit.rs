//! A small reader of JUnit XML: enough to count tests and to name failures.
//!
//! The file comes from a command that runs the agent's code, so nothing in it is trusted: no
//! entities are expanded, no document type is read, and the size is bounded by the caller.

/// The tests of a JUnit file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Junit {
    /// Test cases that were not skipped.
    pub(super) run: u64,
    /// Test cases that were skipped.
    pub(super) skipped: u64,
    /// Failures and errors: the name of the test, and the message.
    pub(super) failed: Vec<(String, String)>,
}

/// Most failures that are named.
const MOST_NAMED: usize = 20;

/// Reads a JUnit file.
pub(super) fn parse(text: &str) -> Result<Junit, String> {
    let mut junit = Junit::default();
    let mut rest = text;
    let mut depth = Vec::new();
    let mut case: Option<Case> = None;
    let mut has_root = false;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(after) = skip_markup(rest)? {
            rest = after;
            continue;
        }
        let end = tag_end(rest).ok_or("a tag is not closed")?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let name = name.trim();
            if depth.pop() != Some(name) {
                return Err(format!("</{name}> closes another element"));
            }
            if name == "testcase"
                && let Some(case) = case.take()
            {
                case.count(&mut junit);
            }
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.strip_suffix('/').unwrap_or(tag);
        let name = tag.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
        if depth.is_empty() {
            if has_root || !matches!(name, "testsuites" | "testsuite") {
                return Err(format!("<{name}> is not a JUnit document"));
            }
            has_root = true;
        }
        match name {
            "testcase" => case = Some(Case::new(tag)),
            "failure" | "error" => {
                let message = attribute(tag, "message").unwrap_or_default();
                match &mut case {
                    Some(case) => case.failure = Some(message),
                    // A suite that could not start.
                    None => junit.failed.push(("suite".to_owned(), message)),
                }
            }
            "skipped" => {
                if let Some(case) = &mut case {
                    case.is_skipped = true;
                }
            }
            _ => {}
        }
        if !is_empty {
            depth.push(name);
        } else if name == "testcase"
            && let Some(case) = case.take()
        {
            case.count(&mut junit);
        }
    }
    if !has_root || !depth.is_empty() {
        return Err("the document is not complete".to_owned());
    }
    Ok(junit)
}

#[derive(Debug)]
struct Case {
    name: String,
    failure: Option<String>,
    is_skipped: bool,
}

impl Case {
    fn new(tag: &str) -> Self {
        let class = attribute(tag, "classname").filter(|class| !class.is_empty());
        let name = attribute(tag, "name").unwrap_or_else(|| "test".to_owned());
        let name = class.map_or(name.clone(), |class| format!("{class}: {name}"));
        // Some runners write the status as an attribute only.
        let is_skipped = attribute(tag, "status").is_some_and(|status| status == "skipped");
        Self { name, failure: None, is_skipped }
    }

    fn count(self, junit: &mut Junit) {
        match self.failure {
            Some(message) => {
                junit.run += 1;
                if junit.failed.len() < MOST_NAMED {
                    junit.failed.push((self.name, message));
                }
            }
            None if self.is_skipped => junit.skipped += 1,
            None => junit.run += 1,
        }
    }
}

/// Skips declarations, comments and character data. A document type is refused: entities could
/// multiply what is in it.
fn skip_markup(text: &str) -> Result<Option<&str>, String> {
    let kinds = [("<?", "?>"), ("<!--", "-->"), ("<![CDATA[", "]]>")];
    for (open, close) in kinds {
        if let Some(inside) = text.strip_prefix(open) {
            let end = inside.find(close).ok_or_else(|| format!("{open} is not closed"))?;
            return Ok(Some(&inside[end + close.len()..]));
        }
    }
    if text.starts_with("<!") {
        return Err("document types are not supported".to_owned());
    }
    Ok(None)
}

/// Returns the position of the `>` that ends a tag, outside of quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'>', None) => return Some(at),
            _ => {}
        }
    }
    None
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let at = rest.find('=')?;
        let key = rest[..at].trim_end().rsplit(|c: char| c.is_ascii_whitespace()).next()?;
        let after = rest[at + 1..].trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let end = after[1..].find(quote)? + 1;
        if key == name {
            return Some(unescape(&after[1..end]));
        }
        rest = &after[end + 1..];
    }
}

fn unescape(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#10;", "\n")];
    let text = pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    // Last, so that an escaped ampersand starts no other entity.
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_names() {
        let cases: [(&str, Result<(u64, u64, usize), &str>); 9] = [
            (
                r#"<testsuite><testcase name="a"/><testcase name="b"></testcase></testsuite>"#,
                Ok((2, 0, 0)),
            ),
            (
                r#"<?xml version="1.0"?><testsuites><testsuite name="x > y"><testcase classname="c" name="a"><failure message="1 &lt; 2">text <![CDATA[<testcase name="no"/>]]></failure></testcase><!-- <testcase/> --></testsuite></testsuites>"#,
                Ok((1, 0, 1)),
            ),
            (r#"<testsuite><testcase name="a"><skipped/></testcase></testsuite>"#, Ok((0, 1, 0))),
            (r#"<testsuite tests="5"></testsuite>"#, Ok((0, 0, 0))),
            (r#"<testsuite><error message="no start"/></testsuite>"#, Ok((0, 0, 1))),
            ("", Err("the document is not complete")),
            ("<html></html>", Err("<html> is not a JUnit document")),
            ("<testsuite><testcase>", Err("the document is not complete")),
            (
                "<!DOCTYPE x [<!ENTITY a \"b\">]><testsuite/>",
                Err("document types are not supported"),
            ),
        ];
        for (text, expected) in cases {
            let found = parse(text).map(|junit| (junit.run, junit.skipped, junit.failed.len()));
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        }
        let text = r#"<testsuite><testcase classname="c" name='a"b'><failure message="1 &lt; 2 &amp;lt;"/></testcase></testsuite>"#;
        let failed = parse(text).map(|junit| junit.failed);
        assert_eq!(failed, Ok(vec![("c: a\"b".to_owned(), "1 < 2 &lt;".to_owned())]));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[<>/a-z\"'=! \\-?\\[\\]&;é]{0,200}") {
            let _ = parse(&text);
            let _ = parse(&format!("<testsuite>{text}</testsuite>"));
        }
    }
}
