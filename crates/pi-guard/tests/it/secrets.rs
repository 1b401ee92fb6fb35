//! Secrets in texts: what must be masked, what must stay, and that masks keep their promises.
//!
//! Every fake is put together here from a prefix and letters drawn from a seed, so that no file of
//! the repository looks like a leak.

mod stays;
mod table;

use std::borrow::Cow;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pi_guard::secrets::{Secrets, environment_secrets};
use proptest::prelude::*;

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Letters drawn by lot, the same every time.
fn draw(seed: u64, alphabet: &str, count: usize) -> String {
    let letters = alphabet.as_bytes();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(letters[(state >> 33) as usize % letters.len()])
        })
        .collect()
}

#[test]
fn credentials_are_masked() {
    let cases = table::all();
    assert!(cases.len() >= 60, "{}", cases.len());
    for (kind, text, secret) in cases {
        let secrets = Secrets::default();
        assert!(text.contains(&secret), "{kind}: {text} {secret}");
        let masked = secrets.redact(&text);
        assert!(!masked.contains(&secret), "{kind}: {masked}");
        assert!(masked.contains(&format!("[masked:{kind}:")), "{kind}: {masked}");
        assert!(Secrets::has_placeholder(&masked), "{masked}");
        // Only the secret goes.
        let (before, after) = text.split_once(&secret).unwrap();
        assert!(masked.starts_with(before) && masked.ends_with(after), "{kind}: {text}: {masked}");
        assert_eq!(secrets.redact(&masked), masked, "{kind}: a second time");
        assert_eq!(secrets.restore(&masked).unwrap(), text, "{kind}");
        // And wherever it stands.
        for (left, right) in
            [("", "\n"), ("a text\n", ""), ("\\n", "\\n"), ("\u{1b}[1;31m", "\u{1b}[0m")]
        {
            let inside = format!("{left}{text}{right}");
            assert!(!secrets.redact(&inside).contains(&secret), "{kind}: {inside}");
        }
    }
}

#[test]
fn ordinary_text_stays() {
    let cases = stays::all();
    assert!(cases.len() >= 60, "{}", cases.len());
    let secrets = Secrets::default();
    for text in cases {
        assert!(
            matches!(secrets.redact(&text), Cow::Borrowed(_)),
            "{text}: {}",
            secrets.redact(&text)
        );
    }
}

#[test]
fn a_mask_is_the_same_everywhere_and_says_nothing_else() {
    let token = format!("{}{}", "ghp_", draw(1, ALNUM, 36));
    let other = format!("{}{}", "ghp_", draw(2, ALNUM, 36));
    let (one, two) = (Secrets::default(), Secrets::new([token.clone()]));
    assert_eq!(one.redact(&token), two.redact(&token), "known or only recognised");
    assert_ne!(one.redact(&token), one.redact(&other));
    let masked = two.redact(&token).into_owned();
    assert_eq!(masked.len(), "[masked:github-token:000000]".len());
    assert_eq!(two.restore(&masked).unwrap(), token);
    let stranger = Secrets::default().restore(&masked).unwrap_err();
    assert_eq!(stranger.placeholder, masked);
    assert!(stranger.to_string().contains(&masked));
    assert!(!format!("{two:?}").contains(&token));
    assert!(!Secrets::has_placeholder(
        "[masked:x] [masked::123456] [masked:a:12345] [masked:a:123456"
    ));
    assert_eq!(Secrets::default().restore("no mask").unwrap(), "no mask");
}

#[test]
fn own_values_are_masked_in_every_spelling() {
    let key = "a\"b/c d+é-OWN\\42";
    let secrets = Secrets::new([key.to_owned()]);
    let json = serde_json::to_string(key).unwrap();
    let spellings = [
        key.to_owned(),
        json[1..json.len() - 1].to_owned(),
        serde_json::to_string(&json).unwrap(),
        STANDARD.encode(format!("user:{key}")),
        STANDARD.encode(format!("me:{key}")),
        STANDARD.encode(format!("u:{key}!!")),
        URL_SAFE_NO_PAD.encode(key),
        "a%22b%2Fc%20d%2B%C3%A9-OWN%5C42".to_owned(),
        "a%22b%2fc%20d%2b%c3%a9-OWN%5c42".to_owned(),
        "a%22b%2Fc+d%2B%C3%A9-OWN%5C42".to_owned(),
    ];
    for spelling in spellings {
        let text = format!("before {spelling} after");
        let masked = secrets.redact_known(&text);
        assert!(masked.contains("[masked:own-secret:"), "{spelling}: {masked}");
        assert!(!masked.contains("OWN") && masked.len() < 70, "{masked}");
        assert_eq!(secrets.restore(&masked).unwrap(), text);
    }
    secrets.add(["learned-later-1".to_owned()]);
    assert!(!secrets.redact_known("it is learned-later-1.").contains("later"));
    let token = format!("{}{}", "ghp_", draw(3, ALNUM, 36));
    assert_eq!(secrets.redact_known(&token), token, "not ours");
}

#[test]
fn what_is_no_secret_is_not_learned() {
    let values = [
        "true",
        "short",
        "/home/me/key.pem",
        "~/.ssh/id_rsa",
        "https://example.com/v1/models",
        "localhost:8080",
        "api.example.com",
        "postgres",
        "!pass show pi",
        "$OTHER_VARIABLE",
        "xxxxxxxxxxxx",
        "",
    ];
    let secrets = Secrets::new(values.map(str::to_owned));
    for value in values {
        assert_eq!(secrets.redact_known(value), value);
    }
}

#[test]
fn variables_that_say_secret_are_own_values() {
    let random = draw(9, ALNUM, 24);
    let given = [
        ("ANTHROPIC_API_KEY", "one-key-1"),
        ("my_password", "correct horse"),
        ("HTTPS_PROXY", "http://me:se%40cret-word@proxy:3128"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_SESSION", &random),
        ("PATH", "/usr/bin"),
        ("KEYBOARD", "colemak-dh"),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let expected = ["one-key-1", "correct horse", "se%40cret-word", "se@cret-word", &random];
    assert_eq!(environment_secrets(&given), expected);
}

#[test]
fn json_is_masked_with_its_names() {
    let token = format!("{}{}", "hf_", draw(4, ALNUM, 34));
    let plain = draw(5, ALNUM, 30);
    let mut value = serde_json::json!({
        "z": [1, true, null, format!("use {token}")],
        token.clone(): "x",
        "api_key": plain,
        "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8",
    });
    let before = value.clone();
    let secrets = Secrets::default();
    secrets.redact_json(&mut value);
    let text = value.to_string();
    assert!(!text.contains(&token) && !text.contains(&plain), "{text}");
    assert!(text.starts_with("{\"z\":[1,true,null,\"use [masked:huggingface-token:"), "{text}");
    assert_eq!(value["commit"], before["commit"]);
    assert_eq!(secrets.restore(&text).unwrap(), before.to_string());
}

#[test]
fn private_keys_are_masked_in_pieces_too() {
    let line = |seed| draw(seed, BASE64, 64);
    let begin = format!("-----{} RSA {} KEY-----", "BEGIN", "PRIVATE");
    let end = format!("-----{} RSA {} KEY-----", "END", "PRIVATE");
    let (one, two, three) = (line(1), line(2), format!("{}==", draw(3, BASE64, 20)));
    let whole = format!("{begin}\n{one}\n{two}\n{three}\n{end}");
    let texts = [
        format!("key:\n{whole}\nand more words"),
        format!("cut off: {begin}\n{one}\n{two}"),
        format!("cut off: {begin}\r\n{one}\r\n{two}\r\nbut there is more text"),
        format!("{one}\n{two}\n{three}\n{end}\nmore"),
        format!("{}\n{two}\n{three}\n{end}\nmore", &one[40..]),
        whole.replace('\n', "\\n"),
        format!("{{\"key\": \"{}\\n\"}}", whole.replace('\n', "\\n")),
        format!("{two}\\n{three}\\n{end}\\n\""),
        whole.lines().map(|line| format!("+{line}\n")).collect(),
        whole.lines().map(|line| format!("    {line}\n")).collect(),
        whole.lines().enumerate().map(|(n, line)| format!("{:>6}\t{line}\n", n + 1)).collect(),
        whole.replace(&one, &format!("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\n{one}")),
        whole.replace(" RSA ", " OPENSSH "),
        whole.replace(" RSA ", " ").replace("KEY-----", "KEY BLOCK-----"),
    ];
    let secrets = Secrets::default();
    for text in texts {
        let masked = secrets.redact(&text);
        for secret in [&one[44..], &two, &three] {
            assert!(!masked.contains(secret), "{text}\n→ {masked}");
        }
        assert!(masked.contains("[masked:private-key:"), "{masked}");
        assert!(!text.contains("more") || masked.contains("more"), "{masked}");
        assert_eq!(secrets.restore(&masked).unwrap(), text);
        assert_eq!(secrets.redact(&masked), masked);
    }
    let public = whole.replace("PRIVATE", "PUBLIC");
    assert_eq!(secrets.redact(&public), public);
}

/// A key of ours, in some spelling.
fn spelled(key: &str, how: u8) -> String {
    match how % 5 {
        0 => key.to_owned(),
        1 => STANDARD.encode(format!("{}{key}", "x".repeat(usize::from(how) % 7))),
        2 => key.bytes().fold(String::new(), |out, byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                format!("{out}{}", char::from(byte))
            }
            _ => format!("{out}%{byte:02X}"),
        }),
        3 => serde_json::to_string(key).unwrap(),
        _ => format!("Authorization: Bearer {key}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn masks_keep_their_promises(
        // Without colons: what looks like an address or a host with a port is not learned.
        keys in proptest::collection::vec("[A-Za-z0-9+=\"\\\\%é@_-][A-Za-z0-9/+=\"\\\\%é@_-]{3}[0-9A-Za-z]{9,20}[0-9]{2}", 1..4),
        pieces in proptest::collection::vec(
            ("(api_key|token|://u|:|@h|=| |\"|\n|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|Cookie: a=|[ -~]{0,12}|[a-zA-Z0-9]{20,40}|\\PC{0,3})", any::<u8>()),
            0..20,
        ),
    ) {
        let secrets = Secrets::new(keys.clone());
        let mut text = String::new();
        for (piece, how) in &pieces {
            text.push_str(piece);
            if how % 3 == 0 {
                text.push_str(&spelled(&keys[usize::from(*how) % keys.len()], *how));
            }
        }
        let before = text.clone();
        for masked in [secrets.redact(&text), secrets.redact_known(&text)] {
            for key in &keys {
                prop_assert!(!masked.contains(key.as_str()), "{key} in {masked}");
                let encoded = STANDARD.encode(key);
                let inner = &encoded[..encoded.trim_end_matches('=').len() - 1];
                prop_assert!(!masked.contains(inner), "{inner} in {masked}");
                let json = serde_json::to_string(key).unwrap();
                prop_assert!(!masked.contains(&json[1..json.len() - 1]), "{json} in {masked}");
            }
            prop_assert_eq!(secrets.restore(&masked).unwrap(), before.as_str());
        }
        let once = secrets.redact(&text).into_owned();
        let twice = secrets.redact(&once);
        prop_assert_eq!(twice.as_ref(), once.as_str());
    }
}

/// Not a test of time: run it by hand in a release build and read what it prints.
#[test]
#[ignore = "a measurement"]
fn how_long_a_megabyte_takes() {
    let secrets = Secrets::new((0..10).map(|seed| draw(seed, ALNUM, 40)));
    let code = include_str!("../../src/secrets.rs");
    let log =
        "2026-01-02T03:04:05Z INFO request id=3f2504e0-4f89-41d3-9a0c-0305e82c3301 took 12 ms\n";
    let blob = draw(77, BASE64, 76) + "\n";
    let hostile = [
        "eyJhbGciOi.",
        "-----BEGIN PRIVATE KEY-----\n",
        "://a:",
        "token=",
        "sk-sk-sk-",
        "a=\"token:",
    ];
    let texts = [("code", code), ("log", log), ("base64", blob.as_str())];
    for (name, piece) in texts.into_iter().chain(hostile.into_iter().map(|piece| (piece, piece))) {
        let text = piece.repeat((1 << 20) / piece.len());
        secrets.redact("warm");
        let start = Instant::now();
        let masked = secrets.redact(&text);
        eprintln!(
            "{name}: {:?}, {} kB → {} kB",
            start.elapsed(),
            text.len() >> 10,
            masked.len() >> 10
        );
    }
}
