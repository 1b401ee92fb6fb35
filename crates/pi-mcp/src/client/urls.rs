//! URLs that the user must open before a call can succeed (an error of 2025-11-25).

use std::time::Duration;

use pi_jsonrpc::Error;
use serde::Deserialize as _;
use serde_json::json;
use tokio::time::timeout;

use super::request::cancelled;
use super::{CallOptions, Client, ClientError};
use crate::protocol::{ElicitParams, methods};

/// The most URLs of one error.
const MAX_URLS: usize = 10;
/// Time that a person has at a URL.
const LIMIT: Duration = Duration::from_secs(10 * 60);

impl Client {
    /// Asks the user to open the URLs of `error`, and waits until the server has seen the result. An
    /// `Err` is the failure of the call: `error` itself if the user did not open a URL.
    pub(super) async fn open_urls(
        &self,
        error: Error,
        options: &CallOptions,
    ) -> Result<(), ClientError> {
        let urls = error.data.as_ref().and_then(|data| data.get("elicitations"));
        let urls = urls.and_then(|urls| Vec::<ElicitParams>::deserialize(urls).ok());
        let urls = urls.unwrap_or_default();
        if urls.is_empty() || urls.len() > MAX_URLS {
            return Err(ClientError::Remote(error));
        }
        for url in urls {
            let is_done = tokio::select! {
                is_done = self.open_url(&url) => is_done,
                () = cancelled(options) => return Err(ClientError::Cancelled),
            };
            if !is_done {
                return Err(ClientError::Remote(error));
            }
        }
        Ok(())
    }

    /// Returns true if the user opened the URL and the server says that it is done.
    async fn open_url(&self, question: &ElicitParams) -> bool {
        let Some(id) = question.elicitation_id.as_deref().filter(|_| question.is_url()) else {
            return false;
        };
        let inbox = &self.0.inbox;
        // The notice may come before the answer of the user.
        let done = inbox.expect_elicited(id);
        let answer = inbox.answer(methods::ELICIT, Some(json!(question))).await;
        let is_open = answer.is_ok_and(|answer| answer["action"] == "accept");
        let is_done = is_open && timeout(LIMIT, done.notified()).await.is_ok();
        inbox.forget_elicited(id);
        is_done
    }
}
