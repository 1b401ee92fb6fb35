//! Anthropic's workload identity: a token of another identity provider, such as that of a CI system,
//! is exchanged for one of Anthropic.

use serde_json::{Map, Value};

use super::exchange::{self, Ask};
use super::token::Token;
use super::{CloudCredential, Found, Presence, Sought, Source, SourceError, Surroundings};
use crate::KeyScheme;

const RULE: &str = "ANTHROPIC_FEDERATION_RULE_ID";
const ORGANIZATION: &str = "ANTHROPIC_ORGANIZATION_ID";
const FILE: &str = "ANTHROPIC_IDENTITY_TOKEN_FILE";
const ACCOUNT: &str = "ANTHROPIC_SERVICE_ACCOUNT_ID";
const WORKSPACE: &str = "ANTHROPIC_WORKSPACE_ID";

const BASE: &str = "https://api.anthropic.com";
const BETAS: &str = "oauth-2025-04-20,oidc-federation-2026-04-01";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

pub(super) const SOURCES: &[Source] = &[SOURCE];

pub(super) const VARIABLES: &[&str] = &[RULE, ORGANIZATION, FILE, ACCOUNT, WORKSPACE];

/// The source of federated tokens.
const SOURCE: Source = Source {
    name: "Anthropic workload identity",
    presence,
    seek: |surroundings| Box::pin(seek(surroundings)),
};

/// An organization alone is a setting of other tools, and does not ask for a token.
fn presence(surroundings: &Surroundings) -> Presence {
    match [RULE, FILE].iter().find(|name| surroundings.variable(name).is_some()) {
        Some(name) => Presence::Configured(format!("{name} is set")),
        None => Presence::Absent(format!("neither {RULE} nor {FILE} is set")),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let Token { secret, expires } = exchange(surroundings).await?;
    let scheme = KeyScheme::Oauth;
    let credential = CloudCredential::Token { token: secret, scheme, expires };
    Ok(Sought::Found(Box::new(Found::new(credential))))
}

/// Exchanges the token of the file, which is read each time since it is replaced regularly.
async fn exchange(surroundings: &Surroundings) -> Result<Token, SourceError> {
    let missing: Vec<&str> = [RULE, ORGANIZATION, FILE]
        .into_iter()
        .filter(|name| surroundings.variable(name).is_none())
        .collect();
    if !missing.is_empty() {
        return Err(SourceError::new(format!("{} must be set, too", missing.join(" and "))));
    }
    let variable = |name: &str| surroundings.variable(name).unwrap_or_default();
    let assertion = surroundings.read_token(&surroundings.path(&variable(FILE)))?;
    let mut body = Map::new();
    let mut set = |name: &str, value: String| body.insert(name.to_owned(), Value::String(value));
    set("grant_type", GRANT.to_owned());
    set("assertion", assertion.clone());
    set("federation_rule_id", variable(RULE));
    set("organization_id", variable(ORGANIZATION));
    for (name, value) in [("service_account_id", ACCOUNT), ("workspace_id", WORKSPACE)] {
        if let Some(value) = surroundings.variable(value) {
            set(name, value);
        }
    }
    let base = surroundings.base_url.as_deref().unwrap_or(BASE).trim_end_matches('/');
    let url = format!("{base}/v1/oauth/token");
    exchange::check_url(&url, "the base URL of Anthropic")?;
    let ask = Ask::json(url, &Value::Object(body)).header("anthropic-beta", BETAS);
    Token::read(&ask.secret(assertion).send(surroundings).await?)
}
