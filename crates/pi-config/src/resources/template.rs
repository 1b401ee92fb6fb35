//! Expanding templates: `$1`, `$@`, `$ARGUMENTS`, `${1:-default}`, `${@:2}`, `${@:2:1}`.
//!
//! The template is read once, and the text of arguments and defaults is not expanded again, so an
//! argument may contain any text.

/// Splits the arguments of a command at white space, except in quotes. There are no escapes, an open
/// quote extends to the end, and `""` is an argument.
pub(super) fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => current.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                current.get_or_insert_default();
            }
            None if c.is_whitespace() => arguments.extend(current.take()),
            None => current.get_or_insert_default().push(c),
        }
    }
    arguments.extend(current);
    arguments
}

/// Replaces the placeholders of a template.
pub(super) fn substitute(template: &str, arguments: &[String]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        filled.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        let found = match rest.strip_prefix('{') {
            Some(inner) => braced(inner, arguments).map(|(text, used)| (text, used + 1)),
            None => value(rest, arguments),
        };
        match found {
            Some((text, used)) => {
                filled.push_str(&text);
                rest = &rest[used..];
            }
            None => filled.push('$'),
        }
    }
    filled.push_str(rest);
    filled
}

/// Expands the text after `${`: a value with a default, or a slice. Returns the length of the
/// placeholder too.
fn braced(inner: &str, arguments: &[String]) -> Option<(String, usize)> {
    let (found, used) = value(inner, arguments)?;
    if let Some(default) = inner[used..].strip_prefix(":-") {
        let length = default.find('}')?;
        let text = if found.is_empty() { default[..length].to_owned() } else { found };
        return Some((text, used + 2 + length + 1));
    }
    let slice = inner.strip_prefix("@:")?;
    let length = slice.find('}')?;
    let (from, count) = match slice[..length].split_once(':') {
        Some((from, count)) => (number(from)?, number(count)?),
        None => (number(&slice[..length])?, usize::MAX),
    };
    let chosen = arguments.iter().skip(from.saturating_sub(1)).take(count);
    let text = chosen.map(String::as_str).collect::<Vec<_>>().join(" ");
    Some((text, 2 + length + 1))
}

/// Returns the value of a name and the length of the name. A missing argument is empty.
fn value(name: &str, arguments: &[String]) -> Option<(String, usize)> {
    for all in ["ARGUMENTS", "@"] {
        if name.starts_with(all) {
            return Some((arguments.join(" "), all.len()));
        }
    }
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let position = number(&name[..digits])?;
    let text = position.checked_sub(1).and_then(|index| arguments.get(index));
    Some((text.cloned().unwrap_or_default(), digits))
}

/// Parses a number. A number that is too large for the type is larger than any list.
fn number(digits: &str) -> Option<usize> {
    let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    valid.then(|| digits.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Case {
        template: String,
        args: String,
        result: String,
    }

    #[test]
    fn templates_are_expanded_as_by_pi() {
        for line in include_str!("../../tests/fixtures/resources/expansion.jsonl").lines() {
            let case: Case = serde_json::from_str(line).unwrap();
            let ours = substitute(&case.template, &split_arguments(&case.args));
            assert_eq!(ours, case.result, "{line}");
        }
    }

    proptest! {
        /// Every template is expanded, and arguments are never taken for placeholders.
        #[test]
        fn arguments_are_not_expanded(template in "[$@{}:0-9A-Z a-]{0,40}") {
            let marker = "$1${@:1}$ARGUMENTS".to_owned();
            let filled = substitute(&template, &[marker.clone(), marker.clone()]);
            let other = substitute(&template, &["\u{1}".to_owned(), "\u{1}".to_owned()]);
            prop_assert_eq!(filled.replace(&marker, "\u{1}"), other);
        }
    }
}
