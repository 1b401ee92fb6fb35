//! The smaller requests that a client makes of a server.

use pi_base::lock;
use serde_json::{Map, Value, json};

use super::request::{Draft, object};
use super::{CallOptions, Client, ClientError};
use crate::error::invalid;
use crate::protocol::{
    CompleteParams, CompleteResult, Era, GetPromptResult, LoggingLevel, ReadResourceResult, methods,
};

impl Client {
    /// Reads a resource.
    pub async fn read_resource(
        &self,
        uri: &str,
        options: &CallOptions,
    ) -> Result<ReadResourceResult, ClientError> {
        let params = object(json!({ "uri": uri }));
        self.request_as(Draft::new(methods::RESOURCES_READ, params), options).await
    }

    /// Fills in a prompt.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<GetPromptResult, ClientError> {
        let params = object(json!({ "name": name, "arguments": arguments }));
        self.request_as(Draft::new(methods::PROMPTS_GET, params), options).await
    }

    /// Completes an argument of a prompt or of a template.
    pub async fn complete(
        &self,
        params: &CompleteParams,
        options: &CallOptions,
    ) -> Result<CompleteResult, ClientError> {
        self.request_as(Draft::new(methods::COMPLETE, object(json!(params))), options).await
    }

    /// Chooses the least level of log messages.
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), ClientError> {
        if self.era() == Era::Modern {
            let mut wanted = lock(&self.0.log_level);
            *wanted = Some(level);
            return Ok(());
        }
        let params = object(json!({ "level": level }));
        self.acknowledged(methods::SET_LEVEL, params).await
    }

    /// Asks whether the server is there (legacy).
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.acknowledged(methods::PING, Map::new()).await
    }

    /// Sends a request whose result has no content.
    pub(super) async fn acknowledged(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<(), ClientError> {
        let result = self.request(Draft::new(method, params), &CallOptions::default()).await?;
        if result.is_object() { Ok(()) } else { Err(invalid(method, "it is not an object")) }
    }
}
