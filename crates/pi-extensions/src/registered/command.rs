//! Commands and shortcuts of an extension.

use std::sync::Arc;

use pi_coding_agent::extension::{
    ArgumentCompleter, CommandHandler, Completion, ExtensionContext, ExtensionError,
};
use rquickjs::IntoJs as _;

use super::JsHandle;
use crate::host::Arguments;

/// Returns a handler that calls a function of the entry object with the arguments of a command.
pub(crate) fn command_handler(handle: &Arc<JsHandle>, function: &'static str) -> CommandHandler {
    let handle = Arc::clone(handle);
    Arc::new(move |arguments: String, context: ExtensionContext| {
        let handle = Arc::clone(&handle);
        Box::pin(async move {
            let id = handle.extension;
            let arguments = Arguments::built(move |ctx, host| {
                host.set_context(id, context);
                Ok(vec![arguments.into_js(ctx)?])
            });
            let called = handle.run(function, arguments).await;
            called.map(drop).map_err(|error| ExtensionError::new(error.message))
        })
    })
}

/// Returns a completer that calls `getArgumentCompletions` of a command. A failure completes
/// nothing.
pub(crate) fn argument_completer(handle: &Arc<JsHandle>) -> ArgumentCompleter {
    let handle = Arc::clone(handle);
    Arc::new(move |prefix: String| {
        let handle = Arc::clone(&handle);
        Box::pin(async move {
            let called = handle.call("completeArguments", vec![prefix.into()]).await;
            let Ok(serde_json::Value::Array(items)) = called else { return Vec::new() };
            items.iter().filter_map(completion).collect()
        })
    })
}

/// Reads one completion: `{ value, label?, description? }`.
fn completion(item: &serde_json::Value) -> Option<Completion> {
    let text = |name: &str| item.get(name)?.as_str().map(str::to_owned);
    let value = text("value")?;
    Some(Completion {
        label: text("label").unwrap_or_else(|| value.clone()),
        description: text("description"),
        value,
    })
}
