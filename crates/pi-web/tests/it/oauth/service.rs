//! Services as users write them.

use pi_web::oauth::{Service, builtin};
use serde_json::{Value, json};

fn read(value: Value) -> Service {
    serde_json::from_value(value).unwrap()
}

#[test]
fn services_are_read_and_written() {
    let written = json!({
        "name": "Work",
        "provider": "work",
        "issuer": "https://auth.example.com",
        "clientId": "c",
        "clientSecret": "$WORK_SECRET",
        "scopes": ["a", "b"],
        "tokenEncoding": "json",
        "redirect": {"host": "localhost", "ports": [1, 2], "fixed": true, "path": "/x"},
        "extraParams": {"audience": "y"},
        "expiryMargin": 60,
        "fields": {"access": "token"},
        "tokenUse": {"header": "X-Key"},
    });
    let service = read(written.clone());
    service.validate().unwrap();
    assert_eq!(serde_json::to_value(&service).unwrap(), written);
    assert!(!format!("{service:?}").contains("WORK_SECRET"));
    let error = serde_json::from_value::<Service>(json!({"clientID": "c"})).unwrap_err();
    assert!(error.to_string().contains("unknown field `clientID`"), "{error}");
}

#[test]
fn changes_are_laid_over_built_in_services() {
    let changes = read(json!({
        "clientId": "mine", "scopes": ["one"], "sendState": false, "provider": "other",
    }));
    let service = builtin::configured("anthropic", Some(&changes)).unwrap();
    let built_in = builtin::service("anthropic").unwrap();
    assert_eq!(service.client_id.as_deref(), Some("mine"));
    assert_eq!(service.scopes, ["one"]);
    assert_eq!(service.send_state, Some(false));
    assert_eq!(service.provider.as_deref(), Some("other"));
    assert_eq!(service.token_url, built_in.token_url);
    assert_eq!(service.closed, built_in.closed);
    assert!(built_in.availability().is_err() && service.availability().is_ok());

    let own = read(json!({"issuer": "https://auth.example.com"}));
    let own = builtin::configured("own", Some(&own)).unwrap();
    assert_eq!(own.provider.as_deref(), Some("own"));
    assert!(builtin::configured("own", None).is_none());
}

#[test]
fn unusable_services_say_why() {
    for (value, expected) in [
        (json!({}), "the service needs an `issuer` or a `tokenUrl`"),
        (
            json!({"tokenUrl": "https://a.example/token"}),
            "the service needs an `authorizeUrl` or a `deviceUrl`",
        ),
        (
            json!({"issuer": "http://a.example"}),
            "`issuer` is not usable: \"http://a.example\" must be https, or http on this machine",
        ),
        (
            json!({"issuer": "https://a.example", "revokeUrl": "nonsense"}),
            "`revokeUrl` is not usable: \"nonsense\" is not a URL (relative URL without a base)",
        ),
        (
            json!({"issuer": "https://user:pass@a.example"}),
            "`issuer` is not usable: it must not contain a user name or a password",
        ),
        (
            json!({"issuer": "https://a.example", "redirect": {"host": "0.0.0.0"}}),
            "`redirect` must be on this machine: use localhost, 127.0.0.1 or [::1] as host",
        ),
        (
            json!({"issuer": "https://a.example", "redirect": {"path": "x"}}),
            "`redirect` needs a path that begins with a slash",
        ),
        (
            json!({"issuer": "https://a.example", "redirect": {"path": "/x y"}}),
            "`redirect` needs a path that begins with a slash",
        ),
        (
            json!({"issuer": "https://a.example", "redirect": {"fixed": true}}),
            "`redirect` is fixed but has no ports",
        ),
        (
            json!({"issuer": "https://a.example", "fields": {"acces": "x"}}),
            "`fields` has no field \"acces\": expected access, refresh, expires",
        ),
        (
            json!({"issuer": "https://a.example", "tokenUse": {"header": "a b"}}),
            "`tokenUse` names an invalid header \"a b\"",
        ),
        (
            json!({"issuer": "https://a.example", "headers": {"": "x"}}),
            "`headers` names an invalid header \"\"",
        ),
        (
            json!({"issuer": "https://a.example", "dialect": "meta"}),
            "the service needs an `exchangeUrl`",
        ),
    ] {
        let error = read(value.clone()).validate().unwrap_err();
        assert_eq!(error.to_string(), expected, "{value}");
    }
    for issuer in ["https://a.example", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost"]
    {
        read(json!({"issuer": issuer})).validate().unwrap();
    }
}
