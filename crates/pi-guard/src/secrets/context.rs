//! Credentials that are recognized by their context: in a URL, in a header, or assigned to the name
//! of a secret, in the syntax of any language.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::random::{is_stand_in, is_uuid, is_word, looks_random};
use super::{Kind, Span};

const ADDRESS: usize = 0;
const BEARER: usize = 1;
const BASIC: usize = 2;
const COOKIE: usize = 3;
/// The first four are the signs above; the others are parts of names.
const SIGNS: &[&str] = &[
    "://",
    "bearer ",
    "basic ",
    "cookie:",
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "credential",
    "_pass",
    "_pat",
    "_auth",
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .ascii_case_insensitive(true)
        .build(SIGNS)
        .ok()
});

/// Adds the credentials that their context gives away.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let Some(finder) = &*FINDER else { return };
    // One name may contain several signs.
    let mut done = 0;
    for hit in finder.find_overlapping_iter(text) {
        let at = hit.end();
        match hit.pattern().as_usize() {
            ADDRESS => spans.extend(password(text, at)),
            BEARER => spans.extend(bearer(text, at)),
            BASIC => spans.extend(basic(text, at)),
            COOKIE => cookies(text, hit.start(), at, spans),
            _ if at <= done => {}
            _ => {
                let name = name_around(text.as_bytes(), hit.start(), at);
                done = name.end;
                if is_secret_name(&text[name.clone()]) {
                    spans.extend(assigned(text, name.start, name.end));
                }
            }
        }
    }
}

fn span(kind: Kind, start: usize, long: usize) -> Span {
    Span { start, end: start + long, kind }
}

fn length(text: &str, at: usize, most: usize, has: impl Fn(u8) -> bool) -> usize {
    text.as_bytes()[at..].iter().take(most).take_while(|byte| has(**byte)).count()
}

/// `://name:password@host`
fn password(text: &str, at: usize) -> Option<Span> {
    let fits = |byte: u8| byte > b' ' && !matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'`');
    let long = length(text, at, 1024, fits);
    let authority = text.get(at..at + long)?;
    let (user, host) = authority.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let written = password.starts_with(['$', '{', '[', '%', '*'])
        || password.contains("${")
        || ["password", "passwd", "pass", "pwd", "secret", "token", "key", "pw"]
            .contains(&password.to_ascii_lowercase().as_str());
    let real = !password.is_empty() && !host.is_empty() && !written;
    let stand_in = password.len() > 7 && is_stand_in(password);
    (real && !stand_in).then(|| span("password", at + name.len() + 1, password.len()))
}

/// Returns true for a character of credentials in headers.
fn is_header_byte(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
}

fn bearer(text: &str, at: usize) -> Option<Span> {
    let long = length(text, at, usize::MAX, is_header_byte);
    let value = text[at..at + long].trim_end_matches('.');
    let authorized = after_authorization(text, at - "bearer ".len());
    let random = looks_random(value) && (value.len() >= 20 || authorized);
    let taken = random || (authorized && value.len() >= 16 && !is_stand_in(value));
    taken.then(|| span("bearer-token", at, value.len()))
}

fn after_authorization(text: &str, at: usize) -> bool {
    let before = text.as_bytes()[..at].trim_ascii_end();
    let end =
        before.iter().rev().take_while(|b| matches!(b, b'"' | b'\'' | b':' | b'=' | b' ' | b'\\'));
    let before = &before[..before.len() - end.count()];
    ends_with(before, b"authorization")
}

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A user name and a password in base64.
fn basic(text: &str, at: usize) -> Option<Span> {
    let long = length(text, at, 2048, is_header_byte);
    let pair = LENIENT.decode(&text[at..at + long]).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (_, password) = pair.split_once(':')?;
    let readable = !pair.chars().any(char::is_control);
    (long >= 8 && readable && !password.is_empty()).then(|| span("basic-credentials", at, long))
}

/// Adds the values of cookies that look random.
fn cookies(text: &str, start: usize, at: usize, spans: &mut Vec<Span>) {
    let line = length(text, at, 8192, |byte| byte >= b' ' && !matches!(byte, b'"' | b'\''));
    let set = ends_with(&text.as_bytes()[..start], b"set-");
    let mut from = at;
    for pair in text.get(at..at + line).unwrap_or_default().split(';') {
        if let Some((name, value)) = pair.split_once('=') {
            let value_at = from + name.len() + 1;
            let value = value.trim_end();
            if looks_random(value) && !value.contains(' ') {
                spans.push(span("cookie", value_at, value.len()));
            }
        }
        from += pair.len() + 1;
        // In a response, attributes follow.
        if set {
            break;
        }
    }
}

fn ends_with(text: &[u8], end: &[u8]) -> bool {
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// Returns true if a field of this name and value holds a secret.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    is_secret_name(name) && !value.contains(char::is_whitespace) && is_secret(value, name, true)
}

/// Returns the whole name around the given letters.
fn name_around(bytes: &[u8], start: usize, end: usize) -> std::ops::Range<usize> {
    let part = |byte: &&u8| is_word(**byte) || matches!(byte, b'-' | b'.');
    let before = bytes[..start].iter().rev().take(64).take_while(part).count();
    let after = bytes[end..].iter().take(64).take_while(part).count();
    let first = start - before;
    // An escape before a name is not part of it, although its last letter could be.
    let escape = (1..=before.min(6)).find(|skip| {
        is_word(bytes[first + skip - 1]) && super::shapes::is_beginning(bytes, first + skip)
    });
    first + escape.unwrap_or(0)..end + after
}

/// Words before `key` that make it the name of a secret.
const KEYS: &[&str] = &[
    "api",
    "secret",
    "private",
    "access",
    "auth",
    "encryption",
    "signing",
    "master",
    "account",
    "shared",
    "service",
    "client",
    "hmac",
    "jwt",
    "app",
    "deploy",
    "admin",
    "subscription",
    "storage",
    "license",
    "anthropic",
    "openai",
    "mistral",
    "together",
    "fireworks",
    "cohere",
    "gemini",
    "groq",
    "deepseek",
    "azure",
    "aws",
    "stripe",
    "twilio",
    "datadog",
    "algolia",
];
/// Words that occur in names of public values only.
const HARMLESS: &[&str] = &[
    "public",
    "pub",
    "publishable",
    "next",
    "page",
    "continuation",
    "cancellation",
    "cancel",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "hash",
    "checksum",
    "digest",
    "file",
    "path",
    "id",
    "name",
    "url",
    "uri",
    "type",
    "count",
    "limit",
    "length",
    "max",
    "header",
    "idempotency",
];

/// Returns true for the name of a secret, in any notation for names.
fn is_secret_name(name: &str) -> bool {
    let name = name.trim_matches(['-', '.', '_']);
    let constant = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let words = words(name);
    let Some((last, before)) = words.split_last() else { return false };
    if words.iter().any(|word| HARMLESS.contains(&word.as_str())) {
        // The identifier of an access key counts as a secret.
        return words.ends_with(&["access".into(), "key".into(), "id".into()]);
    }
    match last.as_str() {
        "token" | "tokens" | "secret" | "secrets" | "password" | "passwd" | "passphrase"
        | "pwd" | "apikey" | "credential" | "credentials" | "authtoken" | "accesstoken"
        | "pgpassword" | "secretkey" | "privatekey" | "accesskey" | "accountkey"
        | "sharedaccesskey" | "clientsecret" => true,
        "pass" | "pat" | "auth" => !before.is_empty(),
        "key" | "keys" => match before.last() {
            Some(word) => constant || KEYS.contains(&word.as_str()),
            None => false,
        },
        // SECRET_KEY_BASE, API_KEY_PROD, TOKEN_2
        _ => {
            before.len() < 5
                && before.windows(2).any(|pair| {
                    pair[1] == "key" && (KEYS.contains(&pair[0].as_str()) || pair[0] == "secret")
                })
        }
    }
}

/// Splits `camelCase`, `kebab-case`, `CONSTANT_CASE` and `dotted.names` into lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        } else {
            if letter.is_ascii_uppercase() && after_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(letter.to_ascii_lowercase());
            }
        }
        after_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the value that is assigned to the name, if it looks like a secret.
fn assigned(text: &str, start: usize, end: usize) -> Option<Span> {
    let bytes = text.as_bytes();
    let skip = |at: usize, most: usize, has: fn(u8) -> bool| at + length(text, at, most, has);
    let closed = skip(end, 6, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b']' | b'`'));
    let spaced = skip(closed, 40, |byte| matches!(byte, b' ' | b'\t'));
    let rest = &bytes[spaced..];
    let option = text[start..end].starts_with("--");
    let sign = match rest {
        [b':', b'=', ..] | [b'=', b'>', ..] => 2,
        [b':', b':', ..] | [b'=', b'=', ..] => return None,
        [b'=' | b':', ..] => 1,
        // `--password VALUE`, `<password>VALUE</password>`
        _ if option && spaced > closed => 0,
        [b'>', ..] if start > 0 && bytes[start - 1] == b'<' => 1,
        _ => return None,
    };
    let open = skip(spaced + sign, 40, |byte| matches!(byte, b' ' | b'\t'));
    let value_at = skip(open, 6, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`'));
    let quoted = value_at > open;
    let quote = if quoted { bytes[value_at - 1] } else { b' ' };
    let long = length(text, value_at, 4097, |byte| {
        byte > b' ' && byte != quote && !matches!(byte, b'\\' | b'<' | b'"') && byte < 0x7f
    });
    let mut value = &text[value_at..value_at + long];
    if !quoted {
        value = value.split([',', ';', '\'', '`', '&']).next()?.trim_end_matches('.');
    }
    is_secret(value, &text[start..end], quoted).then(|| span("secret", value_at, value.len()))
}

fn is_secret(value: &str, name: &str, quoted: bool) -> bool {
    // Code, a variable, a template, a URL, a path, or a hash with its algorithm.
    let code = |text: &str| text.contains(['(', ')', '{', '}', '[', ']', '|']);
    let written = value.contains("${")
        || value.contains("{{")
        || value.contains("$(")
        || value.contains("://")
        || value.contains("::")
        || value.contains("->")
        || value.contains("{}")
        || value.starts_with(['$', '[', '{', '%', '@', '&', '*'])
        || (value.starts_with(['/', '~', '.']) && value[1..].contains('/'))
        || ["sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha1:", "md5:", "h1:"]
            .iter()
            .any(|hash| value.starts_with(hash))
        || (!quoted && code(value));
    if written {
        return false;
    }
    if is_uuid(value) {
        let name = name.to_ascii_lowercase().replace(['-', '.'], "_");
        return ["api_key", "apikey", "secret", "password"].iter().any(|end| name.ends_with(end));
    }
    looks_random(value)
}
