//! The managed identity of a virtual machine, an app or a container.

use url::Url;

use super::{CLIENT, excluded, found, required, resource};
use crate::cloud::exchange::{self, Ask};
use crate::cloud::token::Token;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

const ENDPOINT: &str = "IDENTITY_ENDPOINT";
const HEADER: &str = "IDENTITY_HEADER";

/// The variable that replaces the address of the metadata service.
const METADATA_HOST: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";

/// The source `IDENTITY_ENDPOINT`, else the metadata service of virtual machines.
pub(super) const SOURCE: Source = Source {
    name: "Azure managed identity",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

fn presence(surroundings: &Surroundings) -> Presence {
    if let Some(reason) = excluded(surroundings, "ManagedIdentityCredential", "prod") {
        return Presence::Absent(reason);
    }
    match [ENDPOINT, METADATA_HOST].iter().find(|name| surroundings.variable(name).is_some()) {
        Some(name) => Presence::Configured(format!("{name} is set")),
        None => {
            let place = "the metadata service of Azure, if this machine has one";
            Presence::Unknown(place.to_owned())
        }
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    match surroundings.variable(ENDPOINT) {
        Some(endpoint) => {
            let ask = app_service(surroundings, &endpoint)?;
            Ok(found(Token::read(&ask.send(surroundings).await?)?))
        }
        None => virtual_machine(surroundings).await,
    }
}

/// Returns the request to the identity endpoint of an app or a container.
fn app_service(surroundings: &Surroundings, endpoint: &str) -> Result<Ask, SourceError> {
    if surroundings.variable("IMDS_ENDPOINT").is_some() {
        return Err(SourceError::new("identities of Azure Arc are not supported"));
    }
    let header = required(surroundings, HEADER)?;
    let is_near = Url::parse(endpoint).is_ok_and(|url| is_near(&url));
    if !is_near {
        return Err(SourceError::new(format!(
            "{ENDPOINT} is refused: it is neither an https URL nor a local address"
        )));
    }
    let ask = Ask::get(with_query(surroundings, endpoint, "2019-08-01"));
    Ok(ask.header("x-identity-header", &header).secret(header))
}

/// Returns true if a secret can be sent to the URL: by TLS, or inside of the machine or its network.
fn is_near(url: &Url) -> bool {
    let address = url.host_str().and_then(exchange::address);
    match url.scheme() {
        "https" => true,
        "http" => {
            exchange::is_loopback(url)
                || match address {
                    Some(std::net::IpAddr::V4(v4)) => v4.is_link_local() || v4.is_private(),
                    Some(std::net::IpAddr::V6(v6)) => {
                        v6.is_unicast_link_local() || v6.is_unique_local()
                    }
                    None => false,
                }
        }
        _ => false,
    }
}

async fn virtual_machine(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let host = surroundings.variable(METADATA_HOST);
    let is_configured = host.is_some();
    let host = host.unwrap_or_else(|| format!("http://{}", exchange::LINK_LOCAL_METADATA));
    let url = format!("{}/metadata/identity/oauth2/token", host.trim_end_matches('/'));
    let ask = Ask::get(with_query(surroundings, &url, "2018-02-01"));
    let reply = match ask.header("metadata", "true").nearby().send(surroundings).await {
        Ok(reply) => reply,
        Err(error) if is_configured => return Err(error),
        Err(error) => return Ok(Sought::Absent(error.to_string())),
    };
    // Other clouds and proxies have a server at the same address, and a machine of Azure may have no
    // identity. Trouble of the service itself must not lead to another identity.
    if (400..429).contains(&reply.status) && !is_configured {
        return Ok(Sought::Absent(reply.refusal().to_string()));
    }
    Ok(found(Token::read(&reply)?))
}

fn with_query(surroundings: &Surroundings, url: &str, version: &str) -> String {
    let client = surroundings.variable(CLIENT);
    let mut query = vec![("api-version", version), ("resource", resource(surroundings))];
    query.extend(client.as_deref().map(|client| ("client_id", client)));
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{}", exchange::form(&query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_the_endpoint() {
        for (url, expected) in [
            ("http://localhost:42356/msi/token", true),
            ("http://169.254.129.4:8081/msi/token", true),
            ("http://172.16.0.1:8081/msi/token", true),
            ("https://identity.example/token", true),
            ("http://identity.example/token", false),
            ("http://8.8.8.8/token", false),
            ("ftp://127.0.0.1/", false),
        ] {
            assert_eq!(is_near(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
