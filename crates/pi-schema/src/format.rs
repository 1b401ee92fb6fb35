//! The `format` keyword: dates, addresses, identifiers. An unknown format constrains nothing.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use super::pattern;

/// Returns true if the text violates the format called `name`.
pub(super) fn is_violated(name: &str, text: &str) -> bool {
    FORMATS.iter().any(|(known, is_met)| *known == name && !is_met(text))
}

/// Matches text against a regular expression that is compiled once. Returns the captures.
macro_rules! captures {
    ($text:expr, $($pattern:tt)+) => {{
        static REGEX: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(&format!($($pattern)+)).ok());
        REGEX.as_ref().and_then(|regex| regex.captures($text))
    }};
}

type Format = fn(&str) -> bool;

static FORMATS: &[(&str, Format)] = &[
    ("date", is_date),
    ("time", is_time),
    ("date-time", |text| {
        text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
    }),
    ("duration", is_duration),
    ("email", |text| text.is_ascii() && is_email(text)),
    ("idn-email", is_email),
    ("hostname", |text| text.is_ascii() && is_host_name(text)),
    ("idn-hostname", is_host_name),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", is_ipv6),
    ("uri", is_uri),
    ("uri-reference", is_uri_reference),
    ("iri", |text| captures!(text, "^{SCHEME}:").is_some() && is_iri_reference(text)),
    ("iri-reference", is_iri_reference),
    ("uri-template", is_uri_template),
    ("url", is_url),
    ("uuid", |text| captures!(text, "^{HEX}{{8}}-({HEX}{{4}}-){{3}}{HEX}{{12}}$").is_some()),
    ("regex", pattern::is_valid),
    ("json-pointer", |text| captures!(text, "^{POINTER}$").is_some()),
    ("relative-json-pointer", |text| captures!(text, r"^(0|[1-9]\d*)(#|{POINTER})$").is_some()),
];

const HEX: &str = "[0-9A-Fa-f]";
const POINTER: &str = "(/([^~/]|~[01])*)*";
const SCHEME: &str = "[A-Za-z][A-Za-z0-9+.-]*";

/// Characters of a host name in a URI, and of a path segment.
const NAME: &str = r"([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})";
const SEGMENT: &str = r"([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";

/// A label of a host name, in the letters of any language.
const LABEL: &str = r"[0-9A-Za-z\x{80}-\x{10ffff}]([0-9A-Za-z\x{80}-\x{10ffff}-]{0,61}[0-9A-Za-z\x{80}-\x{10ffff}])?";

/// Part of the local part of a mail address.
const ATOM: &str = r"[0-9A-Za-z!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+";

/// Returns the number in a group, 0 if the group is absent.
fn number(captures: &Captures<'_>, group: usize) -> i64 {
    captures.get(group).and_then(|found| found.as_str().parse().ok()).unwrap_or(0)
}

/// Checks a date of RFC 3339: `2024-02-29`.
fn is_date(text: &str) -> bool {
    let Some(found) = captures!(text, r"^(\d{{4}})-(\d\d)-(\d\d)$") else { return false };
    let (year, month, day) = (number(&found, 1), number(&found, 2), number(&found, 3));
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Checks a time of RFC 3339: `12:00:00.5+02:00`. Second 60 exists only in the last minute of a
/// day in UTC.
fn is_time(text: &str) -> bool {
    let pattern = captures!(text, r"^(\d\d):(\d\d):(\d\d)(\.\d+)?([zZ]|([+-])(\d\d):(\d\d))$");
    let Some(found) = pattern else { return false };
    let [hour, minute, second, zone_hour, zone_minute] =
        [1, 2, 3, 7, 8].map(|group| number(&found, group));
    let is_behind = found.get(6).is_some_and(|sign| sign.as_str() == "-");
    let offset = (zone_hour * 60 + zone_minute) * if is_behind { -1 } else { 1 };
    let minute_of_day = (hour * 60 + minute - offset).rem_euclid(24 * 60);
    let last_second = if minute_of_day == 24 * 60 - 1 { 60 } else { 59 };
    hour < 24 && minute < 60 && second <= last_second && zone_hour < 24 && zone_minute < 60
}

/// Checks a duration of ISO 8601, `P1Y2M3DT4H5M6S` or `P2W`: whole numbers, and no unit left out
/// between two others.
fn is_duration(text: &str) -> bool {
    const DATE: &str = r"(\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D)";
    const TIME: &str = r"(T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S))";
    captures!(text, r"^P(\d+W|{DATE}{TIME}?|{TIME})$").is_some()
}

fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Returns true if the text has blanks or control characters beyond ASCII.
fn has_unicode_blanks(text: &str) -> bool {
    text.chars().any(|c| !c.is_ascii() && (c.is_whitespace() || c.is_control()))
}

/// Checks a host name in the letters of any language. The Punycode of a label is not decoded.
fn is_host_name(text: &str) -> bool {
    // Hyphens in the third and fourth place mark an encoding, and only `xn` exists.
    let has_known_encoding = |label: &str| {
        label.get(2..4) != Some("--")
            || label.get(..2).is_some_and(|encoding| encoding.eq_ignore_ascii_case("xn"))
    };
    text.len() <= 253
        && !has_unicode_blanks(text)
        && captures!(text, r"^{LABEL}(\.{LABEL})*$").is_some()
        && text.split('.').all(has_known_encoding)
}

/// Checks a mail address: a local part, `@`, and a host name or an address in brackets.
fn is_email(text: &str) -> bool {
    let pattern = captures!(
        text,
        r#"^("[^"\\\x00-\x1f\x7f]*"|{ATOM}(\.{ATOM})*)@({LABEL}(\.{LABEL})*|\[(?<address>.*)\])$"#
    );
    let Some(found) = pattern else { return false };
    let is_address = |address: &str| {
        address.parse::<Ipv4Addr>().is_ok() || address.strip_prefix("IPv6:").is_some_and(is_ipv6)
    };
    !has_unicode_blanks(text)
        && found.name("address").is_none_or(|address| is_address(address.as_str()))
}

/// Checks an absolute URI of RFC 3986.
fn is_uri(text: &str) -> bool {
    let scheme = captures!(text, "^{SCHEME}:");
    scheme.is_some_and(|scheme| is_relative_part(&text[scheme[0].len()..]))
}

/// Checks a URI, or a reference relative to one.
fn is_uri_reference(text: &str) -> bool {
    let first_segment = text.split(['/', '?', '#']).next().unwrap_or_default();
    is_uri(text) || (!first_segment.contains(':') && is_relative_part(text))
}

/// Checks the part of a URI after the scheme.
fn is_relative_part(text: &str) -> bool {
    let found = captures!(
        text,
        r"(?x)^
        (   //  (({NAME}|:)*@)?  (\[(?<address>[^\]]*)\]|{NAME}*)  (:\d*)?  (/({SEGMENT}|/)*)?
        |   /?  ({SEGMENT}({SEGMENT}|/)*)?
        )
        (\?({SEGMENT}|[/?])*)?  (\#({SEGMENT}|[/?])*)?  $"
    );
    found.is_some_and(|found| found.name("address").is_none_or(|host| is_ipv6(host.as_str())))
}

/// Checks an identifier in the letters of any language, or a reference relative to one.
fn is_iri_reference(text: &str) -> bool {
    captures!(text, r#"^([^%"\\<>\s\x00-\x1f\x7f]|%{HEX}{{2}})*$"#).is_some()
        && !has_unicode_blanks(text)
}

/// Checks a URI template of RFC 6570: text with expressions such as `{?name,other*,third:3}`.
fn is_uri_template(text: &str) -> bool {
    const VARIABLE: &str =
        r"([A-Za-z0-9_]|%[0-9A-Fa-f]{2})([A-Za-z0-9_.]|%[0-9A-Fa-f]{2})*(\*|:[1-9]\d{0,3})?";
    let found = captures!(text, r"^([^{{}}'|^`]|\{{[+#./;?&=,!@|]?{VARIABLE}(,{VARIABLE})*\}})*$");
    found.is_some() && is_iri_reference(text)
}

/// Checks an address as browsers do: more lenient than a URI, but web addresses need a host.
fn is_url(text: &str) -> bool {
    let text = text.trim();
    let Some(found) = captures!(text, "^({SCHEME}):") else { return false };
    let is_web = ["http", "https", "ws", "wss", "ftp"]
        .iter()
        .any(|scheme| found[1].eq_ignore_ascii_case(scheme));
    if !is_web {
        return true;
    }
    let authority = text[found[0].len()..].trim_start_matches(['/', '\\']);
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "<>^|%".contains(c))
}
