//! No credentials: a gateway before Bedrock adds its own.

use secrecy::SecretString;

use crate::aws::AwsKeys;
use crate::cloud::{Presence, Seeking, Source, Surroundings};

const VARIABLE: &str = "AWS_BEDROCK_SKIP_AUTH";

/// The source `AWS_BEDROCK_SKIP_AUTH`. The wire format signs with dummy keys in any case; this source
/// keeps the others from being asked.
#[derive(Debug)]
pub(super) struct Skipped;

impl Source for Skipped {
    fn name(&self) -> &'static str {
        "AWS gateway"
    }

    fn presence(&self, surroundings: &Surroundings) -> Presence {
        match surroundings.variable(VARIABLE).as_deref() {
            Some("1") => Presence::Configured(format!("{VARIABLE} is set")),
            _ => Presence::Absent(format!("{VARIABLE} is not 1")),
        }
    }

    fn seek<'a>(&'a self, surroundings: &'a Surroundings) -> Seeking<'a> {
        let keys = AwsKeys {
            access_key_id: "dummy-access-key".to_owned(),
            secret_access_key: SecretString::from("dummy-secret-key"),
            session_token: None,
            expires: None,
        };
        Box::pin(async move { Ok(super::found(keys, surroundings)) })
    }
}
