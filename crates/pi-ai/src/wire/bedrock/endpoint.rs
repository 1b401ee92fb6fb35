//! The endpoint of a request: region, URL and credentials.
//!
//! The base URL of a catalog record is Amazon's endpoint in one region. It is replaced by that of the
//! region in use; any other base URL (a proxy, a private endpoint) is kept.

use pi_web::aws::{AwsKeys, Signing};
use secrecy::ExposeSecret as _;

use crate::wire::{Call, EncodeError, Headers};

/// The region if nothing names one.
const DEFAULT_REGION: &str = "us-east-1";

/// The name of the service in signatures.
const SERVICE: &str = "bedrock";

/// Domains of the partitions with their own, by the beginning of their regions.
const DOMAINS: &[(&str, &str)] = &[
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
];

/// Region and base URL of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) region: String,
    pub(super) base_url: String,
}

/// How a request proves its origin.
pub(super) enum Credentials {
    /// A token of Bedrock's own.
    Bearer(String),
    Keys(AwsKeys),
}

impl Endpoint {
    /// Returns the endpoint of a call. The region of the model's ARN wins over that of variables,
    /// which wins over that of the base URL.
    pub(super) fn of(call: &Call) -> Result<Self, EncodeError> {
        let variable = |name: &'static str| call.variables.get(name).map(|value| (name, value));
        let base_url = call.model.base_url.trim_end_matches('/');
        let amazon = AmazonHost::of(base_url);
        let (source, region) = arn_region(&call.model.id)
            .map(|region| ("the ARN of the model", region.to_owned()))
            .or_else(|| variable("AWS_REGION"))
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .or_else(|| Some(("the base URL", region_of_host(base_url)?.to_owned())))
            .unwrap_or(("the default", DEFAULT_REGION.to_owned()));
        // The region becomes a part of the host.
        if !is_region(&region) {
            return Err(EncodeError::NotConfigured(format!(
                "\"{region}\" in {source} is not an AWS region. Use a name such as {DEFAULT_REGION}."
            )));
        }
        let base_url = match (amazon, call.variables.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")) {
            (Some(_), Some(endpoint)) => endpoint.trim_end_matches('/').to_owned(),
            (Some(host), None) if host.region != region => host.in_region(&region),
            _ if base_url.is_empty() => AmazonHost::default().in_region(&region),
            _ => base_url.to_owned(),
        };
        Ok(Self { region, base_url })
    }

    /// Returns true in the regions for the government of the USA, whose API is older.
    pub(super) fn is_gov_cloud(&self, model_id: &str) -> bool {
        let id = model_id.to_ascii_lowercase();
        self.region.starts_with("us-gov-")
            || id.starts_with("us-gov.")
            || id.starts_with("arn:aws-us-gov:")
    }

    /// Returns the URL of a model.
    pub(super) fn url(&self, model_id: &str) -> String {
        format!("{}/model/{}/converse-stream", self.base_url, percent_encoded(model_id))
    }

    /// Adds the credentials of a call: a header, or the signature to make.
    pub(super) fn authorize(
        &self,
        call: &Call,
        headers: &mut Headers,
    ) -> Result<Option<Signing>, EncodeError> {
        Ok(match credentials(call)? {
            Credentials::Bearer(token) => {
                headers.set("Authorization", format!("Bearer {token}"));
                None
            }
            Credentials::Keys(keys) => Some(Signing::new(keys, &self.region, SERVICE)),
        })
    }
}

fn credentials(call: &Call) -> Result<Credentials, EncodeError> {
    if call.variables.get("AWS_BEDROCK_SKIP_AUTH").as_deref() == Some("1") {
        // A proxy adds the real credentials, and expects the form of a signed request.
        return Ok(Credentials::Keys(AwsKeys {
            access_key_id: "dummy-access-key".to_owned(),
            secret_access_key: "dummy-secret-key".to_owned().into(),
            session_token: None,
            expires: None,
        }));
    }
    if let Some(key) = &call.api_key {
        return Ok(Credentials::Bearer(key.expose_secret().to_owned()));
    }
    if let Some(keys) = call.aws.clone().or_else(|| variable_keys(call)) {
        return Ok(Credentials::Keys(keys));
    }
    Err(EncodeError::NotConfigured(format!(
        "No AWS credentials for provider: {}. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
        call.model.provider
    )))
}

/// Returns the keys of variables, for clients without a chain of credentials.
fn variable_keys(call: &Call) -> Option<AwsKeys> {
    let variable = |name: &str| call.variables.get(name);
    Some(AwsKeys {
        access_key_id: variable("AWS_ACCESS_KEY_ID")?,
        secret_access_key: variable("AWS_SECRET_ACCESS_KEY")?.into(),
        session_token: variable("AWS_SESSION_TOKEN").map(Into::into),
        expires: None,
    })
}

/// Amazon's public endpoint in a region.
struct AmazonHost<'a> {
    /// The name before the region, which ends in `-fips` for endpoints with certified cryptography.
    name: &'a str,
    region: &'a str,
}

impl Default for AmazonHost<'_> {
    fn default() -> Self {
        Self { name: "bedrock-runtime", region: DEFAULT_REGION }
    }
}

impl<'a> AmazonHost<'a> {
    /// Reads a base URL such as `https://bedrock-runtime.us-east-1.amazonaws.com`.
    fn of(base_url: &'a str) -> Option<Self> {
        let host = base_url.strip_prefix("https://")?;
        let (name, rest) = host.split_once('.')?;
        let (region, domain) = rest.split_once('.')?;
        let is_amazon = matches!(name, "bedrock-runtime" | "bedrock-runtime-fips")
            && is_region(region)
            && domain == domain_of(region);
        is_amazon.then_some(Self { name, region })
    }

    fn in_region(&self, region: &str) -> String {
        format!("https://{}.{region}.{}", self.name, domain_of(region))
    }
}

fn domain_of(region: &str) -> &'static str {
    let special = DOMAINS.iter().find(|(beginning, _)| region.starts_with(beginning));
    special.map_or("amazonaws.com", |(_, domain)| domain)
}

/// Returns the region in the host of an endpoint of Amazon, public or private.
fn region_of_host(base_url: &str) -> Option<&str> {
    let host = base_url.split_once("://")?.1.split(['/', ':']).next()?;
    if !host.contains(".amazonaws.") {
        return AmazonHost::of(base_url).map(|host| host.region);
    }
    host.split('.').find(|label| {
        is_region(label)
            && label.matches('-').count() >= 2
            && label.ends_with(|last: char| last.is_ascii_digit())
            && !label.starts_with("vpce-")
    })
}

/// Returns the region of `arn:PARTITION:bedrock:REGION:…`.
fn arn_region(model_id: &str) -> Option<&str> {
    let mut parts = model_id.split(':');
    let is_arn = parts.next() == Some("arn");
    let region = parts.nth(2)?;
    (is_arn && !region.is_empty()).then_some(region)
}

fn is_region(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 40 && text.bytes().all(is_name)
}

/// Encodes all bytes but letters, digits and `-._~`: a model id may contain colons and slashes.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
