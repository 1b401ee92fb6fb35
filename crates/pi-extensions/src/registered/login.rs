//! The login of a provider, as the functions of `oauth` that an extension registered.

use std::sync::Arc;
use std::time::Duration;

use pi_models::{LoginTokens, ProviderLogin};
use pi_protocol::CancelToken;
use pi_web::oauth::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};
use rquickjs::{Ctx, IntoJs as _, Object};
use serde_json::Value;
use tokio::sync::oneshot;

use super::JsHandle;
use crate::error::NativeError;
use crate::host::{Arguments, Host, function};

/// Time that the user has if the extension does not tell.
const DEFAULT_LIFETIME: u64 = 15 * 60;

/// Returns the login that an extension describes: `{ name, isSubscription?, hasApiKey }`.
pub(crate) fn provider_login(handle: &Arc<JsHandle>, described: &Value) -> ProviderLogin {
    let name = described["name"].as_str().unwrap_or_default().to_owned();
    let (signing_in, renewing, keys) = (Arc::clone(handle), Arc::clone(handle), Arc::clone(handle));
    let login = ProviderLogin::new(
        name,
        move |interaction, cancel| {
            let handle = Arc::clone(&signing_in);
            Box::pin(async move { sign_in(&handle, interaction, cancel).await })
        },
        move |tokens| {
            let handle = Arc::clone(&renewing);
            Box::pin(async move { call(&handle, "refreshLogin", tokens).await.and_then(tokens_of) })
        },
    );
    if described["hasApiKey"].as_bool() != Some(true) {
        return login;
    }
    login.api_key(move |tokens| {
        let handle = Arc::clone(&keys);
        Box::pin(async move {
            match call(&handle, "loginApiKey", tokens).await? {
                Value::String(key) => Ok(key),
                _ => Err("getApiKey returned no text".to_owned()),
            }
        })
    })
}

/// Calls a function of the entry object with tokens.
async fn call(
    handle: &JsHandle,
    function: &'static str,
    tokens: LoginTokens,
) -> Result<Value, String> {
    let called = handle.call(function, vec![Value::Object(tokens).into()]);
    called.await.map_err(|error| error.message)
}

fn tokens_of(value: Value) -> Result<LoginTokens, String> {
    match value {
        Value::Object(tokens) => Ok(tokens),
        _ => Err("the extension returned no tokens".to_owned()),
    }
}

/// Runs `login` of an extension.
async fn sign_in(
    handle: &JsHandle,
    interaction: Arc<dyn Interaction>,
    cancel: CancelToken,
) -> Result<LoginTokens, String> {
    let (numbered, mut number) = oneshot::channel();
    let arguments = Arguments::built(move |ctx, host| {
        let token = host.number();
        // Without a receiver the call is over.
        let _ = numbered.send(token);
        let callbacks = callbacks(ctx, host, &interaction)?;
        Ok(vec![(token as f64).into_js(ctx)?, callbacks.into_value()])
    });
    let called = handle.call("login", arguments);
    let result = tokio::select! {
        // A login that is cancelled already does not begin.
        biased;
        () = cancel.cancelled() => {
            // Runs after the call, if it was posted. An extension that computes does not delay the
            // user.
            if let Some(thread) = handle.parts().1.upgrade() {
                thread.post(move |ctx, host| {
                    if let Ok(token) = number.try_recv() {
                        host.abort_call(ctx, token);
                    }
                });
            }
            return Err(Cancelled.to_string());
        }
        result = called => result,
    };
    result.map_err(|error| error.message).and_then(tokens_of)
}

/// Returns the functions with which a login reaches the user: `show` and `ask`.
fn callbacks<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    interaction: &Arc<dyn Interaction>,
) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let shown = Arc::clone(interaction);
    object.set(
        "show",
        function(ctx, host, move |call| {
            if let Some(event) = event_of(&call.json(0)?) {
                shown.show(event);
            }
            call.done()
        })?,
    )?;
    let asked = Arc::clone(interaction);
    object.set(
        "ask",
        function(ctx, host, move |call| {
            let answer = asked.ask(prompt_of(&call.json(0)?));
            call.promise_on_main(async move {
                let answer = answer.await;
                Ok(answer.map_err(|cancelled| NativeError::new(cancelled.to_string()))?.into())
            })
        })?,
    )?;
    Ok(object)
}

/// Reads an event: `{ type, url?, userCode?, … }`.
fn event_of(event: &Value) -> Option<LoginEvent> {
    let text = |name: &str| event[name].as_str().map(str::to_owned);
    Some(match event["type"].as_str()? {
        "auth" => LoginEvent::AuthorizeUrl(text("url")?),
        "deviceCode" => LoginEvent::DeviceCode {
            user_code: text("userCode")?,
            verification_url: text("verificationUri")?,
            complete_url: text("verificationUriComplete"),
            expires_in: Duration::from_secs(
                event["expiresInSeconds"].as_u64().unwrap_or(DEFAULT_LIFETIME),
            ),
        },
        "info" => LoginEvent::Info(text("message")?),
        _ => LoginEvent::Progress(text("message")?),
    })
}

/// Reads a question: `{ type, message, options? }`.
fn prompt_of(prompt: &Value) -> Prompt {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = match prompt["type"].as_str() {
        Some("secret") => PromptKind::Secret,
        Some("manualCode") => PromptKind::ManualCode,
        Some("select") => PromptKind::Select {
            choices: prompt["options"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|option| (text(&option["id"]), text(&option["label"])))
                .collect(),
        },
        _ => PromptKind::Text { default: None },
    };
    Prompt { message: text(&prompt["message"]), kind }
}
