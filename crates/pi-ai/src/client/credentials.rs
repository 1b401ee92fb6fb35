//! The credentials of a call: where they come from, and how they become part of it.

use std::sync::Arc;

use pi_protocol::{Model, StreamOptions};
#[cfg(feature = "cloud")]
use pi_web::cloud::{CloudCache, CloudError, Surroundings};
use pi_web::{Authorization, KeyScheme, Variables};
use secrecy::{ExposeSecret, SecretString};

use super::{AuthorizationRequest, Authorize, Env, ProviderConfig};
use crate::providers;
use crate::wire::{Call, EnvLookup};

/// The credentials of a call.
pub(super) enum Credentials {
    Known(Box<Authorization>),
    /// The caller of this library supplies them.
    Awaited(Arc<Authorize>),
    /// The machine may have some.
    #[cfg(feature = "cloud")]
    Cloud {
        cache: CloudCache,
        env: Env,
        web: pi_web::WebClient,
    },
}

impl Credentials {
    /// Returns the credentials. `rejected` are those that the provider rejected before.
    pub(super) async fn get(
        &self,
        call: &Call,
        rejected: Option<Authorization>,
    ) -> Result<Authorization, String> {
        match self {
            Self::Known(authorization) => Ok((**authorization).clone()),
            Self::Awaited(authorize) => {
                let (model, env) = (Arc::clone(&call.model), call.options.env.clone());
                let request = AuthorizationRequest { model, env, rejected };
                authorize(request).await.map_err(|error| error.to_string())
            }
            #[cfg(feature = "cloud")]
            Self::Cloud { cache, env, web } => {
                let surroundings = surroundings(call, env, web);
                let provider = &call.model.provider;
                match cache.find(provider, &surroundings, rejected.as_ref()).await {
                    Ok(found) => Ok(found.authorization()),
                    // The format has a better error: it names the variables of keys, too.
                    Err(CloudError::NotConfigured { .. }) => Ok(Authorization::default()),
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }
}

#[cfg(feature = "cloud")]
fn surroundings(call: &Call, env: &Env, web: &pi_web::WebClient) -> Surroundings {
    let lookup = Arc::clone(env);
    let variables =
        Variables::new(move |name| lookup(name)).overridden_by(call.options.env.clone());
    let home = variables.get("HOME").or_else(|| variables.get("USERPROFILE"));
    let mut surroundings = Surroundings::new(variables, web.clone());
    surroundings.home = home.map(std::path::PathBuf::from);
    surroundings.base_url = Some(call.model.base_url.clone()).filter(|url| !url.is_empty());
    surroundings
}

/// Adds the credentials to a call: key, headers and final base URL.
pub(super) fn authorized(
    mut call: Call,
    authorization: Authorization,
    env: &Env,
) -> Result<Call, String> {
    let env = Arc::clone(env);
    let variables = Variables::new(move |name| env(name))
        .overridden_by(authorization.env)
        .overridden_by(call.options.env.clone());
    let mut model = (*call.model).clone();
    if let Some(url) = authorization.base_url {
        model.base_url = url;
    }
    model = resolve_base_url(model, &|name| variables.get(name))?;
    model.headers.extend(authorization.headers);
    let key = authorization.key.filter(|key| !key.expose_secret().is_empty());
    call.api_key = apply(&mut model, &call.options, key);
    call.key_scheme = authorization.scheme;
    call.aws = authorization.aws;
    call.variables = variables;
    call.model = Arc::new(model);
    Ok(call)
}

/// The result of the lookup for a provider.
#[derive(Debug)]
pub(super) enum Credential {
    Key {
        key: SecretString,
        scheme: KeyScheme,
    },
    /// A custom provider without a key.
    NotNeeded,
    Missing,
}

/// Finds the key of a provider: explicit, configured, then from the environment.
pub(super) fn find(
    provider: &str,
    explicit: Option<&SecretString>,
    custom: Option<&ProviderConfig>,
    env: EnvLookup<'_>,
) -> Credential {
    let configured = explicit.or_else(|| custom?.api_key.as_ref());
    if let Some(key) = configured.filter(|key| !key.expose_secret().is_empty()) {
        return Credential::Key { key: key.clone(), scheme: KeyScheme::FormatDefault };
    }
    let built_in = providers::provider(provider);
    let configured = custom.into_iter().flat_map(|config| config.key_env.iter());
    let known = built_in.into_iter().flat_map(|info| info.key_env.iter().copied());
    for name in configured.map(String::as_str).chain(known) {
        if let Some(key) = env(name).filter(|key| !key.is_empty()) {
            let scheme = if name == "ANTHROPIC_AUTH_TOKEN" {
                KeyScheme::Bearer
            } else {
                KeyScheme::FormatDefault
            };
            return Credential::Key { key: SecretString::from(key), scheme };
        }
    }
    match (custom, built_in) {
        (Some(config), None) if config.key_env.is_empty() => Credential::NotNeeded,
        _ => Credential::Missing,
    }
}

/// Replaces `{NAME}` in the base URL by the variable, such as Cloudflare's account ids. Parts in small
/// letters, such as `{location}`, belong to the wire format.
fn resolve_base_url(mut model: Model, env: EnvLookup<'_>) -> Result<Model, String> {
    while let Some((head, rest)) = model.base_url.split_once('{') {
        let Some((name, tail)) = rest.split_once('}') else { break };
        if name.contains(|letter: char| letter.is_ascii_lowercase()) {
            break;
        }
        let Some(value) = env(name).filter(|value| !value.is_empty()) else {
            return Err(format!(
                "Provider is not configured: {}. Set {name}, which is part of its base URL.",
                model.provider
            ));
        };
        model.base_url = format!("{head}{value}{tail}");
    }
    Ok(model)
}

/// Adds the headers of providers with their own form of authentication or routing. Returns the key
/// if the wire format has to send it.
fn apply(
    model: &mut Model,
    options: &StreamOptions,
    key: Option<SecretString>,
) -> Option<SecretString> {
    let at_opencode = matches!(model.provider.as_str(), "opencode" | "opencode-go")
        || model.base_url.contains("opencode.ai");
    if at_opencode && let Some(session) = &options.session_id {
        let session = session.clone();
        model.headers.entry("x-opencode-session".to_owned()).or_insert(session);
    }
    match key {
        Some(key) if model.provider == "cloudflare-ai-gateway" => {
            let bearer = format!("Bearer {}", key.expose_secret());
            model.headers.insert("cf-aig-authorization".to_owned(), bearer);
            None
        }
        key => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_base_urls_are_replaced() {
        let env = |name: &str| (name == "ACCOUNT_1").then(|| "a1".to_owned());
        let cases = [
            ("https://x.example/{ACCOUNT_1}/v1", Ok("https://x.example/a1/v1")),
            ("https://x.example", Ok("https://x.example")),
            // Vertex fills it in, with an API key not at all.
            ("https://{location}-x.example", Ok("https://{location}-x.example")),
            ("https://{OTHER}.example", Err("OTHER")),
        ];
        for (base_url, expected) in cases {
            let model = Model { base_url: base_url.into(), ..Model::default() };
            match (resolve_base_url(model, &env), expected) {
                (Ok(model), Ok(expected)) => assert_eq!(model.base_url, expected),
                (Err(error), Err(name)) => assert!(error.contains(name), "{error}"),
                (result, _) => panic!("{base_url}: {result:?}"),
            }
        }
    }
}
