//! A service account with a private key, which signs a statement that is exchanged for a token.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;

use super::SCOPE;
use super::fields::Fields;
use crate::cloud::exchange::Ask;
use crate::cloud::token::Token;
use crate::cloud::{SourceError, Surroundings};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFETIME: u64 = 3600;

/// Returns a token of the type `service_account`.
pub(super) async fn token(
    surroundings: &Surroundings,
    fields: Fields<'_>,
) -> Result<Token, SourceError> {
    let url = fields.url("token_uri")?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let statement = Statement {
        email: fields.required("client_email")?,
        key_id: fields.optional("private_key_id"),
        audience: url,
        time: now.as_secs(),
    };
    let assertion = statement
        .signed(fields.required("private_key")?)
        .map_err(|problem| fields.error(&format!("has a private_key that {problem}")))?;
    let ask = Ask::form(url, &[("grant_type", GRANT), ("assertion", &assertion)]);
    Token::read(&ask.secret(&assertion).send(surroundings).await?)
}

/// The statement of a service account about itself.
struct Statement<'a> {
    email: &'a str,
    key_id: Option<&'a str>,
    audience: &'a str,
    /// Seconds since 1970.
    time: u64,
}

impl Statement<'_> {
    /// Returns the statement as a JSON Web Token, signed with RS256.
    fn signed(&self, pem: &str) -> Result<String, &'static str> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = self.key_id {
            header["kid"] = id.into();
        }
        let claims = json!({
            "iss": self.email,
            "scope": SCOPE,
            "aud": self.audience,
            "iat": self.time,
            "exp": self.time + LIFETIME,
        });
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&header), part(&claims));
        let key = RsaKeyPair::from_pkcs8(&der(pem)?)
            .map_err(|_| "is not an RSA key of 2048 to 4096 bits")?;
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| "cannot sign")?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Returns the binary form of a key in PEM.
fn der(pem: &str) -> Result<Vec<u8>, &'static str> {
    let (_, rest) =
        pem.split_once("-----BEGIN PRIVATE KEY-----").ok_or("is not in the form PKCS #8")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----").ok_or("has no end")?;
    let body: String = body.split_whitespace().collect();
    STANDARD.decode(body).map_err(|_| "is not valid base64")
}
