//! The router of a virtual model, in JavaScript.

use std::str::FromStr as _;
use std::sync::Arc;

use pi_coding_agent::extension::{Route, RouteRequest, Router};
use pi_protocol::{CancelToken, ThinkingLevel};
use rquickjs::IntoJs as _;
use serde_json::{Value, json};

use super::JsHandle;
use super::tool::with_abort;
use crate::host::Arguments;
use crate::value::Json;

/// Returns the router that calls `route()` of a virtual model.
pub(crate) fn router(handle: JsHandle) -> Router {
    let handle = Arc::new(handle);
    Arc::new(move |request, cancel| {
        let handle = Arc::clone(&handle);
        Box::pin(async move { route(&handle, request, cancel).await })
    })
}

async fn route(
    handle: &JsHandle,
    request: RouteRequest,
    cancel: CancelToken,
) -> Result<Route, String> {
    let level = request.thinking_level;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let arguments = Arguments::built(move |ctx, host| {
        let token = host.number();
        // Without a receiver the call is over.
        let _ = sender.send((token, host.poster()));
        Ok(vec![Json(describe(&request)).into_js(ctx)?, (token as f64).into_js(ctx)?])
    });
    let called = handle.call("routeModel", arguments);
    let aborting = async move {
        let Ok((token, poster)) = receiver.await else { return };
        cancel.cancelled().await;
        poster.post(move |ctx, host| host.abort_call(ctx, token));
    };
    let picked = with_abort(called, aborting).await.map_err(|error| error.message)?;
    let text = |name: &str| picked[name].as_str().unwrap_or_default().to_owned();
    let named =
        picked["thinkingLevel"].as_str().and_then(|name| ThinkingLevel::from_str(name).ok());
    Ok(Route {
        provider: text("provider"),
        id: text("id"),
        thinking_level: named.unwrap_or(level),
        state: picked.get("state").filter(|state| !state.is_null()).cloned(),
    })
}

/// Returns the request as routers read it. The signal is added in JavaScript.
fn describe(request: &RouteRequest) -> Value {
    let mut described = json!({
        "model": *request.model,
        "thinkingLevel": request.thinking_level,
        "reason": request.reason.as_str(),
        "messages": request.messages,
    });
    if let Some((model, level)) = &request.previous {
        described["previous"] = json!({ "model": **model });
        if let Some(level) = level {
            described["previous"]["thinkingLevel"] = json!(level);
        }
    }
    if let Some((model, level, message)) = &request.failed {
        described["failed"] = json!({ "model": **model, "message": **message });
        if let Some(level) = level {
            described["failed"]["thinkingLevel"] = json!(level);
        }
    }
    if let Some(state) = &request.state {
        described["state"] = state.clone();
    }
    described
}
