//! Probe extensions in a session: what they record, and what the session reports.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pi_coding_agent::session::{PromptOptions, SessionEvent, Subscription};
use serde_json::{Value, json};

use crate::trial::Trial;

/// Returns the path of a probe.
pub(crate) fn probe(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/probes").join(name)
}

/// Sends a prompt and waits until the session is settled.
pub(crate) async fn prompt(trial: &Trial, text: &str) {
    let session = trial.runtime.session();
    session.prompt(text, PromptOptions::default()).await.unwrap();
    session.wait_for_idle().await;
}

/// The events of a session that a client sees, as short lines.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(crate) fn of(trial: &Trial) -> (Self, Subscription) {
        let seen = Self::default();
        let collected = seen.clone();
        let subscription = trial.runtime.subscribe(move |event| {
            if let Some(line) = line(event) {
                collected.0.lock().unwrap().push(line);
            }
        });
        (seen, subscription)
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn line(event: &SessionEvent) -> Option<String> {
    let value = serde_json::to_value(event).unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    match event {
        SessionEvent::MessageEnd { .. } => {
            let message = &value["message"];
            let role = message["role"].as_str()?;
            if role == "system" {
                return None;
            }
            let mut shown = json!({ "content": message["content"] });
            for name in ["customType", "display", "isError", "details"] {
                if let Some(field) = message.get(name) {
                    shown[name] = field.clone();
                }
            }
            Some(format!("{role} {shown}"))
        }
        SessionEvent::EntryAppended { .. } => {
            let entry = &value["entry"];
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            let content =
                [&entry["data"], &entry["content"]].into_iter().find(|one| !one.is_null());
            let content = content.cloned().unwrap_or(Value::Null);
            Some(format!("entry {} {} {content}", text("type"), text("customType")))
        }
        SessionEvent::ExtensionError { extension_path, event, error } => {
            let path = extension_path.replace(root, "");
            Some(format!("error {path} {event}: {error}"))
        }
        _ => None,
    }
}
