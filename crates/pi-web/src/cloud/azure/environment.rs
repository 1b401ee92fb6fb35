//! An application with a secret in variables of the environment.

use super::{CERTIFICATE, client_token, excluded, found};
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const SECRET: &str = "AZURE_CLIENT_SECRET";

/// The source `AZURE_CLIENT_SECRET`.
pub(super) const SOURCE: Source = Source {
    name: "Azure application in the environment",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    if let Some(reason) = excluded(surroundings, "EnvironmentCredential", "prod") {
        return Presence::Absent(reason);
    }
    match [SECRET, CERTIFICATE].iter().find(|name| surroundings.variable(name).is_some()) {
        Some(name) => Presence::Configured(format!("{name} is set")),
        None => Presence::Absent(format!("{SECRET} is not set")),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let Some(secret) = surroundings.variable(SECRET) else {
        return Err(SourceError::new(format!(
            "certificates ({CERTIFICATE}) are not supported; use {SECRET}, a federated \
             token or `az login`"
        )));
    };
    let proof = [("client_secret", secret.as_str())];
    Ok(found(client_token(surroundings, &proof, &secret).await?))
}
