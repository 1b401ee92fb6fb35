//! Registrations of extensions.

use std::sync::Arc;

use pi_coding_agent::extension::ToolRegistration;
use pi_protocol::Tool;
use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::extension::JsTool;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
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
