//! The records of the user interface for programs, as docs/rpc.md describes them: requests for
//! dialogs, their answers, and what extensions show. Pure.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ui::{Dialog, DialogAnswer, UiUpdate, WidgetPlacement};

/// A request to the user interface, without its id.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UiRequest {
    /// The method.
    pub method: &'static str,
    /// The other fields, without those that are null.
    pub fields: Map<String, Value>,
}

impl UiRequest {
    fn new(method: &'static str, fields: Value) -> Self {
        let mut request = Self { method, fields: Map::new() };
        if let Value::Object(fields) = fields {
            request.fields.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        request
    }

    /// Returns the request for a dialog.
    pub fn of_dialog(dialog: &Dialog, timeout: Option<Duration>) -> Self {
        let timeout = timeout.map(|timeout| timeout.as_millis() as u64);
        let fields = match dialog {
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
        Self::new(dialog.kind(), fields)
    }

    /// Returns the request for an update; `None` for what only a screen shows.
    pub fn of_update(update: UiUpdate) -> Option<Self> {
        let (method, fields) = match update {
            UiUpdate::Notify { message, kind } => {
                ("notify", json!({ "message": message, "notifyType": kind }))
            }
            UiUpdate::SetStatus { key, text } => {
                ("setStatus", json!({ "statusKey": key, "statusText": text }))
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
                ("setWidget", fields)
            }
            UiUpdate::SetTitle { title } => ("setTitle", json!({ "title": title })),
            UiUpdate::SetEditorText { text } | UiUpdate::PasteToEditor { text } => {
                ("set_editor_text", json!({ "text": text }))
            }
            // The protocol has no requests for what only a screen shows.
            UiUpdate::SetWorkingMessage { .. }
            | UiUpdate::SetWorkingVisible { .. }
            | UiUpdate::SetWorkingIndicator { .. }
            | UiUpdate::SetHiddenThinkingLabel { .. }
            | UiUpdate::SetToolsExpanded { .. }
            | UiUpdate::AddThemes { .. }
            | UiUpdate::Reset => return None,
        };
        Some(Self::new(method, fields))
    }

    /// Returns the record with an id.
    pub fn into_record(self, id: &str) -> Map<String, Value> {
        let mut record = Map::new();
        record.insert("type".to_owned(), "extension_ui_request".into());
        record.insert("id".to_owned(), id.into());
        record.insert("method".to_owned(), self.method.into());
        record.extend(self.fields);
        record
    }
}

/// Returns the answer to a dialog from the fields of a response; `None` if the dialog was closed.
pub fn dialog_answer(dialog: &Dialog, fields: &Map<String, Value>) -> Option<DialogAnswer> {
    if fields.get("cancelled") == Some(&Value::Bool(true)) {
        return None;
    }
    if let Dialog::Confirm { .. } = dialog {
        return fields.get("confirmed")?.as_bool().map(DialogAnswer::Confirmed);
    }
    let text = fields.get("value")?.as_str()?;
    Some(DialogAnswer::Text(text.to_owned()))
}
