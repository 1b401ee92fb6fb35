//! `azure-openai-responses`: the Responses API of Azure OpenAI and Microsoft Foundry.
//!
//! Bodies and streams are those of `openai-responses`. This module knows the rest: where a resource
//! is, under which name a model was deployed, and how a key or an Entra ID token is sent. Models of
//! Foundry that use `openai-completions` are found in the same way.

use pi_web::KeyScheme;

use super::responses;
use super::{Call, EncodeError, Headers, HttpRequest, WireFormat};

/// Domains of Azure resources, where the API has a fixed path.
const DOMAINS: &[&str] = &[".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com"];

/// The path of the API at an Azure resource.
const API_PATH: &str = "/openai/v1";

/// Paths in place of [`API_PATH`], as users copy them from the portal and from examples.
const OTHER_PATHS: &[&str] = &[
    "",
    "/openai",
    "/openai/responses",
    "/openai/v1",
    "/openai/v1/responses",
    "/openai/v1/chat/completions",
];

/// Name of the query parameter with the version of the API.
const API_VERSION: &str = "api-version";

const NO_ADDRESS: &str = "The address of your Azure resource is not known. Set \
    AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME, or a base URL for the provider.";

/// The wire format `azure-openai-responses`.
pub(super) static FORMAT: WireFormat = WireFormat {
    output_support: responses::openai_output_support,
    ..WireFormat::new("azure-openai-responses", encode, responses::decoder, |_, failure| {
        failure.openai_style(Some("Azure OpenAI API error"))
    })
};

fn encode(call: &Call) -> Result<HttpRequest, EncodeError> {
    let mut headers = Headers::new();
    if let Some(key) = call.require_key(&["authorization", "api-key"])? {
        match call.key_scheme {
            KeyScheme::FormatDefault => headers.set("api-key", key),
            _ => {
                headers.set("Authorization", format!("Bearer {key}"));
            }
        }
    }
    let endpoint = Endpoint::of(call)?;
    let url = endpoint.url("/responses", Some(&version(call, &endpoint)));
    Ok(HttpRequest::new(url, headers, responses::azure_body(call, &deployment(call))?))
}

/// Returns the name under which the model was deployed: that of the variable
/// `AZURE_OPENAI_DEPLOYMENT_NAME_MAP` (`model=deployment,…`), or the id of the model.
pub(super) fn deployment(call: &Call) -> String {
    let id = &call.model.id;
    let map = call.variables.get("AZURE_OPENAI_DEPLOYMENT_NAME_MAP").unwrap_or_default();
    let mut names = map.split(',').filter_map(|entry| {
        let mut parts = entry.split('=').map(str::trim);
        (parts.next()? == id).then(|| parts.next()).flatten().filter(|name| !name.is_empty())
    });
    names.next_back().unwrap_or(id).to_owned()
}

/// Returns the version of the API: of the variable, of the base URL, or the default.
fn version(call: &Call, endpoint: &Endpoint) -> String {
    let set = call.variables.get("AZURE_OPENAI_API_VERSION").map(|value| value.trim().to_owned());
    let in_url = || {
        let mut parameters = endpoint.query.iter().filter_map(|pair| pair.split_once('='));
        parameters.find(|(name, _)| *name == API_VERSION).map(|(_, value)| value.to_owned())
    };
    set.filter(|value| !value.is_empty()).or_else(in_url).unwrap_or_else(|| "v1".to_owned())
}

/// The address of a resource.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// The URL without query, fragment and final slash.
    base: String,
    /// Parameters of the query, `name=value`.
    query: Vec<String>,
}

impl Endpoint {
    /// Finds the resource of a call: by the variables, or by the record of the model.
    pub(super) fn of(call: &Call) -> Result<Self, EncodeError> {
        let variable = |name: &str| {
            let value = call.variables.get(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        let resource = || {
            let name = variable("AZURE_OPENAI_RESOURCE_NAME")?;
            // A name with other characters would lead to a different host.
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            Some(if is_name { format!("https://{name}.openai.azure.com") } else { name })
        };
        let of_model = || Some(call.model.base_url.trim().to_owned()).filter(|url| !url.is_empty());
        let url = variable("AZURE_OPENAI_BASE_URL").or_else(resource).or_else(of_model);
        let Some(url) = url else { return Err(EncodeError::BadModel(NO_ADDRESS.to_owned())) };
        Self::parse(&url).ok_or_else(|| {
            EncodeError::BadModel(format!("Invalid address of an Azure resource: \"{url}\""))
        })
    }

    fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let is_http = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        let rest = rest.split('#').next().unwrap_or_default();
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        if !is_http || host.is_empty() || place.contains(char::is_whitespace) {
            return None;
        }
        let mut path = path.trim_end_matches('/');
        if is_azure(host) && OTHER_PATHS.contains(&path) {
            path = API_PATH;
        }
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
        Some(Self { base: format!("{scheme}://{host}{path}"), query })
    }

    /// Returns the URL of `operation`, with a version of the API if there is one.
    pub(super) fn url(&self, operation: &str, version: Option<&str>) -> String {
        let is_version = |pair: &str| pair.split('=').next() == Some(API_VERSION);
        let mut query: Vec<String> = self
            .query
            .iter()
            .filter(|pair| version.is_none() || !is_version(pair))
            .cloned()
            .collect();
        query.extend(version.map(|version| format!("{API_VERSION}={version}")));
        let separator = if query.is_empty() { "" } else { "?" };
        format!("{}{operation}{separator}{}", self.base, query.join("&"))
    }
}

/// Returns true if a host, with or without a port, is a resource of Azure.
fn is_azure(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    DOMAINS.iter().any(|domain| name.ends_with(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_resources() {
        let cases = [
            ("https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/responses"),
            ("https://R.OpenAI.Azure.com/", "https://R.OpenAI.Azure.com/openai/v1/responses"),
            (
                "https://r.ai.azure.com:8443/openai",
                "https://r.ai.azure.com:8443/openai/v1/responses",
            ),
            ("https://r.ai.azure.com/api/p", "https://r.ai.azure.com/api/p/responses"),
            // The domain alone is not a resource, and a lookalike is not Azure.
            ("https://openai.azure.com", "https://openai.azure.com/responses"),
            ("https://r.openai.azure.com.example", "https://r.openai.azure.com.example/responses"),
            ("http://127.0.0.1:9/x/?a=1&b#f", "http://127.0.0.1:9/x/responses?a=1&b"),
        ];
        for (base, expected) in cases {
            let endpoint = Endpoint::parse(base).unwrap();
            assert_eq!(endpoint.url("/responses", None), expected);
        }
        for base in
            ["", "r.openai.azure.com", "ftp://r", "https://", "https:// re/s .x", "not a url"]
        {
            assert!(Endpoint::parse(base).is_none(), "{base}");
        }
    }

    #[test]
    fn a_version_replaces_that_of_the_base_url() {
        let endpoint = Endpoint::parse("https://r.openai.azure.com?api-version=a&x=1").unwrap();
        assert_eq!(
            endpoint.url("/responses", Some("b")),
            "https://r.openai.azure.com/openai/v1/responses?x=1&api-version=b"
        );
    }
}
