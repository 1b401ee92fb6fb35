//! The identity of an AWS role as a token for Google: a signed request that Google sends to AWS.

use std::time::SystemTime;

use serde_json::json;

use super::fields::Fields;
use crate::aws::Signing;
use crate::aws::sigv4::{self, Unsigned};
use crate::cloud::{SourceError, Surroundings, aws, exchange};

/// Returns the token for the source `aws1`.
pub(super) async fn token(
    surroundings: &Surroundings,
    source: Fields<'_>,
    audience: &str,
) -> Result<String, SourceError> {
    let (keys, region) = aws::identity(surroundings).await?;
    let url = source.required("regional_cred_verification_url")?.replace("{region}", &region);
    exchange::check_url(&url, "regional_cred_verification_url")?;
    let signing = Signing::new(keys, region, "sts");
    request(&url, audience, &signing, SystemTime::now())
        .ok_or_else(|| source.error("has an invalid regional_cred_verification_url"))
}

/// Returns the signed request as JSON, encoded for a URL.
fn request(url: &str, audience: &str, signing: &Signing, time: SystemTime) -> Option<String> {
    let parsed = url::Url::parse(url).ok()?;
    let host = match (parsed.host_str()?, parsed.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let resource = ("x-goog-cloud-target-resource", audience);
    let unsigned = Unsigned { method: "POST", url, headers: &[resource], body: b"" };
    let signed = sigv4::sign(&unsigned, signing, time);
    let mut headers = vec![json!({"key": "host", "value": host})];
    headers.push(json!({"key": resource.0, "value": resource.1}));
    for (name, value) in &signed {
        let name = if *name == "authorization" { "Authorization" } else { name };
        headers.push(json!({"key": name, "value": value}));
    }
    let request = json!({"url": url, "method": "POST", "headers": headers});
    Some(exchange::encoded(&request.to_string()))
}
