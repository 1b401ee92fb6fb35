//! Reactions of a client to questions and notices of its server.

use pi_jsonrpc::Error;

use crate::BoxFuture;
use crate::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, LogMessage, Root, methods,
};

/// Changes of a server's lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// The list of tools.
    Tools,
    /// The list of resources.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The resource with this address.
    Resource(String),
}

/// Answers questions of a server and takes note of its news.
///
/// A question arrives only if its capability was offered. It arrives in the same way in both eras.
/// The future is dropped if the server withdraws the question or the connection ends.
pub trait Handler: Send + Sync + 'static {
    /// Returns the roots of the client.
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Error>> {
        Box::pin(async { Err(Error::method_not_found(methods::ROOTS_LIST)) })
    }

    /// Asks a model.
    fn sample(
        &self,
        request: CreateMessageParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Error>> {
        let _ = request;
        Box::pin(async { Err(Error::method_not_found(methods::CREATE_MESSAGE)) })
    }

    /// Asks the user.
    fn elicit(&self, request: ElicitParams) -> BoxFuture<'_, Result<ElicitResult, Error>> {
        let _ = request;
        Box::pin(async { Err(Error::method_not_found(methods::ELICIT)) })
    }

    /// Takes note that what a URL was opened for is done.
    fn elicited(&self, elicitation_id: &str) {
        let _ = elicitation_id;
    }

    /// Takes note of a log message. It must not block.
    fn log(&self, message: LogMessage) {
        let _ = message;
    }

    /// Reacts to a change, for example by listing tools again. The next change is delivered when
    /// the future is done: any number of notices in the meantime is one change.
    fn changed(&self, changed: Changed) -> BoxFuture<'_, ()> {
        let _ = changed;
        Box::pin(async {})
    }

    /// Takes note of something that the server did wrong and that failed nothing. It must not block.
    fn problem(&self, problem: &str) {
        let _ = problem;
    }

    /// Takes note of the end of the connection. It must not block.
    fn closed(&self, reason: &str) {
        let _ = reason;
    }
}
