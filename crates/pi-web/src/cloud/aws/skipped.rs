//! No credentials: a gateway before Bedrock adds its own.

use secrecy::SecretString;

use crate::aws::AwsKeys;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const VARIABLE: &str = "AWS_BEDROCK_SKIP_AUTH";

/// The source `AWS_BEDROCK_SKIP_AUTH`. The wire format signs with dummy keys in any case; this source
/// keeps the others from being asked.
pub(super) const SOURCE: Source =
    Source { name: "AWS gateway", presence, seek: |surroundings| Box::pin(seek(surroundings)) };

fn presence(surroundings: &Surroundings) -> Presence {
    match surroundings.variable(VARIABLE).as_deref() {
        Some("1") => Presence::Configured(format!("{VARIABLE} is set")),
        _ => Presence::Absent(format!("{VARIABLE} is not 1")),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let keys = AwsKeys {
        access_key_id: "dummy-access-key".to_owned(),
        secret_access_key: SecretString::from("dummy-secret-key"),
        session_token: None,
        expires: None,
    };
    Ok(super::found(keys, surroundings))
}
