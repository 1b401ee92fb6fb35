//! Requests of a program: dialogs, messages, entries.

use std::time::Duration;

use pi_coding_agent::extension::{
    Dialog, DialogAnswer, DialogOptions, ExtensionContext, NotifyKind, UiUpdate, WidgetPlacement,
};
use pi_coding_agent::session::{Delivery, PromptOptions};
use pi_session::ExtensionMessage;
use serde::Deserialize;
use serde_json::{Value, json};

/// Parameters of dialogs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialogParams {
    #[serde(default)]
    title: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    options: Vec<String>,
    placeholder: Option<String>,
    prefill: Option<String>,
    timeout: Option<u64>,
}

/// Serves a request of the program.
pub(super) async fn serve(
    method: &str,
    params: Value,
    context: &ExtensionContext,
) -> Result<Value, String> {
    let parse = |error: serde_json::Error| error.to_string();
    match method {
        "ui.select" | "ui.confirm" | "ui.input" | "ui.editor" => {
            let params: DialogParams = serde_json::from_value(params).map_err(parse)?;
            Ok(dialog(method, params, context).await)
        }
        "ui.notify" => {
            let message = params["message"].as_str().unwrap_or_default();
            let kind = match params["type"].as_str() {
                Some("warning") => NotifyKind::Warning,
                Some("error") => NotifyKind::Error,
                _ => NotifyKind::Info,
            };
            context.ui().notify(message, kind);
            Ok(Value::Null)
        }
        "ui.setStatus" => {
            let key = params["key"].as_str().ok_or("key is missing")?;
            context.ui().set_status(key, params["text"].as_str());
            Ok(Value::Null)
        }
        "ui.setWidget" => {
            let key = params["key"].as_str().ok_or("key is missing")?;
            let lines = serde_json::from_value(params["lines"].clone()).map_err(parse)?;
            let placement = match params["placement"].as_str() {
                Some("belowEditor") => WidgetPlacement::BelowEditor,
                _ => WidgetPlacement::AboveEditor,
            };
            context.ui().set_widget(key, lines, placement);
            Ok(Value::Null)
        }
        "ui.setEditorText" => {
            let text = params["text"].as_str().unwrap_or_default().to_owned();
            context.ui().interface().update(UiUpdate::SetEditorText { text });
            Ok(Value::Null)
        }
        _ => session_request(method, params, context).await,
    }
}

async fn dialog(method: &str, params: DialogParams, context: &ExtensionContext) -> Value {
    let DialogParams { title, message, options, placeholder, prefill, timeout } = params;
    let dialog = match method {
        "ui.select" => Dialog::Select { title, options },
        "ui.confirm" => Dialog::Confirm { title, message },
        "ui.input" => Dialog::Input { title, placeholder },
        _ => Dialog::Editor { title, prefill },
    };
    let options =
        DialogOptions { timeout: timeout.map(Duration::from_millis), ..DialogOptions::default() };
    match context.ui().dialog(dialog, options).await {
        Some(DialogAnswer::Confirmed(confirmed)) => json!(confirmed),
        Some(DialogAnswer::Text(text)) => json!(text),
        _ => Value::Null,
    }
}

async fn session_request(
    method: &str,
    params: Value,
    context: &ExtensionContext,
) -> Result<Value, String> {
    let session = context.session().ok_or("there is no session")?;
    match method {
        "session.get" => Ok(json!({
            "id": session.id(),
            "file": session.file(),
            "name": session.name(),
            "cwd": session.workspace().cwd(),
            "model": session.model(),
            "thinkingLevel": session.thinking_level(),
            "mode": context.mode(),
            "hasUI": context.ui().is_present(),
            "isIdle": !session.is_streaming(),
        })),
        "session.messages" => {
            let messages: Vec<_> = session.messages().iter().cloned().collect();
            serde_json::to_value(messages).map_err(|error| error.to_string())
        }
        "session.sendMessage" => {
            let delivery = match params["deliverAs"].as_str() {
                Some("nextTurn") => Delivery::NextTurn,
                Some("followUp") => Delivery::FollowUp,
                _ => Delivery::Steer,
            };
            let starts = params["triggerTurn"].as_bool() == Some(true);
            let message: ExtensionMessage =
                serde_json::from_value(params).map_err(|error| error.to_string())?;
            if starts && !session.is_streaming() {
                let run = session.start_with(&message).await.map_err(|error| error.to_string())?;
                tokio::spawn(async move { run.finish().await });
                return Ok(Value::Null);
            }
            let added = session.add_message(message, delivery).await;
            added.map(|()| Value::Null).map_err(|error| error.to_string())
        }
        "session.sendUserMessage" => {
            let text = params["text"].as_str().ok_or("text is missing")?.to_owned();
            tokio::spawn(async move {
                // The outcome is in the events of the session.
                let _ = session.prompt(&text, PromptOptions::default().literal()).await;
            });
            Ok(Value::Null)
        }
        "session.appendEntry" => {
            let kind = params["customType"].as_str().ok_or("customType is missing")?.to_owned();
            let data = params.get("data").cloned();
            let appended = session.with_log(|log| log.append_custom(&kind, data));
            appended.map(|id| json!(id)).map_err(|error| error.to_string())
        }
        "session.setName" => {
            let name = params["name"].as_str().ok_or("name is missing")?;
            session.set_name(name).await.map(|()| Value::Null).map_err(|error| error.to_string())
        }
        "session.abort" => {
            session.abort().await;
            Ok(Value::Null)
        }
        other => Err(format!("unknown method {other}")),
    }
}
