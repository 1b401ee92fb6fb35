//! Amazon Web Services: the sources of keys, and the region.

mod container;
mod environment;
mod imds;
mod ini;
mod keys;
mod process;
mod profile;
mod region;
mod skipped;
mod sso;
mod sts;
mod web_identity;
mod xml;

pub use region::region;

use pi_protocol::EnvOverrides;

use super::{CloudCredential, Found, Sought, Source, SourceError, Surroundings};
use crate::aws::AwsKeys;

/// The sources in order.
pub(super) const SOURCES: &[Source] = &[
    skipped::SOURCE,
    environment::SOURCE,
    profile::SOURCE,
    web_identity::SOURCE,
    container::SOURCE,
    imds::SOURCE,
];

/// The variables on which the result depends.
pub(super) const VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_BEDROCK_SKIP_AUTH",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_DEFAULT_REGION",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_SSO",
    "AWS_ENDPOINT_URL_SSO_OIDC",
    "AWS_ENDPOINT_URL_STS",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// Returns the variables that profiles supply: the region, unless a variable names one.
pub(super) fn defaults(surroundings: &Surroundings) -> EnvOverrides {
    let mut defaults = EnvOverrides::new();
    if region::from_variables(surroundings).is_none()
        && let Some(region) = region::from_profile(surroundings)
    {
        defaults.insert("AWS_REGION".to_owned(), region);
    }
    defaults
}

fn found(keys: AwsKeys, surroundings: &Surroundings) -> Sought {
    let mut found = Found::new(CloudCredential::Aws(keys));
    found.env = defaults(surroundings);
    Sought::Found(Box::new(found))
}

/// Returns the keys and the region of the machine's own identity, for other clouds that accept it.
pub(super) async fn identity(
    surroundings: &Surroundings,
) -> Result<(AwsKeys, String), SourceError> {
    let in_environment = surroundings.variable("AWS_ACCESS_KEY_ID").is_some();
    let keys = if in_environment {
        environment::keys(surroundings)?
    } else {
        imds::keys(surroundings).await?
    };
    let region = match region::from_variables(surroundings) {
        Some(region) => region,
        None => imds::region(surroundings).await?,
    };
    Ok((keys, region))
}
