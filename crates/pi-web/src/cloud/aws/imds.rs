//! The role of a virtual machine, from the instance metadata service, version 2 only.

use super::keys::KeysDocument;
use crate::aws::AwsKeys;
use crate::cloud::exchange::{self, Ask, Reply};
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const DISABLED: &str = "AWS_EC2_METADATA_DISABLED";
const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// The source that exists on virtual machines of EC2.
pub(super) const SOURCE: Source = Source {
    name: "AWS instance metadata",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    if surroundings.is_enabled(DISABLED) {
        Presence::Absent(format!("{DISABLED} is set"))
    } else if surroundings.variable(ENDPOINT).is_some() {
        Presence::Configured(format!("{ENDPOINT} is set"))
    } else {
        Presence::Unknown("the metadata service of EC2, if this machine has one".to_owned())
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let is_configured = surroundings.variable(ENDPOINT).is_some();
    match keys(surroundings).await {
        Ok(keys) => Ok(super::found(keys, surroundings)),
        Err(Problem::NoService(error)) if !is_configured => Ok(Sought::Absent(error.to_string())),
        Err(Problem::NoService(error) | Problem::Failed(error)) => Err(error),
    }
}

/// The reason why the service has no keys.
pub(super) enum Problem {
    /// The machine does not have the service, or has no role.
    NoService(SourceError),
    Failed(SourceError),
}

impl From<Problem> for SourceError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::NoService(error) | Problem::Failed(error) => error,
        }
    }
}

/// Returns the keys of the machine's role.
pub(super) async fn keys(surroundings: &Surroundings) -> Result<AwsKeys, Problem> {
    let service = Service::open(surroundings).await?;
    let roles = service.get(ROLES).await.map_err(Problem::Failed)?;
    if roles.status == 404 {
        return Err(Problem::NoService(SourceError::new("the virtual machine has no role")));
    }
    if !roles.is_success() {
        return Err(Problem::Failed(roles.refusal()));
    }
    let role = roles.body.lines().next().unwrap_or_default().trim();
    // The name becomes a part of the next URL.
    let is_name = role.bytes().all(|one| one.is_ascii_alphanumeric() || b"+=,.@-_".contains(&one));
    if role.is_empty() || !is_name {
        return Err(Problem::Failed(roles.unexpected()));
    }
    let reply = service.get(&format!("{ROLES}{role}")).await.map_err(Problem::Failed)?;
    let document: KeysDocument = reply.json().map_err(Problem::Failed)?;
    if let Some(code) = document.code.as_deref().filter(|code| *code != "Success") {
        return Err(Problem::Failed(reply.refused_because(Some(code))));
    }
    document.keys("the metadata service").map_err(Problem::Failed)
}

/// Returns the region of the machine.
pub(super) async fn region(surroundings: &Surroundings) -> Result<String, SourceError> {
    let service = Service::open(surroundings).await?;
    let reply = service.get("/latest/meta-data/placement/region").await?;
    let region = reply.body.trim();
    let is_name = region.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-');
    match reply.is_success() && is_name && !region.is_empty() {
        true => Ok(region.to_owned()),
        false => Err(SourceError::new("the region is not known; set AWS_REGION")),
    }
}

/// A session with the service.
struct Service<'a> {
    surroundings: &'a Surroundings,
    base: String,
    token: String,
}

impl<'a> Service<'a> {
    /// Starts a session. Version 1 of the service, which has none, is not used: any process that can
    /// be talked into a GET request could read its keys.
    async fn open(surroundings: &'a Surroundings) -> Result<Self, Problem> {
        let base = base(surroundings).map_err(Problem::Failed)?;
        let ask = Ask::put(format!("{base}/latest/api/token"));
        let ask = ask.header("x-aws-ec2-metadata-token-ttl-seconds", "21600").nearby();
        let reply = ask.send(surroundings).await.map_err(Problem::NoService)?;
        // Other clouds and proxies have a server at the same address.
        if !reply.is_success() {
            return Err(Problem::NoService(reply.refusal()));
        }
        let token = reply.body.trim();
        if token.is_empty() || !token.bytes().all(|one| one.is_ascii_graphic()) {
            return Err(Problem::Failed(reply.unexpected()));
        }
        Ok(Self { surroundings, base, token: token.to_owned() })
    }

    async fn get(&self, path: &str) -> Result<Reply, SourceError> {
        let ask = Ask::get(format!("{}{path}", self.base));
        let ask = ask.header("x-aws-ec2-metadata-token", &self.token).secret(&self.token);
        ask.nearby().send(self.surroundings).await
    }
}

fn base(surroundings: &Surroundings) -> Result<String, SourceError> {
    if let Some(url) = surroundings.variable(ENDPOINT) {
        let valid = url::Url::parse(&url).is_ok_and(|url| url.has_host());
        return match valid {
            true => Ok(url.trim_end_matches('/').to_owned()),
            false => Err(SourceError::new(format!("{ENDPOINT} is not a valid URL"))),
        };
    }
    let mode = surroundings.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    let is_ipv6 = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6"));
    let host = if is_ipv6 { "[fd00:ec2::254]" } else { exchange::LINK_LOCAL_METADATA };
    Ok(format!("http://{host}"))
}
