//! Credentials that are recognized by their shape: a prefix that the issuer chose, an alphabet and
//! a length. The prefixes and lengths are those published by the issuers as of 2026, with some
//! tolerance upwards.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::random::{is_stand_in, is_word};
use super::{Kind, Span};

/// The alphabet of the part after a prefix.
#[derive(Clone, Copy)]
enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`: base64 for URLs.
    Url,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Lower-case hexadecimal digits.
    Hex,
    /// Upper-case letters and 2 to 7.
    Base32,
    /// Upper-case letters and digits.
    Upper,
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => is_word(byte),
            Self::Url => is_word(byte) || byte == b'-',
            Self::Dotted => is_word(byte) || matches!(byte, b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

/// No greatest length.
const ANY: usize = usize::MAX;

/// Kind, prefix, alphabet, and the least and greatest length of the part after the prefix.
const SHAPES: &[(Kind, &str, Alphabet, usize, usize)] = &[
    ("anthropic-key", "sk-ant-", Alphabet::Url, 24, ANY),
    ("openai-key", "sk-proj-", Alphabet::Url, 20, ANY),
    ("openai-key", "sk-svcacct-", Alphabet::Url, 20, ANY),
    ("openai-key", "sk-admin-", Alphabet::Url, 20, ANY),
    ("openrouter-key", "sk-or-v1-", Alphabet::Hex, 48, 128),
    // Old keys of OpenAI, and keys of providers with the same form.
    ("sk-key", "sk-", Alphabet::Alnum, 32, 128),
    ("google-key", "AIza", Alphabet::Url, 35, 35),
    ("google-token", "ya29.", Alphabet::Url, 20, ANY),
    ("google-secret", "GOCSPX-", Alphabet::Url, 28, 28),
    ("github-token", "ghp_", Alphabet::Alnum, 36, 255),
    ("github-token", "gho_", Alphabet::Alnum, 36, 255),
    ("github-token", "ghu_", Alphabet::Dotted, 36, ANY),
    ("github-token", "ghs_", Alphabet::Dotted, 36, ANY),
    ("github-token", "ghr_", Alphabet::Alnum, 36, 255),
    ("github-token", "github_pat_", Alphabet::Word, 36, 255),
    ("gitlab-token", "glpat-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "gldt-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "glptt-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "glrt-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "glcbt-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "glsoat-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "gloas-", Alphabet::Dotted, 20, 400),
    ("gitlab-token", "glagent-", Alphabet::Dotted, 20, 400),
    ("aws-key-id", "AKIA", Alphabet::Base32, 16, 16),
    ("aws-key-id", "ASIA", Alphabet::Base32, 16, 16),
    ("aws-bedrock-key", "ABSK", Alphabet::Base64, 100, 300),
    ("slack-token", "xoxb-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxp-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxa-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxo-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxs-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxr-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxc-", Alphabet::Url, 20, 255),
    ("slack-token", "xoxd-", Alphabet::Url, 20, 400),
    ("slack-token", "xoxe-", Alphabet::Url, 20, 400),
    ("slack-token", "xoxe.xoxb-", Alphabet::Url, 20, 400),
    ("slack-token", "xoxe.xoxp-", Alphabet::Url, 20, 400),
    ("slack-token", "xapp-", Alphabet::Url, 30, 255),
    ("stripe-key", "sk_live_", Alphabet::Alnum, 16, 255),
    ("stripe-key", "sk_test_", Alphabet::Alnum, 16, 255),
    ("stripe-key", "rk_live_", Alphabet::Alnum, 16, 255),
    ("stripe-key", "rk_test_", Alphabet::Alnum, 16, 255),
    ("webhook-secret", "whsec_", Alphabet::Base64, 32, 128),
    ("npm-token", "npm_", Alphabet::Alnum, 36, 36),
    ("pypi-token", "pypi-", Alphabet::Url, 70, ANY),
    ("huggingface-token", "hf_", Alphabet::Alnum, 34, 40),
    ("groq-key", "gsk_", Alphabet::Alnum, 40, 80),
    ("xai-key", "xai-", Alphabet::Alnum, 60, 120),
    ("perplexity-key", "pplx-", Alphabet::Alnum, 40, 80),
    ("nvidia-key", "nvapi-", Alphabet::Url, 50, 120),
    ("cerebras-key", "csk-", Alphabet::Alnum, 40, 80),
    ("fireworks-key", "fw_", Alphabet::Alnum, 22, 40),
    ("replicate-token", "r8_", Alphabet::Alnum, 37, 37),
    ("tavily-key", "tvly-", Alphabet::Url, 28, 80),
    ("twilio-key", "SK", Alphabet::Hex, 32, 32),
    ("digitalocean-token", "dop_v1_", Alphabet::Hex, 64, 64),
    ("digitalocean-token", "doo_v1_", Alphabet::Hex, 64, 64),
    ("digitalocean-token", "dor_v1_", Alphabet::Hex, 64, 64),
    ("docker-token", "dckr_pat_", Alphabet::Url, 27, 60),
    ("docker-token", "dckr_oat_", Alphabet::Url, 27, 60),
    ("databricks-token", "dapi", Alphabet::Hex, 32, 32),
    ("grafana-token", "glsa_", Alphabet::Word, 32, 80),
    ("linear-key", "lin_api_", Alphabet::Alnum, 32, 80),
    ("notion-token", "ntn_", Alphabet::Alnum, 40, 60),
    ("shopify-token", "shpat_", Alphabet::Hex, 32, 32),
    ("shopify-token", "shpss_", Alphabet::Hex, 32, 32),
    ("mailgun-key", "key-", Alphabet::Hex, 32, 32),
    ("postman-key", "PMAK-", Alphabet::Url, 50, 70),
    ("supabase-token", "sbp_", Alphabet::Hex, 40, 40),
    ("rubygems-key", "rubygems_", Alphabet::Hex, 48, 48),
    ("pulumi-token", "pul-", Alphabet::Hex, 40, 40),
    ("vault-token", "hvs.", Alphabet::Url, 24, ANY),
    ("atlassian-token", "ATATT3", Alphabet::Base64, 100, 300),
    ("tailscale-key", "tskey-", Alphabet::Url, 24, 120),
    ("age-key", "AGE-SECRET-KEY-1", Alphabet::Upper, 58, 58),
];

/// Prefixes of the first part of a Discord token: a number in base64.
const DISCORD: &[&str] = &["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"];

const JWT: usize = SHAPES.len();
const SENDGRID: usize = JWT + 1;
const TELEGRAM: usize = JWT + 2;
const SLACK_HOOK: usize = JWT + 3;
const DISCORD_HOOK: usize = JWT + 4;
const SIGNED: usize = JWT + 5;
const OTHERS: &[&str] = &["eyJ", "SG.", ":AA", "hooks.slack.com/", "/api/webhooks/", "sig="];

static PREFIXES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let all = SHAPES.iter().map(|shape| shape.1).chain(OTHERS.iter().copied());
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(all.chain(DISCORD.iter().copied()))
        .ok()
});

/// Adds everything with the shape of a credential.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let Some(prefixes) = &*PREFIXES else { return };
    let bytes = text.as_bytes();
    for hit in prefixes.find_overlapping_iter(text) {
        let (start, end) = (hit.start(), hit.end());
        let found = match hit.pattern().as_usize() {
            TELEGRAM => telegram(bytes, start),
            SLACK_HOOK | DISCORD_HOOK => hook(bytes, end, hit.pattern().as_usize() == SLACK_HOOK),
            SIGNED => signature(bytes, start, end),
            _ if !is_beginning(bytes, start) => None,
            JWT => jwt(bytes, start),
            SENDGRID => {
                parts(bytes, end, &[(22, 22), (43, 43)]).map(|end| ("sendgrid-key", start, end))
            }
            index => match SHAPES.get(index) {
                Some(&(kind, _, of, least, most)) => plain(bytes, end, of, least, most)
                    .filter(|end| !is_stand_in(&text[hit.end()..*end]))
                    .map(|end| (kind, start, end)),
                None => parts(bytes, start, &[(24, 30), (6, 6), (27, 40)])
                    .map(|end| ("discord-token", start, end)),
            },
        };
        spans.extend(found.map(|(kind, start, end)| Span { start, end, kind }));
    }
}

/// Returns true if a word begins at `at`, also after an escape in JSON (`\n`), in a URL (`%20`) or
/// for a terminal (`ESC[31m`).
pub(super) fn is_beginning(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let Some(&last) = before.last() else { return true };
    if !is_word(last) {
        return true;
    }
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        [.., b'm'] => {
            let numbers = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
            let color = before.iter().rev().skip(1).take(20).take_while(numbers).count();
            before[..at - 1 - color].ends_with(b"\x1b[")
        }
        _ => false,
    }
}

fn length(bytes: &[u8], at: usize, has: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().take_while(|byte| has(**byte)).count()
}

fn plain(bytes: &[u8], at: usize, of: Alphabet, least: usize, most: usize) -> Option<usize> {
    let mut long = length(bytes, at, |byte| of.has(byte));
    // Punctuation at the end is not part of a token.
    while long > 0 && matches!(bytes[at + long - 1], b'.' | b'-') {
        long -= 1;
    }
    let ends = |next: &u8| !next.is_ascii_alphanumeric();
    (long >= least && long <= most && bytes.get(at + long).is_none_or(ends)).then_some(at + long)
}

/// Returns the end of parts with dots between them, each with its least and greatest length.
fn parts(bytes: &[u8], at: usize, lengths: &[(usize, usize)]) -> Option<usize> {
    let mut end = at;
    for (index, (least, most)) in lengths.iter().enumerate() {
        if index > 0 {
            end += usize::from(bytes.get(end) == Some(&b'.'));
        }
        let long = length(bytes, end, |byte| Alphabet::Url.has(byte));
        if long < *least || long > *most {
            return None;
        }
        end += long;
    }
    Some(end)
}

/// Header, claims and signature, if the header can be decoded.
fn jwt(bytes: &[u8], start: usize) -> Option<(Kind, usize, usize)> {
    let header = length(bytes, start, |byte| Alphabet::Url.has(byte));
    let json = URL_SAFE_NO_PAD.decode(&bytes[start..start + header]).ok()?;
    let header_fields: serde_json::Value = serde_json::from_slice(&json).ok()?;
    header_fields.get("alg")?;
    let mut end = start + header;
    let mut count = 1;
    while count < 5 && bytes.get(end) == Some(&b'.') {
        let long = length(bytes, end + 1, |byte| Alphabet::Url.has(byte));
        // The second part of an encrypted token may be empty.
        if long < 8 && !(count == 1 && bytes.get(end + 1) == Some(&b'.')) {
            break;
        }
        end += 1 + long;
        count += 1;
    }
    (count >= 3).then_some(("jwt", start, end))
}

/// Digits, a colon and 35 characters that begin with `AA`.
fn telegram(bytes: &[u8], colon: usize) -> Option<(Kind, usize, usize)> {
    let digits = bytes[..colon].iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count();
    let start = colon - digits;
    let long = length(bytes, colon + 1, |byte| Alphabet::Url.has(byte));
    // In URLs the number follows `bot`.
    let begins = is_beginning(bytes, start) || bytes[..start].ends_with(b"bot");
    let fits = (8..=10).contains(&digits) && long == 35 && begins;
    fits.then_some(("telegram-token", start, colon + 1 + long))
}

/// The secret path of a URL for incoming messages.
fn hook(bytes: &[u8], at: usize, slack: bool) -> Option<(Kind, usize, usize)> {
    let long = length(bytes, at, |byte| Alphabet::Url.has(byte) || byte == b'/');
    let kind = if slack { "slack-webhook" } else { "discord-webhook" };
    (long >= 40).then_some((kind, at, at + long))
}

/// The signature in a URL that grants access.
fn signature(bytes: &[u8], start: usize, at: usize) -> Option<(Kind, usize, usize)> {
    let asked = start.checked_sub(1).is_some_and(|before| matches!(bytes[before], b'?' | b'&'));
    let long = length(bytes, at, |byte| Alphabet::Base64.has(byte) || byte == b'%');
    (asked && long >= 40).then_some(("signature", at, at + long))
}
