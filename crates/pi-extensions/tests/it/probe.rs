//! Sessions with probe extensions: what a client sees of them, as lines.

use std::sync::{Arc, Mutex};

use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::{PromptOptions, SessionEvent, Subscription};
use pi_protocol::{AgentMessage, Message};
use serde_json::{Value, json};

use crate::trial::{Setup, Trial};

/// A session whose events are recorded.
pub(crate) struct Probe {
    pub(crate) trial: Trial,
    lines: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
}

impl Probe {
    /// Starts a session with one extension, which reports with `pi.appendEntry("say", value)`.
    pub(crate) async fn start(extension: &str) -> Self {
        Self::of(Setup::new().extension("project/ext.ts", extension)).await
    }

    pub(crate) async fn of(mut setup: Setup) -> Self {
        let change = std::mem::replace(&mut setup.change, Box::new(|_| {}));
        setup.change = Box::new(move |options| {
            options.mode = RunMode::Rpc;
            change(options);
        });
        let trial = setup.start().await;
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let received = Arc::clone(&lines);
        let subscription = trial.runtime.subscribe(move |event| {
            if let Some(line) = line(event) {
                received.lock().unwrap().push(line);
            }
        });
        Self { trial, lines, _subscription: subscription }
    }

    /// Submits a prompt, waits until the session is idle, and returns what was seen meanwhile.
    pub(crate) async fn prompt(&self, text: &str) -> Vec<String> {
        let session = self.trial.runtime.session();
        session.prompt(text, PromptOptions::default()).await.unwrap();
        self.trial.runtime.session().wait_for_idle().await;
        self.take()
    }

    /// Submits a prompt and returns the value of the last `say` entry.
    pub(crate) async fn ask(&self, text: &str) -> Value {
        let lines = self.prompt(text).await;
        let said = lines.iter().rev().find_map(|line| line.strip_prefix("say "));
        let said = said.unwrap_or_else(|| panic!("nothing was said: {lines:?}"));
        serde_json::from_str(said).unwrap()
    }

    /// Waits until a line with this text was seen, and returns all lines up to now.
    pub(crate) async fn until(&self, text: &str) -> Vec<String> {
        loop {
            if self.lines.lock().unwrap().iter().any(|line| line.contains(text)) {
                return self.take();
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

/// Describes the events that tests look at.
fn line(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::MessageEnd { message } => message_line(message),
        SessionEvent::EntryAppended { entry } => {
            let entry = json!(entry);
            match entry["customType"].as_str() {
                Some("say") => Some(format!("say {}", entry["data"])),
                Some(name) => Some(format!("entry {name} {}", entry["data"])),
                None => None,
            }
        }
        SessionEvent::ExtensionError { extension_path, event, error } => {
            let path = extension_path.rsplit('/').next().unwrap_or_default();
            Some(format!("error {path} {event}: {error}"))
        }
        SessionEvent::QueueUpdate { steering, follow_up } => {
            Some(format!("queue {steering:?} {follow_up:?}"))
        }
        SessionEvent::AgentSettled { aborted } => Some(format!("settled {aborted}")),
        _ => None,
    }
}

fn message_line(message: &AgentMessage) -> Option<String> {
    let value = json!(message);
    let text = match &value["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["type"].as_str() {
                Some("toolCall") => format!("<{}>", block["name"].as_str().unwrap_or_default()),
                _ => block["text"].as_str().unwrap_or_default().to_owned(),
            });
            texts.collect::<Vec<_>>().join("|")
        }
        _ => String::new(),
    };
    match message {
        AgentMessage::Llm(Message::System(_)) => None,
        _ => Some(format!("{} {text}", value["role"].as_str().unwrap_or_default())),
    }
}
