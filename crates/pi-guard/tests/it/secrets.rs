//! Redaction: texts with secrets, texts that must not change, and properties of placeholders.
//!
//! Fake credentials are assembled from a prefix and pseudo-random characters, so that no file of the
//! repository looks like a leak.

mod credentials;
mod unchanged;

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

/// Returns pseudo-random characters, the same for the same seed.
fn random(seed: u64, alphabet: &str, count: usize) -> String {
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
fn credentials_are_redacted_and_restored() {
    let cases = credentials::all();
    assert!(cases.len() >= 60, "{}", cases.len());
    for (kind, text, secret) in cases {
        let secrets = Secrets::default();
        assert!(text.contains(&secret), "{kind}: {text} {secret}");
        let redacted = secrets.redact(&text);
        assert!(!redacted.contains(&secret), "{kind}: {redacted}");
        assert!(redacted.contains(&format!("[masked:{kind}:")), "{kind}: {redacted}");
        assert!(Secrets::has_placeholder(&redacted), "{redacted}");
        // Only the secret is replaced.
        let (before, after) = text.split_once(&secret).unwrap();
        assert!(
            redacted.starts_with(before) && redacted.ends_with(after),
            "{kind}: {text}: {redacted}"
        );
        assert_eq!(secrets.redact(&redacted), redacted, "{kind}: a second time");
        assert_eq!(secrets.restore(&redacted).unwrap(), text, "{kind}");
        // The surrounding text makes no difference.
        for (left, right) in
            [("", "\n"), ("a text\n", ""), ("\\n", "\\n"), ("\u{1b}[1;31m", "\u{1b}[0m")]
        {
            let inside = format!("{left}{text}{right}");
            assert!(!secrets.redact(&inside).contains(&secret), "{kind}: {inside}");
        }
    }
}

#[test]
fn ordinary_text_is_unchanged() {
    let cases = unchanged::all();
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
fn the_same_secret_always_has_the_same_short_placeholder() {
    let token = format!("{}{}", "ghp_", random(1, ALNUM, 36));
    let other = format!("{}{}", "ghp_", random(2, ALNUM, 36));
    let (one, two) = (Secrets::default(), Secrets::new([token.clone()]));
    assert_eq!(one.redact(&token), two.redact(&token), "known or only recognized");
    assert_ne!(one.redact(&token), one.redact(&other));
    let redacted = two.redact(&token).into_owned();
    assert_eq!(redacted.len(), "[masked:github-token:000000]".len());
    assert_eq!(two.restore(&redacted).unwrap(), token);
    let error = Secrets::default().restore(&redacted).unwrap_err();
    assert_eq!(error.placeholder, redacted);
    assert!(error.to_string().contains(&redacted));
    assert!(!format!("{two:?}").contains(&token));
    assert!(!Secrets::has_placeholder(
        "[masked:x] [masked::123456] [masked:a:12345] [masked:a:123456"
    ));
    assert_eq!(Secrets::default().restore("plain").unwrap(), "plain");
}

#[test]
fn known_values_are_redacted_in_every_encoding() {
    let key = "a\"b/c d+é-OWN\\42";
    let secrets = Secrets::new([key.to_owned()]);
    let json = serde_json::to_string(key).unwrap();
    let encodings = [
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
    for encoding in encodings {
        let text = format!("before {encoding} after");
        let redacted = secrets.redact_known(&text);
        assert!(redacted.contains("[masked:own-secret:"), "{encoding}: {redacted}");
        assert!(!redacted.contains("OWN") && redacted.len() < 70, "{redacted}");
        assert_eq!(secrets.restore(&redacted).unwrap(), text);
    }
    secrets.add(["added-later-1".to_owned()]);
    assert!(!secrets.redact_known("it is added-later-1.").contains("later"));
    let token = format!("{}{}", "ghp_", random(3, ALNUM, 36));
    assert_eq!(secrets.redact_known(&token), token, "not a known value");
}

#[test]
fn values_that_are_obviously_not_secret_are_ignored() {
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
fn secrets_are_found_in_the_environment() {
    let value = random(9, ALNUM, 24);
    let given = [
        ("ANTHROPIC_API_KEY", "one-key-1"),
        ("my_password", "correct horse"),
        ("HTTPS_PROXY", "http://me:se%40cret-word@proxy:3128"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_SESSION", &value),
        ("PATH", "/usr/bin"),
        ("KEYBOARD", "colemak-dh"),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let expected = ["one-key-1", "correct horse", "se%40cret-word", "se@cret-word", &value];
    assert_eq!(environment_secrets(&given), expected);
}

#[test]
fn json_is_redacted_with_its_field_names() {
    let token = format!("{}{}", "hf_", random(4, ALNUM, 34));
    let plain = random(5, ALNUM, 30);
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
fn parts_of_private_keys_are_redacted() {
    let line = |seed| random(seed, BASE64, 64);
    let begin = format!("-----{} RSA {} KEY-----", "BEGIN", "PRIVATE");
    let end = format!("-----{} RSA {} KEY-----", "END", "PRIVATE");
    let (one, two, three) = (line(1), line(2), format!("{}==", random(3, BASE64, 20)));
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
        let redacted = secrets.redact(&text);
        for secret in [&one[44..], &two, &three] {
            assert!(!redacted.contains(secret), "{text}\n→ {redacted}");
        }
        assert!(redacted.contains("[masked:private-key:"), "{redacted}");
        assert!(!text.contains("more") || redacted.contains("more"), "{redacted}");
        assert_eq!(secrets.restore(&redacted).unwrap(), text);
        assert_eq!(secrets.redact(&redacted), redacted);
    }
    let public = whole.replace("PRIVATE", "PUBLIC");
    assert_eq!(secrets.redact(&public), public);
}

/// Returns a key in one of several encodings.
fn encoded(key: &str, variant: u8) -> String {
    match variant % 5 {
        0 => key.to_owned(),
        1 => STANDARD.encode(format!("{}{key}", "x".repeat(usize::from(variant) % 7))),
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
    fn redaction_is_complete_reversible_and_idempotent(
        // Without colons: values that look like a URL or a host with a port are ignored.
        keys in proptest::collection::vec("[A-Za-z0-9+=\"\\\\%é@_-][A-Za-z0-9/+=\"\\\\%é@_-]{3}[0-9A-Za-z]{9,20}[0-9]{2}", 1..4),
        pieces in proptest::collection::vec(
            ("(api_key|token|://u|:|@h|=| |\"|\n|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|Cookie: a=|[ -~]{0,12}|[a-zA-Z0-9]{20,40}|\\PC{0,3})", any::<u8>()),
            0..20,
        ),
    ) {
        let secrets = Secrets::new(keys.clone());
        let mut text = String::new();
        for (piece, variant) in &pieces {
            text.push_str(piece);
            if variant % 3 == 0 {
                text.push_str(&encoded(&keys[usize::from(*variant) % keys.len()], *variant));
            }
        }
        let before = text.clone();
        for redacted in [secrets.redact(&text), secrets.redact_known(&text)] {
            for key in &keys {
                prop_assert!(!redacted.contains(key.as_str()), "{key} in {redacted}");
                let encoded = STANDARD.encode(key);
                let inner = &encoded[..encoded.trim_end_matches('=').len() - 1];
                prop_assert!(!redacted.contains(inner), "{inner} in {redacted}");
                let json = serde_json::to_string(key).unwrap();
                prop_assert!(!redacted.contains(&json[1..json.len() - 1]), "{json} in {redacted}");
            }
            prop_assert_eq!(secrets.restore(&redacted).unwrap(), before.as_str());
        }
        let once = secrets.redact(&text).into_owned();
        let twice = secrets.redact(&once);
        prop_assert_eq!(twice.as_ref(), once.as_str());
    }
}

/// Prints the time for a megabyte of text. Run it by hand in a release build.
#[test]
#[ignore = "a measurement"]
fn time_for_a_megabyte() {
    let secrets = Secrets::new((0..10).map(|seed| random(seed, ALNUM, 40)));
    let code = include_str!("../../src/secrets.rs");
    let log =
        "2026-01-02T03:04:05Z INFO request id=3f2504e0-4f89-41d3-9a0c-0305e82c3301 took 12 ms\n";
    let blob = random(77, BASE64, 76) + "\n";
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
        let redacted = secrets.redact(&text);
        eprintln!(
            "{name}: {:?}, {} kB → {} kB",
            start.elapsed(),
            text.len() >> 10,
            redacted.len() >> 10
        );
    }
}

/// Returns a dump of bytes as `xxd` prints it.
fn xxd(bytes: &[u8]) -> String {
    let line = |(number, chunk): (usize, &[u8])| {
        let pairs: Vec<String> = chunk
            .chunks(2)
            .map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect())
            .collect();
        let shown = String::from_utf8_lossy(chunk);
        format!("{:08x}: {:<39}  {shown}\n", number * 16, pairs.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

fn join(key: &str, number: impl Fn(u8) -> String) -> String {
    key.bytes().map(number).collect()
}

#[test]
fn known_values_are_redacted_in_transformations() {
    let key = format!("sk-ant-api03-{}", random(11, ALNUM, 60));
    let secrets = Secrets::new([key.clone()]);
    let between =
        |separator: &str| key.chars().map(String::from).collect::<Vec<_>>().join(separator);
    let folded = |width: usize| {
        let lines: Vec<&[u8]> = key.as_bytes().chunks(width).collect();
        String::from_utf8(lines.join(&b'\n')).unwrap()
    };
    let rot13 = join(&key, |byte| {
        let first = if byte.is_ascii_lowercase() { b'a' } else { b'A' };
        let turned =
            if byte.is_ascii_alphabetic() { first + (byte - first + 13) % 26 } else { byte };
        char::from(turned).to_string()
    });
    let words: Vec<String> = key
        .as_bytes()
        .chunks_exact(2)
        .map(|pair| format!("{:02x}{:02x}", pair[1], pair[0]))
        .collect();
    let cases = [
        ("hex", join(&key, |byte| format!("{byte:02x}"))),
        ("HEX", join(&key, |byte| format!("{byte:02X}"))),
        ("hex with colons", join(&key, |byte| format!("{byte:02x}:"))),
        ("xxd", xxd(format!("KEY={key}\n").as_bytes())),
        ("words", words.join(" ")),
        ("percent", join(&key, |byte| format!("%{byte:02X}"))),
        ("backslash x", join(&key, |byte| format!("\\x{byte:02x}"))),
        ("array", join(&key, |byte| format!("0x{byte:02x}, "))),
        ("unicode escapes", join(&key, |byte| format!("\\u{byte:04x}"))),
        ("entities", join(&key, |byte| format!("&#{byte};"))),
        ("hex entities", join(&key, |byte| format!("&#x{byte:X};"))),
        ("decimal", join(&key, |byte| format!("{byte} "))),
        ("octal", join(&key, |byte| format!("\\{byte:03o}"))),
        ("short octal", join(&key, |byte| format!("\\{byte:o}"))),
        ("reversed", key.chars().rev().collect()),
        ("spaced", between(" ")),
        ("zero width", between("\u{200b}")),
        ("one per line", between("\n")),
        ("folded", folded(20)),
        ("cut in two", format!("first: {}\nsecond: {}", &key[..30], &key[30..])),
        ("concatenated", format!("\"{}\" + \"{}\"", &key[..9], &key[9..])),
        (
            "base64 in lines",
            STANDARD
                .encode(format!("KEY={key}"))
                .as_bytes()
                .chunks(19)
                .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
                .collect(),
        ),
        ("base64 twice", STANDARD.encode(STANDARD.encode(format!("x={key}")))),
        ("base32", base32(format!("K={key}").as_bytes())),
        ("rot13", rot13),
    ];
    let cases = cases.into_iter().chain(rare_forms(&key));
    for (name, transformed) in cases {
        let text = format!("before\n{transformed}\nafter");
        let redacted = secrets.redact_known(&text);
        assert!(redacted.contains("[masked:"), "{name}: {redacted}");
        // At most the ends of pieces are left.
        let left = redacted.replace("[masked:anthropic-key:", "").len();
        assert!(left * 2 < transformed.len() + 120, "{name}: {redacted}");
        assert_eq!(secrets.restore(&redacted).unwrap(), text, "{name}");
        assert_eq!(secrets.redact_known(&redacted), redacted, "{name}");
    }
    for other in unchanged::all() {
        assert_eq!(secrets.redact_known(&other), other);
    }
}

fn base32(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let digit = |five: &[u8]| {
        let text = format!("{:0<5}", String::from_utf8_lossy(five));
        char::from(digits[usize::from_str_radix(&text, 2).unwrap()])
    };
    bits.as_bytes().chunks(5).map(digit).collect()
}

/// Returns lines with their numbers, as `nl` and `cat -n` print them.
fn numbered(lines: impl Iterator<Item = String>) -> String {
    lines.enumerate().map(|(at, line)| format!("{:6}\t{line}\n", at + 1)).collect()
}

/// Returns a dump as `od -c` prints it.
fn od_c(bytes: &[u8]) -> String {
    let line = |(number, chunk): (usize, &[u8])| {
        let shown: String =
            chunk.iter().map(|byte| format!("{:>4}", byte.escape_ascii())).collect();
        format!("{:07o}{shown}\n", number * 16)
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

/// Returns bytes in base85, with the groups of the whole text.
fn base85(bytes: &[u8], digit: impl Fn(u32) -> char) -> String {
    let mut out = String::new();
    for group in bytes.chunks(4) {
        let mut padded = group.to_vec();
        padded.resize(4, 0);
        let number = u32::from_be_bytes(padded.try_into().unwrap());
        let digits = [52_200_625, 614_125, 7225, 85, 1].map(|power| number / power % 85);
        out.extend(digits.iter().take(group.len() + 1).map(|value| digit(*value)));
    }
    out
}

fn uuencode(bytes: &[u8]) -> String {
    let letter = |value: u8| if value == 0 { '`' } else { char::from(value + 32) };
    let mut out = String::from("begin 644 key\n");
    for line in bytes.chunks(45) {
        out.push(letter(u8::try_from(line.len()).unwrap()));
        for group in line.chunks(3) {
            let mut padded = group.to_vec();
            padded.resize(3, 0);
            let number = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
            out.extend([18, 12, 6, 0].map(|shift| letter((number >> shift) as u8 & 63)));
        }
        out.push('\n');
    }
    out + "`\nend\n"
}

/// Forms that no letters and digits in order show.
fn rare_forms(key: &str) -> Vec<(&'static str, String)> {
    let of_chars = |form: &dyn Fn(char) -> String| key.chars().map(form).collect::<String>();
    let styled = |upper: u32, lower: u32, digit: u32| {
        of_chars(&|char| {
            let code = u32::from(char);
            let styled = match char {
                'A'..='Z' => upper + code - 65,
                'a'..='z' => lower + code - 97,
                '0'..='9' => digit + code - 48,
                _ => code,
            };
            char::from_u32(styled).unwrap().to_string()
        })
    };
    let bits = |separator: &str| {
        let bytes: Vec<String> = key.bytes().map(|byte| format!("{byte:08b}")).collect();
        bytes.join(separator)
    };
    let dump_of_bits: String = key
        .as_bytes()
        .chunks(6)
        .enumerate()
        .map(|(number, chunk)| {
            let bits: Vec<String> = chunk.iter().map(|byte| format!("{byte:08b}")).collect();
            let shown = String::from_utf8_lossy(chunk);
            format!("{:08x}: {:<54} {shown}\n", number * 6, bits.join(" "))
        })
        .collect();
    let alphabet =
        |letters: &'static str| move |value: u32| char::from(letters.as_bytes()[value as usize]);
    let plain85 = alphabet(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
    );
    let zero_mq = alphabet(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    );
    let ascii85 = |value: u32| char::from_u32(value + 33).unwrap();
    let text = format!("KEY={key}\n");
    let chars = || key.chars().map(String::from);
    let pieces = key.as_bytes().chunks(7).map(|piece| String::from_utf8_lossy(piece).into_owned());
    vec![
        ("od -c", od_c(text.as_bytes())),
        ("one per line, numbered", numbered(chars())),
        ("folded and numbered", numbered(pieces)),
        ("numbered with colons", chars().enumerate().map(|(n, c)| format!("{n}:{c}\n")).collect()),
        ("colored", of_chars(&|char| format!("\u{1b}[31;1m{char}\u{1b}[0m"))),
        ("colored and numbered", numbered(chars().map(|c| format!("\u{1b}[38;5;9m{c}\u{1b}[m")))),
        ("overstruck", of_chars(&|char| format!("{char}\u{8}{char}"))),
        ("underlined", of_chars(&|char| format!("_\u{8}{char}"))),
        ("with backspaces", of_chars(&|char| format!("{char}\u{8}"))),
        ("links", of_chars(&|char| format!("\u{1b}]8;;x1\u{7}{char}\u{1b}]8;;\u{7}"))),
        ("full width", styled(0xff21, 0xff41, 0xff10)),
        ("bold letters", styled(0x1d400, 0x1d41a, 0x1d7ce)),
        ("monospace letters", styled(0x1d670, 0x1d68a, 0x1d7f6)),
        ("circled letters", styled(0x24b6, 0x24d0, 48)),
        ("binary", bits("")),
        ("binary, shifted", format!("10110{}", bits(""))),
        ("binary in groups", bits(" ")),
        ("binary in lines", bits("\n")),
        ("xxd -b", dump_of_bits),
        ("base85", base85(text.as_bytes(), plain85)),
        ("base85 in lines", {
            let encoded = base85(key.as_bytes(), plain85);
            encoded
                .as_bytes()
                .chunks(31)
                .map(|l| format!("{}\n", String::from_utf8_lossy(l)))
                .collect()
        }),
        ("Z85", base85(format!("a={key}").as_bytes(), zero_mq)),
        ("Ascii85", format!("<~{}~>", base85(key.as_bytes(), ascii85))),
        ("uuencode", uuencode(text.as_bytes())),
    ]
}

#[test]
fn the_limits_of_redaction_are_known() {
    let key = random(21, ALNUM, 48);
    let secrets = Secrets::new([key.clone()]);
    let is_redacted = |text: &str| secrets.redact_known(text) != text;
    // Twelve characters of the key, sixteen of an encoding.
    assert!(is_redacted(&key[20..32]) && !is_redacted(&key[20..31]));
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(is_redacted(&hex[20..36]) && !is_redacted(&hex[20..35]));
    // A text that is shuffled or encrypted; so is a compressed one.
    let swapped: String =
        key.as_bytes().chunks(2).flat_map(|pair| [pair[1], pair[0]]).map(char::from).collect();
    let masked: String = key.bytes().map(|byte| format!("{:02x}", byte ^ 0x5a)).collect();
    assert!(!is_redacted(&swapped) && !is_redacted(&masked));
}

#[test]
fn ordinary_text_has_no_fragments() {
    let secrets = Secrets::new((0..20).map(|seed| random(seed, ALNUM, 40)));
    let mut texts = unchanged::all();
    // Numbers, dumps and blobs, in which fragments would be found by chance first.
    texts.push(random(77, BASE64, 200_000));
    texts.push(random(78, "0123456789 \n", 200_000));
    texts.push(random(79, HEX, 200_000));
    texts.push(random(80, "01", 100_000));
    texts.push(od_c(random(81, ALNUM, 20_000).as_bytes()));
    for text in texts {
        assert_eq!(secrets.redact_known(&text), text);
    }
}
