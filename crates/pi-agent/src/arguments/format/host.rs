//! Hosts, and mail addresses, which end in one.

use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Labels of ASCII letters, digits and inner hyphens.
pub(super) fn is_host_name(text: &str) -> bool {
    text.is_ascii() && is_international_host_name(text)
}

/// As [`is_host_name`], with the letters of all languages. Whether a label is well-formed Punycode
/// is for those to say who look it up.
pub(super) fn is_international_host_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    // Two hyphens in the third and fourth place announce an encoding, and there is one.
    let encoding = label.split_at_checked(2).filter(|(_, rest)| rest.starts_with("--"));
    let known =
        encoding.is_none_or(|(name, rest)| name.eq_ignore_ascii_case("xn") && rest.len() > 2);
    known && is_plain_label(label)
}

fn is_plain_label(label: &str) -> bool {
    let is_letter = |character: char| {
        character == '-'
            || character.is_ascii_alphanumeric()
            || (!character.is_ascii() && !character.is_whitespace() && !character.is_control())
    };
    (1..=63).contains(&label.chars().count())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.chars().all(is_letter)
}

/// A local part, an `@`, and a host name or an address in brackets.
pub(super) fn is_email(text: &str) -> bool {
    text.is_ascii() && is_international_email(text)
}

/// As [`is_email`], with the letters of all languages.
pub(super) fn is_international_email(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else { return false };
    let host_fits = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => is_ipv4(address) || address.strip_prefix("IPv6:").is_some_and(is_ipv6),
        None => host.split('.').all(is_plain_label),
    };
    host_fits && is_local_part(local)
}

fn is_local_part(local: &str) -> bool {
    if let Some(quoted) = local.strip_prefix('"').and_then(|local| local.strip_suffix('"')) {
        return !quoted.contains(['"', '\\']) && !quoted.chars().any(char::is_control);
    }
    let is_atom_character = |character: char| match character {
        character if character.is_ascii() => {
            character.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(character)
        }
        character => !character.is_whitespace() && !character.is_control(),
    };
    local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_character))
}
