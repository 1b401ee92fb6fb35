//! The region of requests, and the addresses of Amazon's services in it.

use super::profile::Profiles;
use crate::cloud::Surroundings;

/// The region if nothing names one.
pub(super) const DEFAULT: &str = "us-east-1";

/// Returns the configured region: that of a variable, then that of the profile.
pub fn region(surroundings: &Surroundings) -> Option<String> {
    from_variables(surroundings).or_else(|| from_profile(surroundings))
}

/// Returns the region of `AWS_REGION` or `AWS_DEFAULT_REGION`.
pub(super) fn from_variables(surroundings: &Surroundings) -> Option<String> {
    surroundings.variable("AWS_REGION").or_else(|| surroundings.variable("AWS_DEFAULT_REGION"))
}

/// Returns the region of the profile. A file that cannot be read has none: the source that needs
/// the file reports it.
pub(super) fn from_profile(surroundings: &Surroundings) -> Option<String> {
    let profiles = Profiles::load(surroundings).ok()?;
    let name = super::profile::chosen(surroundings);
    profiles.get(&name)?.get("region").cloned()
}

/// A service whose address depends on the region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    /// The first part of the host.
    pub(super) host: &'static str,
    /// The variable that replaces the address.
    pub(super) variable: &'static str,
}

pub(super) const STS: Service = Service { host: "sts", variable: "AWS_ENDPOINT_URL_STS" };
pub(super) const SSO: Service = Service { host: "portal.sso", variable: "AWS_ENDPOINT_URL_SSO" };
pub(super) const SSO_OIDC: Service =
    Service { host: "oidc", variable: "AWS_ENDPOINT_URL_SSO_OIDC" };

/// Returns the address of a service, without a slash at its end. A region must not change the host,
/// so one with other characters than those of region names is not used.
pub(super) fn endpoint(surroundings: &Surroundings, service: Service, region: &str) -> String {
    let configured =
        [service.variable, "AWS_ENDPOINT_URL"].iter().find_map(|name| surroundings.variable(name));
    if let Some(url) = configured
        && !surroundings.is_enabled("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
    {
        return url.trim_end_matches('/').to_owned();
    }
    let is_name = region.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-');
    let region = if is_name && !region.is_empty() { region } else { DEFAULT };
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{}.{region}.{domain}", service.host)
}
