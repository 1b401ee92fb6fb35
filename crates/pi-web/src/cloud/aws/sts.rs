//! Roles: temporary keys from Amazon's Security Token Service.

use std::time::SystemTime;

use secrecy::{ExposeSecret, SecretString};

use super::{region, xml};
use crate::aws::sigv4::{self, Unsigned};
use crate::aws::{AwsKeys, Signing};
use crate::cloud::exchange::{self, Ask, FORM, Reply};
use crate::cloud::{SourceError, Surroundings, timestamp};

const VERSION: &str = "2011-06-15";

/// A role to assume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) arn: String,
    /// The name that appears in the logs of the account.
    pub(super) session_name: Option<String>,
    pub(super) external_id: Option<String>,
    pub(super) duration: Option<String>,
    pub(super) region: Option<String>,
}

impl Role {
    fn session_name(&self) -> String {
        self.session_name.clone().unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            format!("pi-{}", now.unwrap_or_default().as_secs())
        })
    }

    fn region(&self, surroundings: &Surroundings) -> String {
        let region = self.region.clone().or_else(|| region::region(surroundings));
        region.unwrap_or_else(|| region::DEFAULT.to_owned())
    }
}

/// Assumes a role with the keys of another identity.
pub(super) async fn assume_role(
    surroundings: &Surroundings,
    keys: AwsKeys,
    role: &Role,
) -> Result<AwsKeys, SourceError> {
    let session_name = role.session_name();
    let mut fields = vec![
        ("Action", "AssumeRole"),
        ("Version", VERSION),
        ("RoleArn", &role.arn),
        ("RoleSessionName", &session_name),
    ];
    fields.extend(role.duration.as_deref().map(|duration| ("DurationSeconds", duration)));
    fields.extend(role.external_id.as_deref().map(|id| ("ExternalId", id)));
    let region = role.region(surroundings);
    let url = format!("{}/", region::endpoint(surroundings, region::STS, &region));
    let body = exchange::form(&fields);
    let unsigned = Unsigned {
        method: "POST",
        url: &url,
        headers: &[("content-type", FORM)],
        body: body.as_bytes(),
    };
    let token = keys.session_token.clone();
    let signed = sigv4::sign(&unsigned, &Signing::new(keys, region, "sts"), SystemTime::now());
    let mut ask = Ask::form(&url, &fields);
    for (name, value) in signed {
        ask = ask.header(name, value);
    }
    if let Some(token) = token {
        ask = ask.secret(token.expose_secret());
    }
    let reply = ask.send(surroundings).await?;
    credentials(&reply).map_err(|error| for_role(&error, &role.arn))
}

/// Assumes a role with the token of an identity provider. The request is not signed.
pub(super) async fn assume_role_with_web_identity(
    surroundings: &Surroundings,
    token: &str,
    role: &Role,
) -> Result<AwsKeys, SourceError> {
    let session_name = role.session_name();
    let mut fields = vec![
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", VERSION),
        ("RoleArn", &role.arn),
        ("RoleSessionName", &session_name),
        ("WebIdentityToken", token),
    ];
    fields.extend(role.duration.as_deref().map(|duration| ("DurationSeconds", duration)));
    let region = role.region(surroundings);
    let url = format!("{}/", region::endpoint(surroundings, region::STS, &region));
    let reply = Ask::form(url, &fields).secret(token).send(surroundings).await?;
    credentials(&reply).map_err(|error| for_role(&error, &role.arn))
}

fn for_role(error: &SourceError, arn: &str) -> SourceError {
    SourceError::new(format!("the role {arn} cannot be assumed: {error}"))
}

/// Reads the keys from the answer of either action.
fn credentials(reply: &Reply) -> Result<AwsKeys, SourceError> {
    let text = |name| xml::text_of(&reply.body, name);
    if !reply.is_success() {
        let reason = match (text("Code"), text("Message")) {
            (Some(code), Some(message)) => Some(format!("{code}: {message}")),
            (code, message) => code.or(message),
        };
        return Err(match reason {
            Some(reason) => reply.refused_because(Some(&reason)),
            None => reply.refusal(),
        });
    }
    let keys = || {
        Some(AwsKeys {
            access_key_id: text("AccessKeyId")?,
            secret_access_key: SecretString::from(text("SecretAccessKey")?),
            session_token: Some(SecretString::from(text("SessionToken")?)),
            expires: Some(timestamp::parse(&text("Expiration")?)?),
        })
    };
    keys().ok_or_else(|| reply.unexpected())
}
