//! The user at the other end of the protocol: questions go out as requests, answers come back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pi_agent::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::LineWriter;
use crate::extension::{Ui, WidgetPlacement};

/// Asks through the protocol.
#[derive(Debug)]
pub struct RpcUi {
    output: LineWriter,
    waiting: Mutex<HashMap<String, oneshot::Sender<Map<String, Value>>>>,
}

impl RpcUi {
    /// Questions go to this output.
    pub fn new(output: LineWriter) -> Self {
        Self { output, waiting: Mutex::default() }
    }

    /// An answer came. One that nobody waits for is ignored.
    pub fn answer(&self, id: &str, fields: Map<String, Value>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(waiting) = waiting {
            // Whoever asked may have given up.
            let _ = waiting.send(fields);
        }
    }

    /// Nobody will answer any more.
    pub fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn tell(&self, method: &str, fields: Value) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let mut record = Map::new();
        record.insert("type".to_owned(), "extension_ui_request".into());
        record.insert("id".to_owned(), id.clone().into());
        record.insert("method".to_owned(), method.into());
        if let Value::Object(fields) = fields {
            record.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        // If the other end is gone, the server finds out.
        let _ = self.output.add(&record);
        id
    }

    fn ask<T: Send + 'static>(
        &self,
        method: &str,
        fields: Value,
        read: impl Fn(&Map<String, Value>) -> Option<T> + Send + 'static,
    ) -> BoxFuture<'_, Option<T>> {
        let (sender, receiver) = oneshot::channel();
        let id = self.tell(method, fields);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        Box::pin(async move {
            let fields = receiver.await.ok()?;
            if fields.get("cancelled") == Some(&Value::Bool(true)) { None } else { read(&fields) }
        })
    }
}

fn text(fields: &Map<String, Value>) -> Option<String> {
    fields.get("value")?.as_str().map(str::to_owned)
}

impl Ui for RpcUi {
    fn is_present(&self) -> bool {
        true
    }

    fn select<'a>(
        &'a self,
        title: &'a str,
        options: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        self.ask("select", json!({"title": title, "options": options}), text)
    }

    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> BoxFuture<'a, bool> {
        let asked = self.ask("confirm", json!({"title": title, "message": message}), |fields| {
            fields.get("confirmed")?.as_bool()
        });
        Box::pin(async move { asked.await.unwrap_or(false) })
    }

    fn input<'a>(
        &'a self,
        title: &'a str,
        placeholder: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        self.ask("input", json!({"title": title, "placeholder": placeholder}), text)
    }

    fn editor<'a>(
        &'a self,
        title: &'a str,
        prefill: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        self.ask("editor", json!({"title": title, "prefill": prefill}), text)
    }

    fn notify(&self, message: &str, kind: &str) {
        self.tell("notify", json!({"message": message, "notifyType": kind}));
    }

    fn set_status(&self, key: &str, text: Option<&str>) {
        self.tell("setStatus", json!({"statusKey": key, "statusText": text}));
    }

    fn set_widget(&self, key: &str, lines: Option<&[String]>, placement: WidgetPlacement) {
        let placement = match placement {
            WidgetPlacement::AboveEditor => None,
            WidgetPlacement::BelowEditor => Some("belowEditor"),
        };
        let fields = json!({"widgetKey": key, "widgetLines": lines, "widgetPlacement": placement});
        self.tell("setWidget", fields);
    }

    fn set_title(&self, title: &str) {
        self.tell("setTitle", json!({"title": title}));
    }

    fn set_editor_text(&self, text: &str) {
        self.tell("set_editor_text", json!({"text": text}));
    }
}
