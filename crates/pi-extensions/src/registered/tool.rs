//! A tool of an extension.

use std::borrow::Cow;

use pi_agent::{AgentTool, BoxFuture, ExecutionMode, Invocation, ToolError, ToolOutput};
use pi_protocol::Tool;
use rquickjs::IntoJs as _;
use serde_json::{Map, Value};

use super::{JsHandle, output_from_json};
use crate::error::NativeError;
use crate::host::{Arguments, function};
use crate::value::Json;

/// A tool of an extension. Its functions stay in JavaScript.
#[derive(Debug)]
pub(crate) struct JsTool {
    handle: JsHandle,
    declaration: Tool,
    label: Option<String>,
    snippet: Option<String>,
    guidelines: Vec<String>,
    mode: ExecutionMode,
    prepares: bool,
}

impl JsTool {
    /// Reads the plain fields of a tool definition; `prepares` says that it has
    /// `prepareArguments`.
    pub(crate) fn new(handle: JsHandle, definition: &Value) -> Result<Self, NativeError> {
        let text = |name: &str| definition[name].as_str().map(str::to_owned);
        let guidelines = definition["promptGuidelines"].as_array();
        let guidelines = guidelines.into_iter().flatten().filter_map(Value::as_str);
        let constrained = match &definition["constrainedSampling"] {
            Value::Null => None,
            value => Some(serde_json::from_value(value.clone())?),
        };
        let mut declaration = Tool::new(
            text("name").unwrap_or_default(),
            text("description").unwrap_or_default(),
            definition["parameters"].clone(),
        );
        declaration.constrained_sampling = constrained;
        Ok(Self {
            handle,
            label: text("label"),
            snippet: text("promptSnippet"),
            guidelines: guidelines.map(str::to_owned).collect(),
            mode: match text("executionMode").as_deref() {
                Some("sequential") => ExecutionMode::Sequential,
                _ => ExecutionMode::Parallel,
            },
            prepares: definition["prepares"].as_bool() == Some(true),
            declaration,
        })
    }
}

impl AgentTool for JsTool {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn label(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.label.as_deref().unwrap_or(&self.declaration.name))
    }

    fn prompt_snippet(&self) -> Option<&str> {
        self.snippet.as_deref()
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.mode
    }

    fn prepare_arguments<'a>(
        &'a self,
        raw: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Option<Map<String, Value>>, ToolError>> {
        Box::pin(async move {
            if !self.prepares {
                return Ok(None);
            }
            let raw = Value::Object(raw.clone());
            let called = self.handle.call("prepareArguments", vec![raw.into()]);
            let name = &self.declaration.name;
            match called.await {
                Ok(Value::Object(arguments)) => Ok(Some(arguments)),
                Ok(_) => {
                    let problem = format!("prepareArguments of tool \"{name}\" returned no object");
                    Err(ToolError::new(problem))
                }
                Err(error) => Err(ToolError::new(error.message)),
            }
        })
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Invocation { id, arguments, cancel, updates, .. } = invocation;
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let arguments = Arguments::built(move |ctx, host| {
                let token = host.number();
                // Without a receiver the call is over.
                let _ = sender.send((token, host.poster()));
                let update = function(ctx, host, move |call| {
                    if let Ok(output) = output_from_json(call.json(0)?) {
                        updates.send(output);
                    }
                    call.done()
                })?;
                Ok(vec![
                    id.into_js(ctx)?,
                    Json(Value::Object(arguments)).into_js(ctx)?,
                    (token as f64).into_js(ctx)?,
                    update.into_value(),
                ])
            });
            let called = self.handle.call("executeTool", arguments);
            let aborting = async move {
                let Ok((token, poster)) = receiver.await else { return };
                cancel.cancelled().await;
                poster.post(move |ctx, host| host.abort_call(ctx, token));
            };
            let called = with_abort(called, aborting).await;
            let result = called.map_err(|error| ToolError::new(error.message))?;
            output_from_json(result).map_err(ToolError::new)
        })
    }
}

/// Waits for a call while another future may abort it.
pub(super) async fn with_abort<T>(
    call: impl Future<Output = T>,
    abort: impl Future<Output = ()>,
) -> T {
    let mut call = std::pin::pin!(call);
    let mut abort = std::pin::pin!(abort);
    tokio::select! {
        biased;
        result = &mut call => return result,
        () = &mut abort => {}
    }
    call.await
}
