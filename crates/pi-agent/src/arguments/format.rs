//! The `format` of text: dates, addresses, identifiers. An unknown format constrains nothing.

mod host;
mod time;
mod uri;

use super::pattern;

/// Whether text has a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Met,
    Violated,
    Unknown,
}

/// Holds text against the format called `name`.
pub(super) fn judge(name: &str, text: &str) -> Verdict {
    let Some((_, is_met)) = FORMATS.iter().find(|(known, _)| *known == name) else {
        return Verdict::Unknown;
    };
    if is_met(text) { Verdict::Met } else { Verdict::Violated }
}

const FORMATS: &[(&str, fn(&str) -> bool)] = &[
    ("date", time::is_date),
    ("time", time::is_time),
    ("date-time", time::is_date_time),
    ("duration", time::is_duration),
    ("email", host::is_email),
    ("idn-email", host::is_international_email),
    ("hostname", host::is_host_name),
    ("idn-hostname", host::is_international_host_name),
    ("ipv4", host::is_ipv4),
    ("ipv6", host::is_ipv6),
    ("uri", uri::is_uri),
    ("uri-reference", uri::is_uri_reference),
    ("iri", uri::is_iri),
    ("iri-reference", uri::is_iri_reference),
    ("uri-template", uri::is_uri_template),
    ("url", uri::is_url),
    ("uuid", is_uuid),
    ("regex", pattern::is_valid),
    ("json-pointer", is_json_pointer),
    ("relative-json-pointer", is_relative_json_pointer),
];

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_json_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text.split('~').skip(1).all(|after| after.starts_with(['0', '1']))
}

fn is_relative_json_pointer(text: &str) -> bool {
    let pointer = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let steps = text.len() - pointer.len();
    let leading_zero = steps > 1 && text.starts_with('0');
    steps > 0 && !leading_zero && (pointer == "#" || is_json_pointer(pointer))
}
