//! Completions in the editor: those of extensions, and those of the screen for extensions.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{Completion, CompletionRequest, Suggestion, Suggestions};
use serde_json::{Value, json};

use super::ui_of;
use crate::host::{ExtensionId, Natives, WeakJsThread};

pub(super) const FUNCTIONS: Natives = &[
    // `addCompletions(id)`: the editor asks `complete` of `js/pi/autocomplete.js`.
    ("addCompletions", |call| {
        let id = call.id(0)?;
        let thread = call.host.with_extension(id, |extension| extension.thread.clone());
        if let (Some(ui), Some(thread)) = (ui_of(call.host, id), thread) {
            let provider = move |request| complete(thread.clone(), id, request);
            ui.interface().add_completion_provider(Arc::new(provider));
        }
        call.done()
    }),
    // `suggestions(id, text, cursor, isForced)`: a promise for the completions of the screen.
    ("suggestions", |call| {
        let (ui, text) = (ui_of(call.host, call.id(0)?), call.text(1)?);
        let (cursor, is_forced) = (to_bytes(&text, call.size(2)?), call.flag(3)?);
        call.promise_on_main(async move {
            let Some(ui) = ui else { return Ok(Value::Null.into()) };
            let request = CompletionRequest { text, cursor, is_forced };
            let found = ui.interface().suggestions(request).await;
            Ok(found.map(to_json).unwrap_or_default().into())
        })
    }),
];

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
        let arguments = vec!["complete".into(), text.into(), cursor.into(), is_forced.into()];
        let answer = thread.call(id, "screen", arguments).await.ok()?;
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
