//! One call of a built-in tool.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::CancelToken;
use pi_tools::{BashSettings, Workspace};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::executor::ExtensionExecutor;
use super::operations::Operations;
use crate::error::NativeError;
use crate::host::Host;

/// The options of a tool, as JavaScript gives them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Settings {
    cwd: PathBuf,
    shell_path: Option<PathBuf>,
    /// Variables of commands; absent for those of the process.
    environment: Option<BTreeMap<String, String>>,
    auto_resize_images: Option<bool>,
    /// Names of the operations that the extension replaces.
    operations: BTreeSet<String>,
}

impl Settings {
    pub(super) fn read(value: Value) -> Result<Self, NativeError> {
        serde_json::from_value(value)
            .map_err(|error| NativeError::of("TypeError", format!("invalid options: {error}")))
    }
}

/// A call of a built-in tool that runs.
#[derive(Debug)]
pub(super) struct Running {
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
    cancel: CancelToken,
    pub(super) operations: Arc<Operations>,
}

impl Running {
    /// Starts a tool on the runtime of the session.
    pub(super) fn start(
        host: &Host,
        mut bash: BashSettings,
        name: &str,
        settings: Settings,
        arguments: Value,
    ) -> Result<Self, NativeError> {
        let (sender, events) = mpsc::unbounded_channel();
        let operations = Arc::new(Operations::new(settings.operations, sender.clone()));
        let executor =
            Arc::new(ExtensionExecutor::new(host.access.clone(), Arc::clone(&operations)));
        let home = host.process.variable("HOME").map(PathBuf::from);
        let variables = settings.environment.unwrap_or_else(|| host.process.variables());
        bash.shell = settings.shell_path;
        bash.environment = variables
            .into_iter()
            .map(|(name, value)| (OsString::from(name), value.into()))
            .collect();
        let temporary = host.process.variable("TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
        bash.output_directory = Some(PathBuf::from(temporary));
        let cwd = host.process.absolute(&settings.cwd);
        let workspace = Workspace::new(executor, cwd, home).with_bash(bash);
        if settings.auto_resize_images == Some(false) {
            let mut images = workspace.image_settings();
            images.resize = None;
            workspace.set_image_settings(images);
        }
        let tool = super::built(&Arc::new(workspace), name)?;
        let Value::Object(arguments) = arguments else {
            return Err(NativeError::of("TypeError", "the arguments of a tool are an object"));
        };
        let cancel = CancelToken::new();
        let updates = {
            let sender = sender.clone();
            Updates::new(move |output| drop(sender.send(event("update", &output))))
        };
        let cancelled = cancel.clone();
        host.main().spawn(async move {
            let executed = match tool.prepare_arguments(&arguments).await {
                Ok(prepared) => {
                    let arguments = prepared.unwrap_or(arguments);
                    let invocation = Invocation::new("extension", arguments, cancelled, updates);
                    tool.execute(invocation).await
                }
                Err(error) => Err(error),
            };
            let end = match executed {
                Ok(output) => event("done", &output),
                Err(error) => failure(&error),
            };
            let _ = sender.send(end);
        });
        Ok(Self { events: events.into(), cancel, operations })
    }

    /// Waits for the next event.
    pub(super) async fn next(&self) -> Option<Value> {
        self.events.lock().await.recv().await
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }
}

fn event(kind: &str, output: &ToolOutput) -> Value {
    json!({ "type": kind, "output": serde_json::to_value(output).unwrap_or_default() })
}

fn failure(error: &ToolError) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), "failed".into());
    fields.insert("message".to_owned(), error.to_string().into());
    Value::Object(fields)
}
