//! The service account of a virtual machine or container, from Google's metadata server.

use crate::cloud::exchange::{Ask, Reply};
use crate::cloud::token::Token;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const HOST: &str = "GCE_METADATA_HOST";
const NO_CHECK: &str = "NO_GCE_CHECK";
const DEFAULT_HOST: &str = "metadata.google.internal";

/// The source that exists on machines of Google Cloud.
pub(super) const SOURCE: Source = Source {
    name: "Google metadata server",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    if surroundings.variable(HOST).is_some() {
        Presence::Configured(format!("{HOST} is set"))
    } else if surroundings.is_enabled(NO_CHECK) {
        Presence::Absent(format!("{NO_CHECK} is set"))
    } else {
        Presence::Unknown(format!("{DEFAULT_HOST}, if this machine is one of Google Cloud"))
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let path = "instance/service-accounts/default/token";
    let reply = match get(surroundings, path).await {
        Ok(reply) => reply,
        Err(error) if surroundings.variable(HOST).is_none() => {
            return Ok(Sought::Absent(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    if reply.status == 404 {
        return Err(SourceError::new("this machine has no service account"));
    }
    let token = Token::read(&reply)?;
    let project = if super::has_project(surroundings) { None } else { project(surroundings).await };
    Ok(Sought::Found(Box::new(super::found(surroundings, token, project, None))))
}

/// Returns the project of the machine. Without one, the request fails with the names of the
/// variables.
async fn project(surroundings: &Surroundings) -> Option<String> {
    let reply = get(surroundings, "project/project-id").await.ok()?;
    let project = reply.body.trim();
    let is_name = project.bytes().all(|one| one.is_ascii_alphanumeric() || b"-:.".contains(&one));
    if reply.is_success() && is_name && !project.is_empty() {
        Some(project.to_owned())
    } else {
        None
    }
}

async fn get(surroundings: &Surroundings, path: &str) -> Result<Reply, SourceError> {
    let host = surroundings.variable(HOST).unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let ask = Ask::get(format!("http://{host}/computeMetadata/v1/{path}"));
    let reply = ask.header("metadata-flavor", "Google").nearby().send(surroundings).await?;
    // A hotspot or the metadata server of another cloud may answer instead.
    if reply.header("metadata-flavor") != Some("Google") {
        return Err(SourceError::new(format!("{host} is not Google's metadata server")));
    }
    Ok(reply)
}
