//! A tool of an extension.

use pi_agent::{AgentTool, BoxFuture, Invocation, ToolError, ToolOutput};
use pi_protocol::Tool;
use rquickjs::IntoJs as _;
use serde_json::Value;

use crate::host::ExtensionId;
use crate::thread::WeakJsThread;
use crate::value::Json;

/// A tool of an extension. Its functions stay in JavaScript, under the tool's name.
#[derive(Debug)]
pub(crate) struct JsTool {
    pub(crate) thread: WeakJsThread,
    pub(crate) extension: ExtensionId,
    pub(crate) declaration: Tool,
}

impl AgentTool for JsTool {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (id, name) = (self.extension, self.declaration.name.clone());
            let Invocation { id: call, arguments, .. } = invocation;
            let thread =
                self.thread.upgrade().ok_or_else(|| ToolError::new("the extension was stopped"))?;
            let called = thread.call::<Json>(id, "executeTool", move |ctx, _host| {
                let arguments = Json(Value::Object(arguments)).into_js(ctx)?;
                Ok(vec![id.into_js(ctx)?, name.into_js(ctx)?, call.into_js(ctx)?, arguments])
            });
            let result = called.await.map_err(|error| ToolError::new(error.message))?;
            let content = serde_json::from_value(result.0["content"].clone()).unwrap_or_default();
            Ok(ToolOutput::blocks(content).with_details(result.0.get("details").cloned()))
        })
    }
}
