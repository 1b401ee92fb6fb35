//! A role for the holder of a token in a file, as in Kubernetes and in CI.

use super::sts::{self, Role};
use crate::aws::AwsKeys;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
const ROLE: &str = "AWS_ROLE_ARN";

/// The source `AWS_WEB_IDENTITY_TOKEN_FILE`.
pub(super) const SOURCE: Source = Source {
    name: "AWS web identity",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    match surroundings.variable(FILE) {
        Some(_) => Presence::Configured(format!("{FILE} is set")),
        None => Presence::Absent(format!("{FILE} is not set")),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let missing = |name| SourceError::new(format!("{name} is not set"));
    let identity = Identity {
        file: surroundings.variable(FILE).ok_or_else(|| missing(FILE))?,
        role: Role {
            arn: surroundings.variable(ROLE).ok_or_else(|| {
                SourceError::new(format!("{ROLE} is not set; it is required beside {FILE}"))
            })?,
            session_name: surroundings.variable("AWS_ROLE_SESSION_NAME"),
            external_id: None,
            duration: None,
            region: None,
        },
    };
    Ok(super::found(identity.keys(surroundings).await?, surroundings))
}

/// A role and the file of the token that allows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) file: String,
    pub(super) role: Role,
}

impl Identity {
    /// Assumes the role. The file is read each time, since its token is replaced regularly.
    pub(super) async fn keys(&self, surroundings: &Surroundings) -> Result<AwsKeys, SourceError> {
        let token = surroundings.read_token(&surroundings.path(&self.file))?;
        sts::assume_role_with_web_identity(surroundings, &token, &self.role).await
    }
}
