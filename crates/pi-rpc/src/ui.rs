//! The user interface at the other end of the protocol: dialogs go out as requests, answers come
//! back.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::lock;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::LineWriter;
use pi_coding_agent::extension::{
    Dialog, DialogAnswer, ThemeError, Ui, UiRequest, UiUpdate, dialog_answer,
};

type Waiting = HashMap<String, oneshot::Sender<Map<String, Value>>>;

/// A user interface over the protocol.
#[derive(Debug)]
pub struct RpcUi {
    output: LineWriter,
    waiting: Mutex<Waiting>,
}

impl RpcUi {
    /// Creates an interface that writes its requests to `output`.
    pub fn new(output: LineWriter) -> Self {
        Self { output, waiting: Mutex::default() }
    }

    /// Passes an answer to the dialog that waits for it. Other answers are ignored.
    pub fn answer(&self, id: &str, fields: Map<String, Value>) {
        let waiting = lock(&self.waiting).remove(id);
        if let Some(waiting) = waiting {
            // The dialog may be closed already.
            let _ = waiting.send(fields);
        }
    }

    /// Closes all dialogs: no answers follow.
    pub fn close(&self) {
        lock(&self.waiting).clear();
    }

    /// Writes a request and returns its id.
    fn request(&self, request: UiRequest) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        // A reader that is gone ends the server.
        let _ = self.output.add(&request.into_record(&id));
        id
    }
}

impl Ui for RpcUi {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(
        &self,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        let (sender, receiver) = oneshot::channel();
        let id = self.request(UiRequest::of_dialog(&dialog, timeout));
        lock(&self.waiting).insert(id.clone(), sender);
        Box::pin(async move {
            let _closed = Closed { ui: self, id };
            let fields = receiver.await.ok()?;
            dialog_answer(&dialog, &fields)
        })
    }

    fn update(&self, update: UiUpdate) {
        if let Some(request) = UiRequest::of_update(update) {
            self.request(request);
        }
    }

    fn set_theme(&self, _name: &str) -> Result<(), ThemeError> {
        Err(ThemeError("Theme switching not supported in RPC mode".to_owned()))
    }
}

/// Forgets a dialog when its future is dropped.
struct Closed<'a> {
    ui: &'a RpcUi,
    id: String,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        lock(&self.ui.waiting).remove(&self.id);
    }
}
