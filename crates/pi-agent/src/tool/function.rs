//! Tools made from functions.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{ConstrainedSampling, Effects, Tool};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{AgentTool, BoxFuture, ExecutionMode, Invocation, ToolOutput, schema_of};
use crate::error::ToolError;

type Execute =
    dyn Fn(Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;
type IdentifyFile = dyn Fn(String) -> BoxFuture<'static, PathBuf> + Send + Sync;
type DeclareEffects = dyn Fn(&Map<String, Value>) -> Effects + Send + Sync;
type Prepare =
    dyn Fn(&Map<String, Value>) -> Result<Option<Map<String, Value>>, ToolError> + Send + Sync;

/// A tool made from a function.
#[derive(Clone)]
pub struct FnTool {
    declaration: Tool,
    label: Option<String>,
    prompt_snippet: Option<String>,
    prompt_guidelines: Vec<String>,
    mode: ExecutionMode,
    prepare: Option<Arc<Prepare>>,
    effects: Option<Arc<DeclareEffects>>,
    identify_file: Option<Arc<IdentifyFile>>,
    execute: Arc<Execute>,
}

impl FnTool {
    /// Creates a tool whose schema is given as JSON.
    pub fn new<F, Fut, Out>(declaration: Tool, execute: F) -> Self
    where
        F: Fn(Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, ToolError>> + Send + 'static,
        Out: Into<ToolOutput>,
    {
        let execute = move |invocation| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
            let running = execute(invocation);
            Box::pin(async move { running.await.map(Into::into) })
        };
        Self {
            declaration,
            label: None,
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            mode: ExecutionMode::Parallel,
            prepare: None,
            effects: None,
            identify_file: None,
            execute: Arc::new(execute),
        }
    }

    /// Creates a tool whose arguments are a Rust type, which also determines the schema.
    pub fn typed<P, F, Fut, Out>(
        name: impl Into<String>,
        description: impl Into<String>,
        execute: F,
    ) -> Self
    where
        P: JsonSchema + DeserializeOwned + Send + 'static,
        F: Fn(P, Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, ToolError>> + Send + 'static,
        Out: Into<ToolOutput>,
    {
        let execute = Arc::new(execute);
        Self::new(Tool::new(name, description, schema_of::<P>()), move |mut invocation| {
            let arguments = Value::Object(std::mem::take(&mut invocation.arguments));
            let execute = Arc::clone(&execute);
            async move {
                let arguments = serde_json::from_value::<P>(arguments).map_err(|error| {
                    ToolError::with_source(
                        format!("The arguments do not match the schema: {error}"),
                        error,
                    )
                })?;
                execute(arguments, invocation).await
            }
        })
    }

    /// Sets the name that users see.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the line for the list of tools in a system prompt.
    #[must_use]
    pub fn prompt_snippet(mut self, snippet: impl Into<String>) -> Self {
        self.prompt_snippet = Some(snippet.into());
        self
    }

    /// Sets the guidelines for a system prompt, one sentence each.
    #[must_use]
    pub fn prompt_guidelines<S: Into<String>>(
        mut self,
        guidelines: impl IntoIterator<Item = S>,
    ) -> Self {
        self.prompt_guidelines = guidelines.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how strictly the provider enforces the schema.
    #[must_use]
    pub fn constrained_sampling(mut self, sampling: ConstrainedSampling) -> Self {
        self.declaration.constrained_sampling = Some(sampling);
        self
    }

    /// Requires sequential execution of all calls in a turn that calls this tool.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.mode = ExecutionMode::Sequential;
        self
    }

    /// Sets the function that declares the effects of a call.
    #[must_use]
    pub fn effects(
        mut self,
        effects: impl Fn(&Map<String, Value>) -> Effects + Send + Sync + 'static,
    ) -> Self {
        self.effects = Some(Arc::new(effects));
        self
    }

    /// Sets the function that returns one name for all spellings of a path.
    #[must_use]
    pub fn identify_file<Fut>(
        mut self,
        identify: impl Fn(String) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = PathBuf> + Send + 'static,
    {
        self.identify_file = Some(Arc::new(move |path| Box::pin(identify(path))));
        self
    }

    /// Sets the function that changes arguments before they are validated.
    #[must_use]
    pub fn prepare(
        mut self,
        prepare: impl Fn(&Map<String, Value>) -> Result<Option<Map<String, Value>>, ToolError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }
}

impl AgentTool for FnTool {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn label(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.label.as_deref().unwrap_or(&self.declaration.name))
    }

    fn prompt_snippet(&self) -> Option<&str> {
        self.prompt_snippet.as_deref()
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.prompt_guidelines
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.mode
    }

    fn prepare_arguments<'a>(
        &'a self,
        raw: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Option<Map<String, Value>>, ToolError>> {
        let prepared = self.prepare.as_ref().map_or(Ok(None), |prepare| prepare(raw));
        Box::pin(std::future::ready(prepared))
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        self.effects.as_ref().map_or_else(Effects::unknown, |effects| effects(arguments))
    }

    fn identify_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, PathBuf> {
        match &self.identify_file {
            Some(identify) => identify(path.to_owned()),
            None => Box::pin(std::future::ready(PathBuf::from(path))),
        }
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (self.execute)(invocation)
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FnTool").field(&self.declaration.name).finish()
    }
}
