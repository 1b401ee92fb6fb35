//! The seam between the protocol and what a server offers.

use pi_jsonrpc::Error;
use pi_jsonrpc::connection::BoxFuture;
use serde_json::{Map, Value, json};

use super::context::Context;
use crate::protocol::meta::TASKS_EXTENSION;
use crate::protocol::{errors, methods};

/// Lists that clients can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Listing {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl Listing {
    /// Returns the listing that a method asks for.
    pub(super) fn of_method(method: &str) -> Option<Self> {
        Some(match method {
            methods::TOOLS_LIST => Self::Tools,
            methods::RESOURCES_LIST => Self::Resources,
            methods::RESOURCE_TEMPLATES_LIST => Self::ResourceTemplates,
            methods::PROMPTS_LIST => Self::Prompts,
            _ => return None,
        })
    }

    /// Returns the key of the items in the result.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// A change that clients are told about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools changed.
    Tools,
    /// The list of resources changed.
    Resources,
    /// The list of prompts changed.
    Prompts,
    /// The content of a resource changed.
    Resource {
        /// URI of the resource.
        uri: String,
    },
}

/// The parts of the protocol that a service implements. Methods of the others do not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Offers {
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
    pub completions: bool,
    pub logging: bool,
    pub tasks: bool,
    /// Lists change, and the service reports it.
    pub changes: bool,
}

impl Offers {
    pub(super) fn listing(self, listing: Listing) -> bool {
        match listing {
            Listing::Tools => self.tools,
            Listing::Resources | Listing::ResourceTemplates => self.resources,
            Listing::Prompts => self.prompts,
        }
    }

    /// Returns the capabilities for the result of `initialize`.
    pub(super) fn legacy(self) -> Value {
        let mut capabilities = self.common();
        if self.tasks {
            let tasks =
                json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
            capabilities.insert("tasks".to_owned(), tasks);
        }
        Value::Object(capabilities)
    }

    /// Returns the capabilities for the result of `server/discover`.
    pub(super) fn modern(self) -> Value {
        let mut capabilities = self.common();
        if self.tasks {
            capabilities.insert("extensions".to_owned(), json!({ TASKS_EXTENSION: {} }));
        }
        Value::Object(capabilities)
    }

    fn common(self) -> Map<String, Value> {
        let list = json!({ "listChanged": self.changes });
        let resources = json!({ "subscribe": self.changes, "listChanged": self.changes });
        let all = [
            (self.tools, "tools", list.clone()),
            (self.resources, "resources", resources),
            (self.prompts, "prompts", list),
            (self.completions, "completions", json!({})),
            (self.logging, "logging", json!({})),
        ];
        let offered = all.into_iter().filter(|(is_offered, ..)| *is_offered);
        offered.map(|(_, name, value)| (name.to_owned(), value)).collect()
    }
}

/// The identity of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// Name of the server for programs.
    pub name: String,
    /// Display name for people.
    pub title: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Instructions for models that use the server.
    pub instructions: Option<String>,
    /// Features that the service implements.
    pub offers: Offers,
}

impl About {
    pub(super) fn info(&self) -> Value {
        let mut info = json!({ "name": self.name, "version": self.version });
        if let Some(title) = &self.title {
            info["title"] = json!(title);
        }
        info
    }
}

/// What a server offers. Items and results are records of the protocol, as JSON objects; the server
/// adds what the era of the client asks for.
pub trait Service: Send + Sync + 'static {
    /// Returns the identity of the server.
    fn about(&self) -> About;

    /// Lists everything of a kind, always in the same order.
    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Value>, Error>>;

    /// Calls a tool. A tool that fails returns a result with `isError`; an error is for calls that
    /// are impossible, such as those of tools that do not exist.
    fn call_tool(
        &self,
        name: String,
        arguments: Map<String, Value>,
        context: Context,
    ) -> BoxFuture<'_, Result<Value, Error>>;

    /// Reads a resource. The default knows none.
    fn read_resource(&self, uri: String, context: Context) -> BoxFuture<'_, Result<Value, Error>> {
        let error = unknown_resource(&uri, context.client().is_modern());
        Box::pin(std::future::ready(Err(error)))
    }

    /// Returns the messages of a prompt. The default knows none.
    fn get_prompt(
        &self,
        name: String,
        arguments: Map<String, Value>,
        context: Context,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        let _ = (arguments, context);
        let error = Error::invalid_params(format_args!("unknown prompt: {name}"));
        Box::pin(std::future::ready(Err(error)))
    }

    /// Returns values for an argument of a prompt or template; at most 100 are sent.
    fn complete(&self, request: Map<String, Value>) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        let _ = request;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Returns the error of a resource that does not exist.
pub fn unknown_resource(uri: &str, is_modern: bool) -> Error {
    let code = if is_modern { Error::INVALID_PARAMS } else { errors::RESOURCE_NOT_FOUND };
    Error::new(code, format!("Resource not found: {uri}")).with_data(json!({ "uri": uri }))
}

/// Returns the result of a tool: a text.
pub fn text_result(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// Returns the result of a tool that failed.
pub fn error_result(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }], "isError": true })
}
