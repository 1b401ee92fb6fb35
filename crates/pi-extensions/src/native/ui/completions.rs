//! Completions in the editor: those of extensions, and those of the screen for extensions.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{Completion, CompletionRequest, Suggestion, Suggestions};
use rquickjs::{Ctx, Function, IntoJs as _, Object};
use serde_json::{Value, json};

use super::ui_of;
use crate::host::{ExtensionId, Host};
use crate::thread::WeakJsThread;
use crate::value::Json;

pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = host.clone();
    // `addCompletions(id)`: the editor asks `complete` of `js/pi/autocomplete.js`.
    object.set(
        "addCompletions",
        Function::new(ctx.clone(), move |id: ExtensionId| {
            let thread = state.with_extension(id, |extension| extension.thread.clone());
            if let (Some(ui), Some(thread)) = (ui_of(&state, id), thread) {
                let provider = move |request| complete(thread.clone(), id, request);
                ui.interface().add_completion_provider(Arc::new(provider));
            }
        })?,
    )?;
    let state = host.clone();
    // `suggestions(id, text, cursor, isForced)`: a promise for the completions of the screen.
    object.set(
        "suggestions",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, text: String, cursor: usize, is_forced: bool| {
                let ui = ui_of(&state, id);
                let cursor = to_bytes(&text, cursor);
                state.promise_on_main(&ctx, async move {
                    let Some(ui) = ui else { return Ok(Json(Value::Null)) };
                    let request = CompletionRequest { text, cursor, is_forced };
                    let found = ui.interface().suggestions(request).await;
                    Ok(Json(found.map(to_json).unwrap_or_default()))
                })
            },
        )?,
    )
}

fn to_json(found: Suggestions) -> Value {
    let items = found.items.into_iter().map(|item| {
        let Completion { value, label, description } = item.completion;
        json!({ "value": value, "label": label, "description": description })
    });
    json!({ "prefix": found.prefix, "items": items.collect::<Vec<_>>() })
}

/// Asks the providers of extensions.
fn complete(
    thread: WeakJsThread,
    id: ExtensionId,
    request: CompletionRequest,
) -> BoxFuture<'static, Option<Suggestions>> {
    Box::pin(async move {
        let CompletionRequest { text, cursor, is_forced } = request;
        let before = text.get(..cursor).unwrap_or_default();
        let cursor = before.encode_utf16().count();
        let thread = thread.upgrade()?;
        let answered = thread.call::<Json>(id, "screen", move |ctx, _host| {
            let (text, forced) = (text.into_js(ctx)?, is_forced.into_js(ctx)?);
            Ok(vec!["complete".into_js(ctx)?, text, cursor.into_js(ctx)?, forced])
        });
        let answer = answered.await.ok()?.0;
        let items = answer["items"].as_array()?.iter();
        let prefix = answer["prefix"].as_str().unwrap_or_default().to_owned();
        Some(Suggestions { prefix, items: items.map(suggestion).collect() })
    })
}

fn suggestion(item: &Value) -> Suggestion {
    let text = |name: &str| item[name].as_str().map(str::to_owned);
    let value = text("value").unwrap_or_default();
    let back = item["back"].as_u64().and_then(|back| usize::try_from(back).ok()).unwrap_or(0);
    let units = value.encode_utf16().count().saturating_sub(back);
    let cursor_back = value.len() - to_bytes(&value, units);
    let completion = Completion {
        label: text("label").unwrap_or_else(|| value.clone()),
        value,
        description: text("description"),
    };
    Suggestion { completion, cursor_back }
}

/// Returns the offset in bytes of an offset in UTF-16 units.
fn to_bytes(text: &str, units: usize) -> usize {
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed >= units {
            return at;
        }
        passed += character.len_utf16();
    }
    text.len()
}
