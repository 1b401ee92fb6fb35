//! Identifiers of resources: RFC 3986 and its relatives.

use super::host;

/// An absolute URI.
pub(super) fn is_uri(text: &str) -> bool {
    split_scheme(text).is_some_and(|(_, rest)| is_relative_part(rest))
}

/// A URI, or a reference relative to one.
pub(super) fn is_uri_reference(text: &str) -> bool {
    let first_segment = text.split(['/', '?', '#']).next().unwrap_or_default();
    is_uri(text) || (!first_segment.contains(':') && is_relative_part(text))
}

/// An absolute identifier in the letters of any language.
pub(super) fn is_iri(text: &str) -> bool {
    split_scheme(text).is_some() && is_iri_reference(text)
}

/// An identifier in the letters of any language, or a reference relative to one.
pub(super) fn is_iri_reference(text: &str) -> bool {
    let is_excluded = |character: char| {
        character.is_whitespace() || character.is_control() || "\"\\<>".contains(character)
    };
    !text.contains(is_excluded) && escapes_are_complete(text)
}

/// Text with expressions in braces (RFC 6570).
pub(super) fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    loop {
        let (literal, expression) = match rest.split_once('{') {
            Some((literal, expression)) => (literal, Some(expression)),
            None => (rest, None),
        };
        if literal.contains(['}', '\'', '|', '^', '`']) || !is_iri_reference(literal) {
            return false;
        }
        let Some(expression) = expression else { return true };
        let Some((expression, after)) = expression.split_once('}') else { return false };
        if !is_template_expression(expression) {
            return false;
        }
        rest = after;
    }
}

/// `?name,other*,third:3`.
fn is_template_expression(expression: &str) -> bool {
    let variables = expression.strip_prefix(|first| "+#./;?&=,!@|".contains(first));
    variables.unwrap_or(expression).split(',').all(|variable| {
        let name = match variable.split_once(':') {
            Some((name, length)) if matches!(length.parse::<u16>(), Ok(1..=9999)) => name,
            Some(_) => return false,
            None => variable.strip_suffix('*').unwrap_or(variable),
        };
        let is_name_character =
            |character: char| character.is_ascii_alphanumeric() || "_.%".contains(character);
        !name.is_empty() && name.chars().all(is_name_character) && escapes_are_complete(name)
    })
}

/// What a browser takes for an address: more than a URI, but on the web never without a host.
pub(super) fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = split_scheme(text.trim()) else { return false };
    let is_web =
        ["http", "https", "ws", "wss", "ftp"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    if !is_web {
        return true;
    }
    let authority = rest.trim_start_matches(['/', '\\']);
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "<>^|%".contains(c))
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some((scheme, rest))
}

/// Everything after the scheme.
fn is_relative_part(text: &str) -> bool {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (hierarchy, query) = text.split_once('?').unwrap_or((text, ""));
    let path = match hierarchy.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let Some((authority, path)) = rest.split_at_checked(end) else { return false };
            if !is_authority(authority) {
                return false;
            }
            path
        }
        None => hierarchy,
    };
    is_made_of(path, "/:@") && is_made_of(query, "/?:@") && is_made_of(fragment, "/?:@")
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host_fits, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) => (host::is_ipv6(address), port),
            None => return false,
        },
        None => {
            let name = host.split_once(':').map_or(host, |(name, _)| name);
            (is_made_of(name, ""), host.strip_prefix(name).unwrap_or_default())
        }
    };
    let port_fits = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    is_made_of(user, ":") && host_fits && port_fits
}

/// Whether text consists of unreserved characters, sub-delimiters, escapes and the `extra` ones.
fn is_made_of(text: &str, extra: &str) -> bool {
    let fits = |character: char| {
        character.is_ascii_alphanumeric()
            || "-._~!$&'()*+,;=%".contains(character)
            || extra.contains(character)
    };
    text.chars().all(fits) && escapes_are_complete(text)
}

/// Whether two hexadecimal digits follow every percent sign.
fn escapes_are_complete(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        after.as_bytes().get(..2).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    })
}
