//! The published cases, in headers.

use secrecy::SecretString;
use serde_json::Value;

use std::time::Duration;

use super::*;

/// A request as the suite writes it: lines of HTTP.
struct Parsed {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

fn parse(text: &str) -> Parsed {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    // A line that begins with a space continues the one before.
    let head = head.replace("\n ", " ");
    let mut lines = head.lines();
    let first = lines.next().unwrap();
    let (method, rest) = first.split_once(' ').unwrap();
    let target = rest.strip_suffix(" HTTP/1.1").unwrap_or(rest);
    let headers = lines.map(|line| line.split_once(':').unwrap());
    Parsed {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body: body.to_owned(),
    }
}

impl Parsed {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

struct Case {
    name: String,
    files: Value,
    request: Parsed,
    signing: Signing,
    time: SystemTime,
}

impl Case {
    fn file(&self, name: &str) -> Option<&str> {
        self.files[name].as_str()
    }
}

/// The two cases that were added to the suite have no context: region and service are those of their
/// signed requests, and the keys those of the library that added them.
fn without_context(name: &str) -> Value {
    let (key, secret, region, service, time) = match name {
        "double-encode-path" => (
            "ANOTREAL",
            "notrealrnrELgWzOk3IfjzDKtFBhDby",
            "us-east-1",
            "service",
            "2015-08-30T12:36:00Z",
        ),
        "double-url-encode" => {
            ("AKIDEXAMPLE", "secret", "us-east-2", "lambda", "2021-05-11T15:40:45Z")
        }
        other => panic!("{other} has no context"),
    };
    serde_json::json!({
        "credentials": {"access_key_id": key, "secret_access_key": secret},
        "normalize": true, "encode_again": true, "region": region, "service": service,
        "sign_body": false, "timestamp": time,
    })
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../../tests/fixtures/sigv4.jsonl");
    let cases = text.lines().map(|line| {
        let files: Value = serde_json::from_str(line).unwrap();
        let name = files["name"].as_str().unwrap().to_owned();
        let context: Value = match files["context.json"].as_str() {
            Some(context) => serde_json::from_str(context).unwrap(),
            None => without_context(&name),
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let keys = AwsKeys {
            access_key_id: text(&context["credentials"]["access_key_id"]),
            secret_access_key: text(&context["credentials"]["secret_access_key"]).into(),
            session_token: context["credentials"]["token"].as_str().map(SecretString::from),
            expires: None,
        };
        let mut signing = Signing::new(keys, text(&context["region"]), text(&context["service"]));
        signing.rules = Rules {
            normalize_path: context["normalize"].as_bool().unwrap(),
            encode_path_again: context["encode_again"].as_bool().unwrap_or(false),
            send_body_hash: context["sign_body"].as_bool().unwrap(),
            sign_session_token: !context["omit_session_token"].as_bool().unwrap_or(false),
        };
        let seconds = match context["timestamp"].as_str().unwrap() {
            "2015-08-30T12:36:00Z" => 1_440_938_160,
            "2021-05-11T15:40:45Z" => 1_620_747_645,
            other => panic!("{other}"),
        };
        Case {
            name,
            request: parse(files["request.txt"].as_str().unwrap()),
            files,
            signing,
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
        }
    });
    cases.collect()
}

#[test]
fn the_published_cases_are_signed_in_headers() {
    let cases = cases();
    assert_eq!(cases.len(), 40);
    for case in &cases {
        let Case { name, request, signing, time, .. } = case;
        let url = format!("https://{}{}", request.header("host").unwrap(), request.target);
        let mut given: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let unsigned = Unsigned {
            method: &request.method,
            url: &url,
            headers: &given,
            body: request.body.as_bytes(),
        };
        let added = sign(&unsigned, signing, *time);

        let body_hash = hex(digest::digest(&digest::SHA256, unsigned.body).as_ref());
        let target = Target::of(&url);
        let mut signed: Vec<_> =
            added.iter().filter(|(name, _)| *name != "authorization").cloned().collect();
        if !signing.rules.sign_session_token {
            signed.retain(|(name, _)| *name != "x-amz-security-token");
        }
        let headers = SignedHeaders::new(&target, unsigned.headers, &signed);
        let canonical = canonical_request(&unsigned, &target, signing.rules, &headers, &body_hash);
        let expected = case.file("header-canonical-request.txt").unwrap();
        if name == "double-encode-path" {
            // Its canonical request has another time than its signature.
            assert_eq!(canonical, expected.replace("20210511T154045Z", "20150830T123600Z"));
        } else {
            assert_eq!(canonical, expected, "{name}");
        }
        if let Some(expected) = case.file("header-string-to-sign.txt") {
            let text = Scope::new(signing, *time).string_to_sign(&canonical);
            assert_eq!(text, expected.trim_end(), "{name}");
        }
        if name == "double-url-encode" {
            continue; // The secret of its signature is not published.
        }
        // The whole request, with every header that it was given and every one that was added.
        let expected = parse(case.file("header-signed-request.txt").unwrap());
        given.retain(|(name, _)| !added.iter().any(|(new, _)| new.eq_ignore_ascii_case(name)));
        let lower = |name: &str, value: &str| (name.to_ascii_lowercase(), value.trim().to_owned());
        let mut all: Vec<_> = given
            .iter()
            .map(|(name, value)| lower(name, value))
            .chain(added.iter().map(|(name, value)| lower(name, value)))
            .collect();
        let mut expected: Vec<_> =
            expected.headers.iter().map(|(name, value)| lower(name, value)).collect();
        all.sort();
        expected.sort();
        assert_eq!(all, expected, "{name}");
        if let Some(signature) = case.file("header-signature.txt") {
            assert!(added.last().unwrap().1.ends_with(signature.trim()), "{name}");
        }
    }
}

#[test]
fn times_are_those_of_the_calendar() {
    let cases = [
        (0, "19700101T000000Z"),
        (951_782_399, "20000228T235959Z"),
        (951_782_400, "20000229T000000Z"),
        (951_868_800, "20000301T000000Z"),
        (1_735_689_599, "20241231T235959Z"),
        (4_107_542_400, "21000301T000000Z"),
    ];
    for (seconds, expected) in cases {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(basic_time(time), expected);
    }
}

/// Debug output of everything that holds keys has no secret.
#[test]
fn keys_are_not_printed() {
    let keys = AwsKeys {
        access_key_id: "AKID".into(),
        secret_access_key: "planted-secret".to_owned().into(),
        session_token: Some("planted-token".to_owned().into()),
        expires: None,
    };
    let text = format!("{:?}", Signing::new(keys, "us-east-1", "bedrock"));
    assert!(text.contains("AKID") && !text.contains("planted"), "{text}");
}
