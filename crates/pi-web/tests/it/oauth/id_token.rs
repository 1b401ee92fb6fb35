//! ID tokens: signed by the server, for this client and this login.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pi_web::oauth::LoginOptions;
use ring::rand::SystemRandom;
use ring::rsa::KeyPair;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use super::env::{AuthServer, browse, ok, service_at, start, token_response};

/// A key of 2048 bits that was made for this test.
const RSA_KEY: &[u8] = include_bytes!("../../fixtures/oauth-test-rsa.pk8");

struct Keys {
    rsa: KeyPair,
    ec: EcdsaKeyPair,
}

impl Keys {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let ec = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { rsa: KeyPair::from_pkcs8(RSA_KEY).unwrap(), ec }
    }

    /// The published part.
    fn set(&self) -> Value {
        let public = ring::signature::RsaPublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        let point = self.ec.public_key().as_ref();
        json!({"keys": [
            {"kty": "RSA", "use": "enc", "kid": "other", "n": "AQAB", "e": "AQAB"},
            {"kty": "RSA", "kid": "rsa-1", "alg": "RS256", "n": encode(&public.n), "e": encode(&public.e)},
            {"kty": "EC", "kid": "ec-1", "use": "sig", "x": encode(&point[1..33]), "y": encode(&point[33..])},
            "nonsense",
        ]})
    }

    fn sign(&self, algorithm: &str, kid: &str, claims: &Value) -> String {
        let header = json!({"alg": algorithm, "kid": kid}).to_string();
        let signed =
            format!("{}.{}", encode(header.as_bytes()), encode(claims.to_string().as_bytes()));
        let random = SystemRandom::new();
        let signature = match algorithm {
            "RS256" => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa
                    .sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature)
                    .unwrap();
                signature
            }
            "ES256" => self.ec.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec(),
            _ => Vec::new(),
        };
        format!("{signed}.{}", encode(&signature))
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Signs in; `make` makes the ID token from the nonce and the issuer.
async fn sign_in(make: impl Fn(&str, &str) -> String) -> Result<Value, String> {
    let token = Arc::new(Mutex::new(String::new()));
    let held = Arc::clone(&token);
    let set = Keys::new_cached().set();
    let server = AuthServer::start(move |request| match request.path.as_str() {
        "/jwks" => ok(set.clone()),
        _ => {
            let mut response = token_response();
            response["id_token"] = held.lock().unwrap().clone().into();
            ok(response)
        }
    })
    .await;
    let mut service = service_at(&server);
    service.issuer = Some(server.base.clone());
    service.jwks_url = Some(server.url("/jwks"));
    service.scopes.push("openid".to_owned());
    let mut login = start(&service, LoginOptions::default());
    let page = login.page().await;
    *token.lock().unwrap() = make(&page.param("nonce"), &server.base);
    browse("GET", &page.consented()).await;
    let tokens = login.result().await.map_err(|error| error.to_string())?;
    Ok(tokens.extra.into())
}

impl Keys {
    /// The keys of this process: the set and the signatures must agree.
    fn new_cached() -> &'static Self {
        static KEYS: std::sync::LazyLock<Keys> = std::sync::LazyLock::new(Keys::new);
        &KEYS
    }
}

fn claims(nonce: &str, issuer: &str) -> Value {
    json!({
        "iss": issuer, "aud": "client-1", "sub": "s", "nonce": nonce,
        "exp": now() + 600, "iat": now(), "email": "user@example.com",
    })
}

#[tokio::test]
async fn a_good_token_names_the_account() {
    for (algorithm, kid) in [("RS256", "rsa-1"), ("ES256", "ec-1")] {
        let extra = sign_in(|nonce, issuer| {
            let mut claims = claims(nonce, issuer);
            claims["aud"] = json!(["other", "client-1"]);
            claims["azp"] = json!("client-1");
            Keys::new_cached().sign(algorithm, kid, &claims)
        })
        .await
        .unwrap();
        assert_eq!(extra["email"], "user@example.com");
    }
}

#[tokio::test]
async fn wrong_claims_end_the_login() {
    for (name, value, expected) in [
        ("iss", json!("https://evil.example"), "another issuer"),
        ("aud", json!("client-2"), "another client"),
        ("aud", json!(["client-1", "client-2"]), "another client"),
        ("aud", Value::Null, "another client"),
        ("exp", json!(now() - 120), "has expired"),
        ("exp", Value::Null, "has expired"),
        ("nonce", json!("other"), "another login"),
        ("nonce", Value::Null, "another login"),
    ] {
        let error = sign_in(|nonce, issuer| {
            let mut claims = claims(nonce, issuer);
            claims[name] = value.clone();
            Keys::new_cached().sign("RS256", "rsa-1", &claims)
        })
        .await
        .unwrap_err();
        assert!(error.contains(expected), "{name} {value}: {error}");
    }
}

#[tokio::test]
async fn wrong_signatures_end_the_login() {
    type Make = fn(&str, &str) -> String;
    let cases: [(Make, &str); 7] = [
        (|_, _| "a.b.c".to_owned(), "malformed"),
        (|_, _| "no token".to_owned(), "malformed"),
        (
            |nonce, issuer| Keys::new_cached().sign("none", "rsa-1", &claims(nonce, issuer)),
            "neither RS256 nor ES256",
        ),
        (
            |nonce, issuer| Keys::new_cached().sign("HS256", "rsa-1", &claims(nonce, issuer)),
            "neither RS256 nor ES256",
        ),
        (
            |nonce, issuer| Keys::new_cached().sign("RS256", "unknown", &claims(nonce, issuer)),
            "no key of the server fits",
        ),
        (
            |nonce, issuer| Keys::new().sign("ES256", "ec-1", &claims(nonce, issuer)),
            "no key of the server fits",
        ),
        (
            |nonce, issuer| {
                let good = Keys::new_cached().sign("RS256", "rsa-1", &claims(nonce, issuer));
                let other = Keys::new_cached().sign("RS256", "rsa-1", &claims("x", issuer));
                let (signed, _) = good.rsplit_once('.').unwrap();
                format!("{signed}.{}", other.rsplit_once('.').unwrap().1)
            },
            "no key of the server fits",
        ),
    ];
    for (make, expected) in cases {
        let error = sign_in(make).await.unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
