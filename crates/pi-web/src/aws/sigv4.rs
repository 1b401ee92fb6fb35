//! Signature Version 4 of Amazon Web Services.
//!
//! A pure function of request, keys and time. The rules are those of every service but S3, which
//! [`Rules`] can express too. Checked against the published cases in `tests/fixtures/sigv4.jsonl`.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::SystemTime;

use pi_base::text::hex;
use ring::{digest, hmac};
use secrecy::ExposeSecret as _;

use super::{AwsKeys, Rules, Signing};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A request to sign.
#[derive(Debug, Clone, Copy)]
pub struct Unsigned<'a> {
    /// The method in capital letters.
    pub method: &'a str,
    /// The URL as it is sent.
    pub url: &'a str,
    /// The headers to sign, apart from `host`, which is taken from the URL.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a [u8],
}

/// Signs a request. Returns the headers to add: the time, the session token, and `authorization`.
pub fn sign(
    request: &Unsigned<'_>,
    signing: &Signing,
    time: SystemTime,
) -> Vec<(&'static str, String)> {
    let Signing { keys, rules, .. } = signing;
    let scope = Scope::new(signing, time);
    let body_hash = hex(digest::digest(&digest::SHA256, request.body).as_ref());
    let mut added = vec![("x-amz-date", scope.time.clone())];
    if rules.send_body_hash {
        added.push(("x-amz-content-sha256", body_hash.clone()));
    }
    let token = keys.session_token.as_ref().map(|token| token.expose_secret().to_owned());
    let token = token.map(|token| ("x-amz-security-token", token));
    if rules.sign_session_token {
        added.extend(token.clone());
    }
    let target = Target::of(request.url);
    let headers = SignedHeaders::new(&target, request.headers, &added);
    let canonical = canonical_request(request, &target, *rules, &headers, &body_hash);
    let signature = scope.signature(keys, &canonical);
    if !rules.sign_session_token {
        added.extend(token);
    }
    let authorization = format!(
        "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={signature}",
        keys.access_key_id, scope.name, headers.names
    );
    added.push(("authorization", authorization));
    added
}

/// The time and the part of the cloud for which a signature is valid.
struct Scope<'a> {
    signing: &'a Signing,
    /// The time in the form `20150830T123600Z`.
    time: String,
    name: String,
}

impl<'a> Scope<'a> {
    fn new(signing: &'a Signing, time: SystemTime) -> Self {
        let time = basic_time(time);
        let day = time.get(..8).unwrap_or_default();
        let name = format!("{day}/{}/{}/aws4_request", signing.region, signing.service);
        Self { signing, time, name }
    }

    fn string_to_sign(&self, canonical: &str) -> String {
        let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        format!("{ALGORITHM}\n{}\n{}\n{hash}", self.time, self.name)
    }

    fn signature(&self, keys: &AwsKeys, canonical: &str) -> String {
        let text = self.string_to_sign(canonical);
        let secret = format!("AWS4{}", keys.secret_access_key.expose_secret());
        let day = self.time.get(..8).unwrap_or_default();
        let parts = [day, &self.signing.region, &self.signing.service, "aws4_request", &text];
        let mut key = secret.into_bytes();
        for part in parts {
            let hmac_key = hmac::Key::new(hmac::HMAC_SHA256, &key);
            key = hmac::sign(&hmac_key, part.as_bytes()).as_ref().to_vec();
        }
        hex(&key)
    }
}

/// The parts of a URL.
struct Target<'a> {
    host: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> Target<'a> {
    fn of(url: &'a str) -> Self {
        let url = url.split_once('#').map_or(url, |(url, _)| url);
        let host_at = url.find("://").map_or(0, |at| at + 3);
        let rest = url.get(host_at..).unwrap_or_default();
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, tail) = rest.split_at(path_at);
        let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
        Self { host, path: if path.is_empty() { "/" } else { path }, query }
    }
}

/// The signed headers in canonical form.
struct SignedHeaders {
    /// The names, sorted and separated by semicolons.
    names: String,
    /// A line per name.
    lines: String,
}

impl SignedHeaders {
    fn new(target: &Target<'_>, given: &[(&str, &str)], added: &[(&str, String)]) -> Self {
        let given = given.iter().filter(|(name, _)| {
            let is_added = added.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
            !is_added && !name.eq_ignore_ascii_case("host")
        });
        let given = given.map(|(name, value)| (*name, *value));
        let added = added.iter().map(|(name, value)| (*name, value.as_str()));
        let mut all: Vec<(String, String)> = std::iter::once(("host", target.host))
            .chain(given)
            .chain(added)
            .map(|(name, value)| (name.to_ascii_lowercase(), trimmed(value)))
            .collect();
        // Stable: values of the same name keep their order.
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut headers = Self { names: String::new(), lines: String::new() };
        let mut last = None;
        for (name, value) in &all {
            if last == Some(name) {
                headers.lines.push(',');
            } else {
                if last.is_some() {
                    headers.names.push(';');
                    headers.lines.push('\n');
                }
                headers.names.push_str(name);
                let _ = write!(headers.lines, "{name}:");
            }
            headers.lines.push_str(value);
            last = Some(name);
        }
        headers
    }
}

/// Reduces runs of white space to one space.
fn trimmed(value: &str) -> String {
    value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn canonical_request(
    request: &Unsigned<'_>,
    target: &Target<'_>,
    rules: Rules,
    headers: &SignedHeaders,
    body_hash: &str,
) -> String {
    let path = if rules.normalize_path { normalized(target.path) } else { target.path.to_owned() };
    let escapes = if rules.encode_path_again { Escapes::EncodeAll } else { Escapes::Keep };
    let path: Vec<String> = path.split('/').map(|segment| escaped(segment, escapes)).collect();
    format!(
        "{}\n{}\n{}\n{}\n\n{}\n{body_hash}",
        request.method,
        path.join("/"),
        canonical_query(target.query),
        headers.lines,
        headers.names,
    )
}

/// Removes empty and relative segments.
fn normalized(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let ends_in_directory = path.ends_with(['/', '.']) && !segments.is_empty();
    let last = path.rsplit('/').next().unwrap_or_default();
    let slash = if ends_in_directory && matches!(last, "" | "." | "..") { "/" } else { "" };
    format!("/{}{slash}", segments.join("/"))
}

fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (escaped(name, Escapes::Keep), escaped(value, Escapes::Keep))
        })
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// The treatment of escapes that a text already has.
#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    /// The percent sign is encoded again.
    EncodeAll,
    /// A valid escape is left alone.
    Keep,
}

/// Encodes all bytes but letters, digits and `-._~`.
fn escaped(text: &str, escapes: Escapes) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().copied().enumerate() {
        let is_escape = byte == b'%'
            && escapes == Escapes::Keep
            && [at + 1, at + 2].iter().all(|at| bytes.get(*at).is_some_and(u8::is_ascii_hexdigit));
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || is_escape {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Formats a time as `20150830T123600Z`.
fn basic_time(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y%m%dT%H%M%SZ").to_string()
}
