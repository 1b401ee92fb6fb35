//! Registrations of extensions.

use std::sync::Arc;

use pi_coding_agent::extension::{QuestionKind, ToolRegistration};
use pi_protocol::Tool;
use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::extension::JsTool;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

/// Events that come so often that they are sent only to extensions that listen to them.
const PROGRESS: &[&str] = &["message_update", "tool_execution_update", "provider_stream_event"];

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    object.set(
        "setHandlers",
        Function::new(ctx.clone(), move |id: ExtensionId, name: String, count: usize| {
            state.with_extension(id, |extension| {
                if let Some(kind) = QuestionKind::ALL.iter().find(|kind| kind.name() == name) {
                    extension.api.answer(*kind);
                }
                if PROGRESS.contains(&name.as_str()) {
                    extension.api.receive_progress();
                }
                extension.listeners.set(name, count);
            });
        })?,
    )?;
    let state = host.clone();
    object.set(
        "registerTool",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, tool: Json| {
            let declaration: Tool = serde_json::from_value(tool.0)
                .map_err(|error| NativeError::new(error.to_string()).throw(&ctx))?;
            let registered = state.with_extension(id, |extension| {
                let thread = extension.thread.clone();
                let tool = JsTool { thread, extension: id, declaration };
                extension.api.register_tool(ToolRegistration::new(Arc::new(tool)))
            });
            match registered {
                Some(Err(error)) => Err(NativeError::new(error.to_string()).throw(&ctx)),
                _ => Ok(()),
            }
        })?,
    )?;
    Ok(object)
}
