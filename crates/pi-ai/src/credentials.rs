//! Lookup of API keys, and providers with their own form of authentication.

use pi_protocol::{Model, StreamOptions};
use pi_web::KeyScheme;
use secrecy::{ExposeSecret, SecretString};

use crate::client::ProviderConfig;
use crate::providers;
use crate::wire::EnvLookup;

/// The result of the lookup for a provider.
#[derive(Debug)]
pub(crate) enum Credential {
    Key {
        key: SecretString,
        scheme: KeyScheme,
    },
    /// A custom provider without a key.
    NotNeeded,
    Missing,
}

/// Finds the key of a provider: explicit, configured, then from the environment.
pub(crate) fn find(
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
pub(crate) fn resolve_base_url(mut model: Model, env: EnvLookup<'_>) -> Result<Model, String> {
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
pub(crate) fn apply(
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
