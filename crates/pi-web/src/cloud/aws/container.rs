//! The credentials endpoint of a container: ECS, EKS Pod Identity, and local agents.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

use super::keys::KeysDocument;
use crate::aws::AwsKeys;
use crate::cloud::exchange::{self, Ask};
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

/// The agents of ECS and EKS.
const AGENTS: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
];

/// The source `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `_FULL_URI`.
pub(super) const SOURCE: Source =
    Source { name: "AWS container", presence, seek: |surroundings| Box::pin(seek(surroundings)) };

fn presence(surroundings: &Surroundings) -> Presence {
    match [RELATIVE, FULL].iter().find(|name| surroundings.variable(name).is_some()) {
        Some(name) => Presence::Configured(format!("{name} is set")),
        None => Presence::Absent(format!("neither {RELATIVE} nor {FULL} is set")),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    Ok(super::found(keys(surroundings).await?, surroundings))
}

/// Returns the keys of the container.
pub(super) async fn keys(surroundings: &Surroundings) -> Result<AwsKeys, SourceError> {
    let url = url(surroundings.variable(RELATIVE), surroundings.variable(FULL))?;
    let mut ask = Ask::get(url).header("accept", "application/json").nearby();
    if let Some(token) = token(surroundings)? {
        ask = ask.header("authorization", token.clone()).secret(token);
    }
    let document: KeysDocument = ask.send(surroundings).await?.json()?;
    document.keys("the container's credentials endpoint")
}

/// Returns the URL of the endpoint. The token must not go to another host over plain HTTP.
fn url(relative: Option<String>, full: Option<String>) -> Result<String, SourceError> {
    if let Some(path) = relative {
        // Without the slash, the value could change the host.
        if !path.starts_with('/') {
            return Err(SourceError::new(format!("{RELATIVE} does not begin with a slash")));
        }
        return Ok(format!("http://169.254.170.2{path}"));
    }
    let full =
        full.ok_or_else(|| SourceError::new(format!("neither {RELATIVE} nor {FULL} is set")))?;
    let url =
        Url::parse(&full).map_err(|_| SourceError::new(format!("{FULL} is not a valid URL")))?;
    let address = url.host_str().and_then(exchange::address);
    let allowed = match url.scheme() {
        "https" => true,
        "http" => {
            exchange::is_loopback(&url) || address.is_some_and(|address| AGENTS.contains(&address))
        }
        _ => false,
    };
    if allowed {
        Ok(full)
    } else {
        Err(SourceError::new(format!(
            "{FULL} is refused: it is neither an https URL nor on this machine nor the agent of ECS or EKS"
        )))
    }
}

/// Returns the value of the `Authorization` header. The file is read each time.
fn token(surroundings: &Surroundings) -> Result<Option<String>, SourceError> {
    if let Some(file) = surroundings.variable(TOKEN_FILE) {
        // The value may have two words, such as `Basic abc`.
        let token = surroundings.read(&surroundings.path(&file))?.trim().to_owned();
        return checked(token, TOKEN_FILE).map(Some);
    }
    surroundings.variable(TOKEN).map(|token| checked(token, TOKEN)).transpose()
}

fn checked(token: String, name: &str) -> Result<String, SourceError> {
    if token.is_empty() || token.chars().any(char::is_control) {
        return Err(SourceError::new(format!("the token of {name} is empty or has line breaks")));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_the_endpoint() {
        let full = |text: &str| url(None, Some(text.to_owned())).is_ok();
        for allowed in [
            "https://credentials.example/x",
            "http://127.0.0.1:9/x",
            "http://127.8.8.8/x",
            "http://[::1]:9/",
            "http://localhost:9/",
            "http://169.254.170.2/v2",
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::23]/v1/credentials",
        ] {
            assert!(full(allowed), "{allowed}");
        }
        for refused in [
            "http://credentials.example/x",
            "http://169.254.169.254/x",
            "http://127.0.0.1.example.com/",
            "http://localhost@evil.example/",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "not a URL",
        ] {
            assert!(!full(refused), "{refused}");
        }
        let relative = url(Some("/v2/credentials/1".to_owned()), None);
        assert_eq!(relative.as_deref(), Ok("http://169.254.170.2/v2/credentials/1"));
        assert!(url(Some("@evil.example/".to_owned()), None).is_err());
        assert!(url(None, None).is_err());
    }
}
