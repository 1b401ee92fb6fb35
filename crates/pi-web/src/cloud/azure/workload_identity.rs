//! An application that proves its identity with a token in a file, as in Kubernetes and in CI.

use super::{client_token, excluded, found};
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const FILE: &str = "AZURE_FEDERATED_TOKEN_FILE";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The source `AZURE_FEDERATED_TOKEN_FILE`.
pub(super) const SOURCE: Source = Source {
    name: "Azure workload identity",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    if let Some(reason) = excluded(surroundings, "WorkloadIdentityCredential", "prod") {
        return Presence::Absent(reason);
    }
    match surroundings.variable(FILE) {
        Some(_) => Presence::Configured(format!("{FILE} is set")),
        None => Presence::Absent(format!("{FILE} is not set")),
    }
}

/// The file is read each time, since its token is replaced regularly.
async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let path = surroundings.variable(FILE).unwrap_or_default();
    let token = surroundings.read_token(&surroundings.path(&path))?;
    let proof = [("client_assertion_type", ASSERTION), ("client_assertion", token.as_str())];
    Ok(found(client_token(surroundings, &proof, &token).await?))
}
