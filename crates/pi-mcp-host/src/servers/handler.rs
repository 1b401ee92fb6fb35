//! Answers to the questions of one server, and what follows from its news.

use std::sync::{Arc, Weak};

use pi_jsonrpc::Error;
use pi_mcp::BoxFuture;
use pi_mcp::client::{Changed, Handler};
use pi_mcp::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, LogMessage, Root,
};
use serde_json::Value;

use super::Shared;
use super::connect;
use crate::log::ServerLog;
use crate::server::Server;
use crate::{elicitation, sampling};

/// Answers the questions of one server.
pub(crate) struct ServerHandler {
    shared: Weak<Shared>,
    server: Weak<Server>,
    log: Arc<ServerLog>,
}

impl ServerHandler {
    pub(crate) fn new(shared: &Arc<Shared>, server: &Arc<Server>, log: &Arc<ServerLog>) -> Self {
        let (shared, server) = (Arc::downgrade(shared), Arc::downgrade(server));
        Self { shared, server, log: Arc::clone(log) }
    }

    fn both(&self) -> Option<(Arc<Shared>, Arc<Server>)> {
        Some((self.shared.upgrade()?, self.server.upgrade()?))
    }
}

impl Handler for ServerHandler {
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Error>> {
        Box::pin(async {
            let shared = self.shared.upgrade().ok_or_else(gone)?;
            let cwd = &shared.options.environment.cwd;
            let uri = url::Url::from_directory_path(cwd).map_err(|()| gone())?;
            let name = cwd.file_name().map(|name| name.to_string_lossy().into_owned());
            let uri = uri.as_str().trim_end_matches('/').to_owned();
            Ok(vec![Root { uri, name, ..Root::default() }])
        })
    }

    fn sample(
        &self,
        request: CreateMessageParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Error>> {
        Box::pin(async move {
            let (shared, server) = self.both().ok_or_else(gone)?;
            let context = shared.context().ok_or_else(gone)?;
            sampling::sample(&server, request, &context).await
        })
    }

    fn elicit(&self, request: ElicitParams) -> BoxFuture<'_, Result<ElicitResult, Error>> {
        Box::pin(async move {
            let (shared, server) = self.both().ok_or_else(gone)?;
            let context = shared.context().ok_or_else(gone)?;
            Ok(elicitation::elicit(&server.name, &request, context.ui()).await)
        })
    }

    fn log(&self, message: LogMessage) {
        let text = match message.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.log.write(message.level.name(), message.logger.as_deref(), &text);
    }

    fn changed(&self, changed: Changed) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some((shared, server)) = self.both() else { return };
            match changed {
                Changed::Resource(uri) => return server.watched.changed(&uri),
                Changed::Resources => return,
                Changed::Tools | Changed::Prompts => {}
            }
            // If the connection is not stored yet, the lists are read again when it is.
            server.note_change();
            if let Some(client) = server.client()
                && server.take_change()
            {
                match connect::refresh(&server, &client, &shared, &self.log).await {
                    Ok(()) => shared.lists_changed(),
                    Err(error) => self.log.write("error", Some("pi"), &error.to_string()),
                }
            }
        })
    }

    fn problem(&self, problem: &str) {
        self.log.write("warning", Some("pi"), problem);
    }

    fn closed(&self, reason: &str) {
        if let Some((shared, server)) = self.both() {
            shared.ended(&server, reason);
        }
    }
}

fn gone() -> Error {
    Error::internal("the session has ended")
}
