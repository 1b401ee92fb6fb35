//! ID tokens (OpenID Connect): signature, issuer, audience, expiry and nonce.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};

use super::endpoint;
use super::error::OauthError;
use super::response::now;
use crate::WebClient;
use crate::secret;

/// Tolerated difference of the clocks, in seconds.
const LEEWAY: f64 = 60.0;

/// Values that a token must have.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// Address of the keys. The signature is not checked without it: the token came from the server
    /// itself over TLS (OpenID Connect Core, section 3.1.3.7).
    pub(super) keys: Option<&'a str>,
}

/// Checks a token and returns its claims.
pub(super) async fn check(
    token: &str,
    expected: &Expected<'_>,
    web: &WebClient,
) -> Result<Map<String, Value>, OauthError> {
    let jwt = Jwt::parse(token).ok_or_else(|| rejected("it is malformed"))?;
    if let Some(url) = expected.keys {
        let reply = endpoint::get(web, url, &[]).await?;
        verify(&jwt, &reply.success()?)?;
    }
    check_claims(&jwt.claims, expected, now() / 1000.0)?;
    Ok(jwt.claims)
}

/// Reads the claims of a token without any check, for data that is only shown or sent back.
pub(super) fn unchecked_claims(token: &str) -> Option<Map<String, Value>> {
    Jwt::parse(token).map(|jwt| jwt.claims)
}

fn rejected(problem: &str) -> OauthError {
    OauthError::Untrusted(format!("the ID token cannot be accepted: {problem}"))
}

struct Jwt<'a> {
    header: Map<String, Value>,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Jwt<'a> {
    fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let object = |part: &str| -> Option<Map<String, Value>> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        Some(Self {
            header: object(header)?,
            claims: object(claims)?,
            signed,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.header.get(name)?.as_str()
    }
}

/// Verifies the signature with the key of the set that the token names.
fn verify(jwt: &Jwt<'_>, set: &Map<String, Value>) -> Result<(), OauthError> {
    let algorithm = jwt.header("alg").unwrap_or_default();
    let kind = match algorithm {
        "RS256" => "RSA",
        "ES256" => "EC",
        // `none` and keyed hashes prove nothing.
        _ => return Err(rejected("its signature is neither RS256 nor ES256")),
    };
    let keys = set.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let id = jwt.header("kid");
    let text = |key: &Value, name: &str| Some(key.get(name)?.as_str()?.to_owned());
    let candidates = keys.iter().filter(|key| {
        text(key, "kty").as_deref() == Some(kind)
            && text(key, "use").is_none_or(|purpose| purpose == "sig")
            && (id.is_none() || text(key, "kid").as_deref() == id)
    });
    let bytes = |key: &Value, name: &str| URL_SAFE_NO_PAD.decode(text(key, name)?).ok();
    let message = jwt.signed.as_bytes();
    for key in candidates {
        let is_valid = match kind {
            "RSA" => bytes(key, "n").zip(bytes(key, "e")).is_some_and(|(n, e)| {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, &jwt.signature).is_ok()
            }),
            _ => bytes(key, "x").zip(bytes(key, "y")).is_some_and(|(x, y)| {
                // An uncompressed point.
                let point = [&[4], x.as_slice(), y.as_slice()].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, &jwt.signature).is_ok()
            }),
        };
        if is_valid {
            return Ok(());
        }
    }
    Err(rejected("no key of the server fits its signature"))
}

fn check_claims(
    claims: &Map<String, Value>,
    expected: &Expected<'_>,
    now: f64,
) -> Result<(), OauthError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err(rejected("it comes from another issuer"));
    }
    let is_ours = match claims.get("aud") {
        Some(Value::String(audience)) => audience == expected.client_id,
        Some(Value::Array(audiences)) => {
            let ours = audiences.iter().any(|one| one.as_str() == Some(expected.client_id));
            ours && (audiences.len() == 1 || text("azp") == Some(expected.client_id))
        }
        _ => false,
    };
    if !is_ours {
        return Err(rejected("it was issued to another client"));
    }
    let end = claims.get("exp").and_then(Value::as_f64).unwrap_or_default();
    if end + LEEWAY < now {
        return Err(rejected("it has expired (is the clock of this machine right?)"));
    }
    if !text("nonce").is_some_and(|nonce| secret::is_equal(nonce, expected.nonce)) {
        return Err(rejected("it belongs to another login"));
    }
    Ok(())
}
