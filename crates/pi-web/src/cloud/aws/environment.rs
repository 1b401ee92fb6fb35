//! Keys in variables of the environment.

use secrecy::SecretString;

use crate::aws::AwsKeys;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";

/// The source `AWS_ACCESS_KEY_ID`. A named profile takes precedence, as in Amazon's own libraries.
pub(super) const SOURCE: Source = Source {
    name: "AWS keys in the environment",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    let is_set = |name| surroundings.variable(name).is_some();
    match (is_set(ID), is_set(SECRET)) {
        (false, false) => Presence::Absent(format!("{ID} and {SECRET} are not set")),
        _ if is_set("AWS_PROFILE") => {
            Presence::Absent("AWS_PROFILE names a profile, which takes precedence".to_owned())
        }
        _ => match keys(surroundings) {
            Ok(_) => Presence::Configured(format!("{ID} and {SECRET} are set")),
            Err(error) => Presence::Broken(error.to_string()),
        },
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    Ok(super::found(keys(surroundings)?, surroundings))
}

/// Returns the keys of the environment.
pub(super) fn keys(surroundings: &Surroundings) -> Result<AwsKeys, SourceError> {
    let required = |name: &str, other: &str| {
        surroundings.variable(name).ok_or_else(|| {
            SourceError::new(format!("{name} is not set; it is required beside {other}"))
        })
    };
    Ok(AwsKeys {
        access_key_id: required(ID, SECRET)?,
        secret_access_key: SecretString::from(required(SECRET, ID)?),
        session_token: surroundings.variable("AWS_SESSION_TOKEN").map(SecretString::from),
        expires: None,
    })
}
