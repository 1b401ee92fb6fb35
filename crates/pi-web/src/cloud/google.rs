//! Google Cloud: Application Default Credentials.

mod adc;
mod authorized_user;
mod aws_subject;
mod external_account;
mod fields;
mod impersonated;
mod metadata;
mod service_account;

use super::token::Token;
use super::{CloudCredential, Found, Source, Surroundings};

/// The right to call all services, which the roles of the account restrict.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The sources in order.
pub(super) const SOURCES: &[Source] = &[adc::VARIABLE_SOURCE, adc::WELL_KNOWN, metadata::SOURCE];

/// The variables on which the result depends.
pub(super) const VARIABLES: &[&str] = &[
    "APPDATA",
    "AWS_ACCESS_KEY_ID",
    "AWS_DEFAULT_REGION",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "CLOUDSDK_CONFIG",
    "GCE_METADATA_HOST",
    "GCLOUD_PROJECT",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_QUOTA_PROJECT",
    "NO_GCE_CHECK",
];

/// Returns true if a variable names the project.
fn has_project(surroundings: &Surroundings) -> bool {
    ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"]
        .iter()
        .any(|name| surroundings.variable(name).is_some())
}

/// Returns a found token. `project` is used if no variable names one; `billed` is the project that
/// pays for requests.
fn found(
    surroundings: &Surroundings,
    token: Token,
    project: Option<String>,
    billed: Option<String>,
) -> Found {
    let mut found = Found::new(CloudCredential::bearer(token.secret, token.expires));
    if let Some(project) = project
        && !has_project(surroundings)
    {
        found.env.insert("GOOGLE_CLOUD_PROJECT".to_owned(), project);
    }
    if let Some(project) = surroundings.variable("GOOGLE_CLOUD_QUOTA_PROJECT").or(billed) {
        found.headers.insert("x-goog-user-project".to_owned(), project);
    }
    found
}
