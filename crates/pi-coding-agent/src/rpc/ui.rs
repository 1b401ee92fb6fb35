//! The user interface at the other end of the protocol: dialogs go out as requests, answers come
//! back.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::lock;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::LineWriter;
use crate::extension::{Dialog, DialogAnswer, ThemeError, Ui, UiUpdate, WidgetPlacement};

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

    /// Writes a request and returns its id. Fields that are null are left out.
    fn request(&self, method: &str, fields: Value) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let mut record = Map::new();
        record.insert("type".to_owned(), "extension_ui_request".into());
        record.insert("id".to_owned(), id.clone().into());
        record.insert("method".to_owned(), method.into());
        if let Value::Object(fields) = fields {
            record.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        // A reader that is gone ends the server.
        let _ = self.output.add(&record);
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
        let timeout = timeout.map(|timeout| timeout.as_millis() as u64);
        let fields = match &dialog {
            Dialog::Select { title, options } => {
                json!({ "title": title, "options": options, "timeout": timeout })
            }
            Dialog::Confirm { title, message } => {
                json!({ "title": title, "message": message, "timeout": timeout })
            }
            Dialog::Input { title, placeholder } => {
                json!({ "title": title, "placeholder": placeholder, "timeout": timeout })
            }
            Dialog::Editor { title, prefill } => json!({ "title": title, "prefill": prefill }),
        };
        let (sender, receiver) = oneshot::channel();
        let id = self.request(dialog.kind(), fields);
        lock(&self.waiting).insert(id.clone(), sender);
        Box::pin(async move {
            let _closed = Closed { ui: self, id };
            let fields = receiver.await.ok()?;
            if fields.get("cancelled") == Some(&Value::Bool(true)) {
                return None;
            }
            if let Dialog::Confirm { .. } = dialog {
                return fields.get("confirmed")?.as_bool().map(DialogAnswer::Confirmed);
            }
            let text = fields.get("value")?.as_str()?;
            Some(DialogAnswer::Text(text.to_owned()))
        })
    }

    fn update(&self, update: UiUpdate) {
        match update {
            UiUpdate::Notify { message, kind } => {
                self.request("notify", json!({ "message": message, "notifyType": kind }));
            }
            UiUpdate::SetStatus { key, text } => {
                self.request("setStatus", json!({ "statusKey": key, "statusText": text }));
            }
            UiUpdate::SetWidget { key, lines, placement } => {
                let placement = match placement {
                    None => None,
                    Some(WidgetPlacement::AboveEditor) => Some("aboveEditor"),
                    Some(WidgetPlacement::BelowEditor) => Some("belowEditor"),
                };
                let fields = json!({
                    "widgetKey": key, "widgetLines": lines, "widgetPlacement": placement,
                });
                self.request("setWidget", fields);
            }
            UiUpdate::SetTitle { title } => {
                self.request("setTitle", json!({ "title": title }));
            }
            UiUpdate::SetEditorText { text } | UiUpdate::PasteToEditor { text } => {
                self.request("set_editor_text", json!({ "text": text }));
            }
            // The protocol has no requests for what only a screen shows.
            UiUpdate::SetWorkingMessage { .. }
            | UiUpdate::SetWorkingVisible { .. }
            | UiUpdate::SetWorkingIndicator { .. }
            | UiUpdate::SetHiddenThinkingLabel { .. }
            | UiUpdate::SetToolsExpanded { .. }
            | UiUpdate::AddThemes { .. }
            | UiUpdate::Reset => {}
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
