//! The services of the built-in providers, as data.
//!
//! A service is `open` if its provider lets programs of third parties sign in. The others work with
//! a client id that the user configures: we do not use the ids of other programs.

use std::collections::BTreeMap;

use super::service::{Closed, Dialect, Redirect, Service, TokenEncoding, TokenUse};

/// The built-in services by their names, which are the ids of their providers.
const SERVICES: &[(&str, fn() -> Service)] = &[
    ("openai", chatgpt),
    ("openrouter", openrouter),
    ("anthropic", anthropic),
    ("github-copilot", github_copilot),
    ("kimi-coding", kimi),
    ("meta", meta),
    ("openai-codex", codex),
    ("radius", radius),
    ("xai", xai),
];

/// Returns a built-in service by its name.
pub fn service(name: &str) -> Option<Service> {
    let (_, service) = SERVICES.iter().find(|(known, _)| *known == name)?;
    Some(Service { provider: Some(name.to_owned()), ..service() })
}

/// Returns the service of a name in the user's settings: the built-in one with the changes, or the
/// configured one.
pub fn configured(name: &str, changes: Option<&Service>) -> Option<Service> {
    match (service(name), changes) {
        (Some(built_in), Some(changes)) => Some(built_in.with(changes)),
        (Some(built_in), None) => Some(built_in),
        (None, Some(own)) => {
            let provider = own.provider.clone().unwrap_or_else(|| name.to_owned());
            Some(Service { provider: Some(provider), ..own.clone() })
        }
        (None, None) => None,
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn words(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn params(params: &[(&str, &str)]) -> BTreeMap<String, String> {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn redirect(host: &str, port: u16, path: &str, fixed: bool) -> Option<Redirect> {
    Some(Redirect { host: host.to_owned(), ports: vec![port], path: path.to_owned(), fixed })
}

/// The vendor documents this login for open-source and locally hosted programs.
fn chatgpt() -> Service {
    Service {
        name: text("Sign in with ChatGPT"),
        dialect: Some(Dialect::Chatgpt),
        issuer: text("https://auth.openai.com"),
        authorize_url: text("https://auth.openai.com/api/accounts/authorize"),
        token_url: text("https://auth.openai.com/api/accounts/oauth/token"),
        jwks_url: text("https://auth.openai.com/.well-known/jwks.json"),
        scopes: words(
            "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
        ),
        required_scopes: words("chatgpt.tokens.use.direct"),
        resource: text("https://api.openai.com/v1"),
        redirect: redirect("127.0.0.1", 1455, "/auth/callback", false),
        expiry_margin: Some(180),
        ..Service::default()
    }
}

/// Made for programs of third parties: no client id, the result is an API key.
fn openrouter() -> Service {
    Service {
        name: text("OpenRouter"),
        dialect: Some(Dialect::Openrouter),
        authorize_url: text("https://openrouter.ai/auth"),
        token_url: text("https://openrouter.ai/api/v1/auth/keys"),
        token_encoding: Some(TokenEncoding::Json),
        redirect: Some(Redirect {
            path: "/oauth/callback/{random}".to_owned(),
            ..Redirect::default()
        }),
        login_timeout: Some(300),
        token_use: Some(TokenUse::ApiKey),
        ..Service::default()
    }
}

fn anthropic() -> Service {
    Service {
        name: text("Claude Pro or Max"),
        authorize_url: text("https://claude.ai/oauth/authorize"),
        token_url: text("https://platform.claude.com/v1/oauth/token"),
        token_encoding: Some(TokenEncoding::Json),
        scopes: words("org:create_api_key user:profile user:inference"),
        redirect: redirect("localhost", 53692, "/callback", false),
        paste_redirect_url: text("https://platform.claude.com/oauth/code/callback"),
        extra_params: params(&[("code", "true")]),
        send_state: Some(true),
        closed: Some(Closed {
            reason: "Anthropic opens the login of Claude Pro and Max only to its own programs.",
            instead: "Use an API key (ANTHROPIC_API_KEY), workload identity, or a configured `clientId`.",
        }),
        ..Service::default()
    }
}

fn codex() -> Service {
    Service {
        name: text("ChatGPT Plus or Pro (older login)"),
        dialect: Some(Dialect::Codex),
        authorize_url: text("https://auth.openai.com/oauth/authorize"),
        token_url: text("https://auth.openai.com/oauth/token"),
        device_url: text("https://auth.openai.com/api/accounts/deviceauth/usercode"),
        scopes: words("openid profile email offline_access"),
        redirect: redirect("localhost", 1455, "/auth/callback", true),
        extra_params: params(&[("id_token_add_organizations", "true"), ("originator", "pi")]),
        closed: Some(Closed {
            reason: "OpenAI opens this login only to its own program.",
            instead: "Sign in to the provider `openai` with ChatGPT, or configure a `clientId`.",
        }),
        ..Service::default()
    }
}

fn github_copilot() -> Service {
    Service {
        name: text("GitHub Copilot"),
        dialect: Some(Dialect::Copilot),
        device_url: text("https://github.com/login/device/code"),
        token_url: text("https://github.com/login/oauth/access_token"),
        exchange_url: text("https://api.github.com/copilot_internal/v2/token"),
        scopes: words("read:user"),
        closed: Some(Closed {
            reason: "GitHub opens the Copilot login only to editors that it has registered.",
            instead: "Set COPILOT_GITHUB_TOKEN to a fine-grained token with the permission \
                      \"Copilot Requests\", or configure a `clientId`.",
        }),
        ..Service::default()
    }
}

fn xai() -> Service {
    Service {
        name: text("xAI"),
        device_url: text("https://auth.x.ai/oauth2/device/code"),
        token_url: text("https://auth.x.ai/oauth2/token"),
        scopes: words("openid profile email offline_access api:access"),
        extra_params: params(&[("referrer", "pi")]),
        closed: Some(Closed {
            reason: "xAI is not known to register clients of third parties.",
            instead: "Use an API key (XAI_API_KEY), or configure a `clientId`.",
        }),
        ..Service::default()
    }
}

fn kimi() -> Service {
    Service {
        name: text("Kimi for Coding"),
        device_url: text("https://auth.kimi.com/api/oauth/device_authorization"),
        token_url: text("https://auth.kimi.com/api/oauth/token"),
        refresh_retries: Some(3),
        expiry_margin: Some(0),
        closed: Some(Closed {
            reason: "Moonshot AI is not known to register clients of third parties.",
            instead: "Use an API key (KIMI_API_KEY), or configure a `clientId`.",
        }),
        ..Service::default()
    }
}

fn meta() -> Service {
    Service {
        name: text("Meta AI"),
        dialect: Some(Dialect::Meta),
        device_url: text("https://auth.meta.com/oidc/device/authorization/"),
        token_url: text("https://auth.meta.com/oidc/device/token/"),
        exchange_url: text("https://api.meta.ai/muse-code/key"),
        scopes: words("openid"),
        expiry_margin: Some(0),
        token_use: Some(TokenUse::ApiKey),
        closed: Some(Closed {
            reason: "Meta is not known to register clients of third parties.",
            instead: "Use an API key (META_API_KEY), or configure a `clientId`.",
        }),
        ..Service::default()
    }
}

fn radius() -> Service {
    Service {
        name: text("Radius"),
        dialect: Some(Dialect::Gateway),
        issuer: text("https://radius.pi.dev"),
        scopes: words("gateway offline_access"),
        redirect: redirect("127.0.0.1", 1456, "/oauth/callback", false),
        closed: Some(Closed {
            reason: "A gateway decides which clients may sign in, and has issued no id to this one.",
            instead: "Use an API key (RADIUS_API_KEY), or configure the `clientId` of your gateway.",
        }),
        ..Service::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::OauthError;
    use super::*;

    #[test]
    fn all_services_are_valid() {
        for (name, _) in SERVICES {
            let service = service(name).unwrap();
            service.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!service.methods().is_empty(), "{name}");
        }
    }

    #[test]
    fn closed_services_say_why_and_open_with_a_client_id() {
        for (name, _) in SERVICES {
            let service = service(name).unwrap();
            let is_open = ["openai", "openrouter"].contains(name);
            match service.availability() {
                Ok(()) => assert!(is_open, "{name}"),
                Err(OauthError::Unavailable { reason, instead }) => {
                    assert!(!is_open && reason.ends_with('.') && instead.ends_with('.'), "{name}");
                }
                Err(other) => panic!("{name}: {other}"),
            }
            let changes = Service { client_id: text("mine"), ..Service::default() };
            let own = configured(name, Some(&changes)).unwrap();
            own.availability().unwrap();
            assert_eq!(own.token_url, service.token_url);
        }
    }
}
