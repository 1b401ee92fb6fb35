//! A user whose answers are given in advance.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_coding_agent::extension::{Dialog, DialogAnswer, Ui, UiUpdate};
use serde_json::{Value, json};

/// A user whose answers are given in advance; everything that is shown is recorded.
#[derive(Debug, Default)]
pub(super) struct ScriptedUi(Mutex<Script>);

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Value>,
    shown: Vec<Value>,
}

impl ScriptedUi {
    pub(super) fn answer(&self, answer: Value) {
        lock(&self.0).answers.push_back(answer);
    }

    pub(super) fn shown(&self) -> Vec<Value> {
        lock(&self.0).shown.clone()
    }
}

impl Ui for ScriptedUi {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(
        &self,
        dialog: Dialog,
        _timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        let mut shown = json!({ "kind": dialog.kind(), "title": dialog.title() });
        match dialog {
            Dialog::Select { options, .. } => shown["options"] = json!(options),
            Dialog::Confirm { message, .. } => shown["message"] = json!(message),
            Dialog::Input { placeholder, .. } => shown["placeholder"] = json!(placeholder),
            Dialog::Editor { prefill, .. } => shown["prefill"] = json!(prefill),
            _ => {}
        }
        let mut script = lock(&self.0);
        script.shown.push(shown);
        let answer = match script.answers.pop_front() {
            Some(Value::Bool(confirmed)) => Some(DialogAnswer::Confirmed(confirmed)),
            Some(Value::String(text)) => Some(DialogAnswer::Text(text)),
            _ => None,
        };
        Box::pin(std::future::ready(answer))
    }

    fn update(&self, update: UiUpdate) {
        let shown = match update {
            UiUpdate::Notify { message, kind } => {
                json!({ "kind": "notify", "message": message, "type": kind })
            }
            UiUpdate::SetStatus { key, text } => {
                json!({ "kind": "status", "key": key, "text": text })
            }
            UiUpdate::SetWidget { key, lines, .. } => {
                json!({ "kind": "widget", "key": key, "lines": lines })
            }
            UiUpdate::SetTitle { title } => json!({ "kind": "title", "title": title }),
            UiUpdate::SetEditorText { text } => json!({ "kind": "editorText", "text": text }),
            UiUpdate::PasteToEditor { text } => json!({ "kind": "paste", "text": text }),
            _ => return,
        };
        lock(&self.0).shown.push(shown);
    }
}
