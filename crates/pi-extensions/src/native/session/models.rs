//! The models of a session, with their credentials.

use std::sync::Arc;

use pi_ai::providers;
use pi_coding_agent::AgentSession;
use pi_coding_agent::models::CredentialSource;
use pi_protocol::Model;
use rquickjs::{Ctx, Function, IntoJs as _, Object};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{session_of, stream};
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let lists: &[(&str, fn(&AgentSession) -> Vec<Arc<Model>>)] = &[
        ("all", |session| session.models().map_or_else(Vec::new, |models| models.all())),
        ("available", AgentSession::available_models),
    ];
    for (name, list) in lists {
        let (state, list) = (host.clone(), *list);
        object.set(
            *name,
            Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId| {
                let session = session_of(&ctx, &state, id)?;
                session.refresh_registry();
                Ok::<_, rquickjs::Error>(Json(json!(list(&session))))
            })?,
        )?;
    }
    let state = host.clone();
    object.set(
        "find",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, provider: String, model: String| {
                let session = session_of(&ctx, &state, id)?;
                session.refresh_registry();
                match session.known_model(&provider, &model) {
                    Some(model) => Json(json!(model)).into_js(&ctx),
                    None => Ok(rquickjs::Value::new_undefined(ctx)),
                }
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "provider",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, provider: String| {
            let session = session_of(&ctx, &state, id)?;
            session.refresh_registry();
            Ok::<_, rquickjs::Error>(Json(describe_provider(&session, &provider)))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "auth",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, model: Json| {
            credentials_allowed(&ctx, &state)?;
            let session = session_of(&ctx, &state, id)?;
            session.refresh_registry();
            let model: Model = serde_json::from_value(model.0)
                .map_err(|error| NativeError::from(error).throw(&ctx))?;
            state.promise_on_main(&ctx, async move { auth(&session, &model).await })
        })?,
    )?;
    stream::install(ctx, host, &object)?;
    Ok(object)
}

/// Refuses the user's credentials to code that may not reach everything.
fn credentials_allowed(ctx: &Ctx<'_>, host: &Host) -> rquickjs::Result<()> {
    if host.access.is_trusted() {
        return Ok(());
    }
    let refused = "the credentials of models are not available to extensions with limited rights";
    Err(NativeError::new(refused).throw(ctx))
}

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
async fn auth(session: &AgentSession, model: &Model) -> Result<Json, NativeError> {
    let Some(models) = session.models() else { return Ok(Json(json!({}))) };
    let (key, headers) = models.request_credentials(model).await?;
    let mut found = json!({});
    if let Some(key) = key.filter(|key| !key.expose_secret().is_empty()) {
        found["apiKey"] = json!(key.expose_secret());
    }
    if !headers.is_empty() {
        found["headers"] = json!(headers);
    }
    Ok(Json(found))
}
