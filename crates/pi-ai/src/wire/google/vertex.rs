//! `google-vertex`: Gemini at Google Cloud. Only URLs and credentials differ from Gemini's own API.
//!
//! With an API key, a request goes to the publisher of the model; with a token, to a project in a
//! location. A base URL of the user's own is an endpoint for either.

use pi_web::KeyScheme;
use secrecy::ExposeSecret as _;

use super::encode;
use crate::providers;
use crate::wire::{Call, EncodeError, Headers, HttpRequest};

const HOST: &str = "aiplatform.googleapis.com";

/// The part of a base URL that stands for the location.
const LOCATION: &str = "{location}";

/// Headers of the user that replace credentials.
const AUTH_HEADERS: &[&str] = &["authorization", "x-goog-api-key"];

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let mut headers = Headers::new();
    let is_key = match key(call) {
        Some(key) if call.key_scheme == KeyScheme::Bearer => {
            headers.set("Authorization", format!("Bearer {key}"));
            false
        }
        Some(key) => {
            headers.set("x-goog-api-key", key);
            true
        }
        None => {
            // Checked first: without a project, other credentials do not help.
            project_and_location(call)?;
            if !AUTH_HEADERS.iter().any(|name| call.has_header(name)) {
                return Err(EncodeError::NotConfigured(format!(
                    "No API key for provider: {}. Set GOOGLE_CLOUD_API_KEY, or sign in with \
                     `gcloud auth application-default login`.",
                    call.model.provider
                )));
            }
            false
        }
    };
    Ok(HttpRequest::new(url(call, is_key)?, headers, encode::body(call)?))
}

/// Returns the key or token, unless it is a placeholder.
fn key(call: &Call) -> Option<&str> {
    let key = call.api_key.as_ref()?.expose_secret();
    (!providers::is_placeholder("google-vertex", key)).then_some(key)
}

fn url(call: &Call, is_key: bool) -> Result<String, EncodeError> {
    let resource = resource(&call.model.id)?;
    let base = call.model.base_url.trim_end_matches('/');
    let is_standard = base.is_empty() || base == format!("https://{LOCATION}-{HOST}");
    let (base, scope) = if !is_standard {
        // The endpoint decides on project and location.
        let base = match base.contains(LOCATION) {
            true => base.replace(LOCATION, &project_and_location(call)?.location),
            false => base.to_owned(),
        };
        let version = if has_version(&base) { "" } else { "/v1" };
        (format!("{base}{version}"), String::new())
    } else if is_key {
        (format!("https://{HOST}/v1"), String::new())
    } else {
        let Place { project, location } = project_and_location(call)?;
        let host = match location.as_str() {
            "global" => HOST.to_owned(),
            // Multi-regions have hosts of their own.
            "us" | "eu" => format!("aiplatform.{location}.rep.googleapis.com"),
            _ => format!("{location}-{HOST}"),
        };
        let scope = match resource.starts_with("projects/") {
            true => String::new(),
            false => format!("projects/{project}/locations/{location}/"),
        };
        (format!("https://{host}/v1"), scope)
    };
    Ok(format!("{base}/{scope}{resource}:streamGenerateContent?alt=sse"))
}

/// Returns the resource name of a model: its publisher is Google unless the id has another one.
fn resource(id: &str) -> Result<String, EncodeError> {
    if id.is_empty() || id.contains(['?', '&', '#']) || id.contains("..") {
        return Err(EncodeError::BadModel("invalid model parameter".to_owned()));
    }
    Ok(match id.split_once('/') {
        Some(("publishers" | "projects" | "models", _)) => id.to_owned(),
        Some((publisher, model)) => format!("publishers/{publisher}/models/{model}"),
        None => format!("publishers/google/models/{id}"),
    })
}

/// Returns true if the path of a base URL names a version, such as `/v1beta1`.
fn has_version(base: &str) -> bool {
    let path = base.split_once("://").map_or(base, |(_, rest)| rest);
    path.split('/').skip(1).any(|segment| {
        let number = segment.strip_prefix('v').unwrap_or_default();
        number.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// The project that pays and the location of the model.
struct Place {
    project: String,
    location: String,
}

fn project_and_location(call: &Call) -> Result<Place, EncodeError> {
    let variable = |name: &str| call.variables.get(name);
    let project = variable("GOOGLE_CLOUD_PROJECT").or_else(|| variable("GCLOUD_PROJECT"));
    let project = project.ok_or_else(|| {
        let text = "Vertex AI requires a project ID. Set GOOGLE_CLOUD_PROJECT or GCLOUD_PROJECT.";
        EncodeError::NotConfigured(text.to_owned())
    })?;
    let location = variable("GOOGLE_CLOUD_LOCATION").ok_or_else(|| {
        let text =
            "Vertex AI requires a location. Set GOOGLE_CLOUD_LOCATION, for example to global.";
        EncodeError::NotConfigured(text.to_owned())
    })?;
    // Both become parts of the URL.
    let is_name = |text: &str, more: &[u8]| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || more.contains(&byte))
    };
    for (name, value, is_valid) in [
        ("GOOGLE_CLOUD_PROJECT", &project, is_name(&project, b".:")),
        ("GOOGLE_CLOUD_LOCATION", &location, is_name(&location, b"")),
    ] {
        if !is_valid {
            let text = format!("The value \"{value}\" of {name} is not a valid name.");
            return Err(EncodeError::NotConfigured(text));
        }
    }
    Ok(Place { project, location })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pi_protocol::{Context, Model, Request, StreamOptions};

    use super::*;

    /// Variables of a project must not send a token to another host.
    #[test]
    fn names_that_would_change_the_host_are_refused() {
        for (project, location) in [
            ("p", "evil.example/x"),
            ("p", "evil.example#"),
            ("p", "a@b"),
            ("p/../q", "us-central1"),
            ("p?x", "us-central1"),
        ] {
            let model = Model { id: "gemini-3-flash".into(), ..Model::default() };
            let mut options = StreamOptions::default();
            options.env.insert("GOOGLE_CLOUD_PROJECT".into(), project.into());
            options.env.insert("GOOGLE_CLOUD_LOCATION".into(), location.into());
            let request = Request::new(Arc::new(model), Context::new().user("hi"), options);
            let mut call = Call::new(request, Some("token".to_owned().into()), &|_| None);
            call.key_scheme = KeyScheme::Bearer;
            let error = super::request(&call).unwrap_err().to_string();
            assert!(error.ends_with("is not a valid name."), "{error}");
        }
    }
}
