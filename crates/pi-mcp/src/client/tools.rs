//! Tools: their list, and calls of them.

use std::collections::HashMap;

use pi_base::lock;
use serde_json::{Map, Value, json};

use super::request::{Draft, object};
use super::tool_headers::{HeaderRule, header_rules, headers};
use super::{CallOptions, Client, ClientError, List};
use crate::error::invalid;
use crate::protocol::{CallToolResult, Era, Tool, errors, methods, tasks};

/// Facts from the last list that a call of a tool needs.
#[derive(Debug, Clone, Default)]
struct KnownTool {
    headers: Vec<HeaderRule>,
    requires_task: bool,
}

/// The tools of the last list, by name.
#[derive(Debug, Default)]
pub(super) struct KnownTools(HashMap<String, KnownTool>);

impl Client {
    /// Lists all tools. Tools that cannot be called over HTTP, because their declaration of headers
    /// is invalid, are left out.
    pub async fn list_tools(&self) -> Result<List<Tool>, ClientError> {
        let mut list: List<Tool> = self.list(methods::TOOLS_LIST, "tools").await?;
        let has_headers = self.era() == Era::Modern && !self.0.link.is_stdio();
        let mut known = KnownTools::default();
        let mut problems = Vec::new();
        list.items.retain(|tool| {
            let rules = if has_headers { header_rules(&tool.input_schema) } else { Ok(Vec::new()) };
            let headers = match rules {
                Ok(headers) => headers,
                Err(problem) => {
                    problems.push(format!("the tool {:?} is left out: {problem}", tool.name));
                    return false;
                }
            };
            let requires_task = tool.requires_task();
            known.0.insert(tool.name.clone(), KnownTool { headers, requires_task });
            true
        });
        for problem in problems {
            self.0.inbox.handler.problem(&problem);
            list.add_problem(problem);
        }
        *lock(&self.0.tools) = known;
        Ok(list)
    }

    /// Calls a tool. The call is never repeated, because it may have had an effect, except if the
    /// server refused it before it ran.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<CallToolResult, ClientError> {
        let arguments = Value::Object(arguments);
        let result = match self.call_once(name, &arguments, options).await {
            Err(ClientError::Remote(error)) if error.code == errors::HEADER_MISMATCH => {
                // The declaration of the tool's headers is unknown or outdated.
                self.list_tools().await?;
                self.call_once(name, &arguments, options).await?
            }
            Err(ClientError::Remote(error)) if error.code == errors::URL_ELICITATION_REQUIRED => {
                // The server wants the user to open a URL first.
                self.open_urls(error, options).await?;
                self.call_once(name, &arguments, options).await?
            }
            result => result?,
        };
        let result = self.task_result(result, options).await?;
        serde_json::from_value(result)
            .map_err(|error| invalid(methods::TOOLS_CALL, &error.to_string()))
    }

    async fn call_once(
        &self,
        name: &str,
        arguments: &Value,
        options: &CallOptions,
    ) -> Result<Value, ClientError> {
        let known = {
            let tools = lock(&self.0.tools);
            tools.0.get(name).cloned().unwrap_or_default()
        };
        let mut params = object(json!({ "name": name, "arguments": arguments }));
        if known.requires_task && self.era() == Era::Legacy {
            params.insert("task".to_owned(), json!({}));
        }
        let mut draft = Draft::new(methods::TOOLS_CALL, params);
        draft.headers = headers(&known.headers, arguments);
        self.request(draft, options).await
    }

    /// Returns the result of a call, also if the server made it a task.
    async fn task_result(
        &self,
        mut result: Value,
        options: &CallOptions,
    ) -> Result<Value, ClientError> {
        let is_task = result.get("resultType").and_then(Value::as_str) == Some(tasks::RESULT_TYPE);
        match self.era() {
            Era::Modern if is_task => self.follow_task(result, options).await,
            Era::Legacy if result.get("task").is_some_and(Value::is_object) => {
                self.follow_legacy_task(result["task"].take(), options).await
            }
            _ => Ok(result),
        }
    }
}
