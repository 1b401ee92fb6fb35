//! Reader of the few elements that matter in answers of STS. Pure.

/// Returns the text of the first element of this name that has only text.
pub(super) fn text_of(xml: &str, name: &str) -> Option<String> {
    let mut rest = xml;
    loop {
        let (_, after) = rest.split_once('<')?;
        rest = after;
        let Some(after_name) = after.strip_prefix(name) else { continue };
        // The end of the tag; `<Code` must not match `<CodeX`.
        if !after_name.starts_with(['>', ' ', '\t', '\r', '\n']) {
            continue;
        }
        let (_, content) = after_name.split_once('>')?;
        let (text, end) = content.split_once('<')?;
        let end = end.strip_prefix('/').and_then(|end| end.strip_prefix(name));
        if end.is_some_and(|end| end.trim_start().starts_with('>')) {
            return Some(unescaped(text.trim()));
        }
    }
}

/// Resolves entities. Unknown ones stay as they are.
fn unescaped(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        result.push_str(before);
        let entity = after.split_once(';').and_then(|(name, after)| Some((entity(name)?, after)));
        match entity {
            Some((one, after)) => {
                result.push(one);
                rest = after;
            }
            None => {
                result.push('&');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    result
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn elements_of_an_answer() {
        let xml = "<?xml version=\"1.0\"?><R xmlns=\"https://x/\"><Credentials>\n<CodeX>no</CodeX>\
                   <Code >a&amp;b&#x3c;&#65;&unknown;&</Code>\
                   <Token a=\"1\">t/+=</Token><Empty></Empty></Credentials></R>";
        for (name, expected) in [
            ("Code", Some("a&b<A&unknown;&")),
            ("Token", Some("t/+=")),
            ("Empty", Some("")),
            ("Credentials", None),
            ("Missing", None),
            ("?xml", None),
        ] {
            assert_eq!(text_of(xml, name).as_deref(), expected, "{name}");
        }
        assert_eq!(text_of("<A>unclosed", "A"), None);
        assert_eq!(text_of("<A", "A"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(xml in "[<>/A&;#x1é ]{0,100}") {
            let _ = text_of(&xml, "A");
        }

        #[test]
        fn written_texts_are_read(text in "[^\\s<&](?s:.{0,30})[^\\s<&]") {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
            let xml = format!("<R><B>x</B><A>{escaped}</A></R>");
            prop_assert_eq!(text_of(&xml, "A"), Some(text));
        }
    }
}
