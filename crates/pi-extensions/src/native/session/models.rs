//! The models of a session, with their credentials.

use pi_ai::providers;
use pi_coding_agent::AgentSession;
use pi_models::CredentialSource;
use pi_protocol::Model;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::refreshed_session_of;
use crate::error::NativeError;
use crate::host::{Natives, Outcome};

pub(super) const FUNCTIONS: Natives = &[
    ("all", |call| {
        let session = refreshed_session_of(call)?;
        call.reply(json!(session.models().map_or_else(Vec::new, |models| models.all())))
    }),
    ("available", |call| call.reply(json!(refreshed_session_of(call)?.available_models()))),
    ("find", |call| {
        let model = refreshed_session_of(call)?.known_model(&call.text(1)?, &call.text(2)?);
        call.reply(model.map(|model| json!(model)))
    }),
    ("provider", |call| {
        call.reply(describe_provider(&refreshed_session_of(call)?, &call.text(1)?))
    }),
    ("auth", |call| {
        // Code that may not reach everything does not get the user's credentials.
        if !call.host.access.is_trusted() {
            return Err(NativeError::new(REFUSED).into());
        }
        let (session, model) = (refreshed_session_of(call)?, call.parse::<Model>(1)?);
        call.promise_on_main(async move { auth(&session, &model).await })
    }),
];

const REFUSED: &str =
    "the credentials of models are not available to extensions with limited rights";

/// Describes a provider: its display name and the source of its credentials.
fn describe_provider(session: &AgentSession, provider: &str) -> Value {
    let name = providers::provider(provider).map_or(provider, |info| info.name);
    let Some(models) = session.models() else {
        let is_own = session.model().is_some_and(|model| model.provider == provider);
        return json!({ "name": name, "isKnown": is_own, "isAvailable": is_own, "source": null });
    };
    let all = models.models();
    let name = all.display_name(provider).unwrap_or(name);
    let source = models.credential_source(provider);
    json!({
        "name": name,
        "isKnown": all.providers().any(|known| known == provider),
        "isAvailable": models.is_available(provider),
        "isOAuth": matches!(source, Some(CredentialSource::Login { .. })),
        "source": source.map(|source| match source {
            CredentialSource::Given => "runtime",
            CredentialSource::StoredKey | CredentialSource::Login { .. } => "stored",
            CredentialSource::Variable(_) | CredentialSource::Cloud(_) => "environment",
            _ => "models_json_key",
        }),
        "label": match source {
            Some(CredentialSource::Variable(name) | CredentialSource::Cloud(name)) => json!(name),
            _ => Value::Null,
        },
    })
}

/// Returns `{ apiKey?, headers? }` for requests to a model.
async fn auth(session: &AgentSession, model: &Model) -> Outcome {
    let Some(models) = session.models() else { return Ok(json!({}).into()) };
    let (key, headers) = models.request_credentials(model).await?;
    let mut found = json!({});
    if let Some(key) = key.filter(|key| !key.expose_secret().is_empty()) {
        found["apiKey"] = json!(key.expose_secret());
    }
    if !headers.is_empty() {
        found["headers"] = json!(headers);
    }
    Ok(found.into())
}
