//! A session with a scripted model, and the records it emits.

use std::sync::{Arc, Mutex};

use pi_ai::faux::Faux;
use pi_coding_agent::session::{AgentSession, SessionParts};
use pi_config::resources::Section;
use pi_config::resources::SystemPromptOptions;
use pi_session::{NewSession, Session};
use pi_tools::{Host, Workspace, toolset};
use serde_json::{Value, json};

pub(crate) struct TestSession {
    pub(crate) model: Faux,
    pub(crate) session: AgentSession,
    pub(crate) directory: tempfile::TempDir,
    records: Arc<Mutex<Vec<Value>>>,
}

impl TestSession {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut SessionParts)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let model = Faux::new();
        let new = NewSession::new(directory.path()).directory(directory.path().join("sessions"));
        let session = Session::create(new).unwrap();
        Self::around(directory, model, session, change)
    }

    /// Opens the same session again.
    pub(crate) fn reopened(self, change: impl FnOnce(&mut SessionParts)) -> Self {
        let file = self.session.file().unwrap();
        let Self { model, session, directory, .. } = self;
        drop(session);
        let session = Session::open(file, &pi_session::OpenOptions::append()).unwrap();
        Self::around(directory, model, session, change)
    }

    fn around(
        directory: tempfile::TempDir,
        model: Faux,
        session: Session,
        change: impl FnOnce(&mut SessionParts),
    ) -> Self {
        let mut bash = pi_tools::BashSettings::default();
        bash.environment.insert("PATH".into(), std::env::var_os("PATH").unwrap());
        let workspace =
            Workspace::new(Arc::new(Host::default()), directory.path().to_owned(), None);
        let workspace = Arc::new(workspace.with_bash(bash));
        let provider = Arc::new(model.clone());
        let mut parts = SessionParts::new(
            provider,
            Some(Arc::new(Faux::model())),
            session,
            Arc::clone(&workspace),
        );
        parts.tools = toolset::all(&workspace);
        parts.active_tools = ["read", "bash", "edit", "write"].map(str::to_owned).to_vec();
        parts.resources.prompt = Arc::new(|tools| {
            let names: Vec<&str> = tools.iter().map(|t| t.declaration().name.as_str()).collect();
            SystemPromptOptions {
                custom_prompt: Some("You code.".to_owned()),
                sections: vec![Section::new("tools", &names.join(" ")).unwrap()],
                ..SystemPromptOptions::default()
            }
        });
        change(&mut parts);
        let session = AgentSession::new(parts).unwrap();
        let records: Arc<Mutex<Vec<Value>>> = Arc::default();
        let recorded = Arc::clone(&records);
        session
            .subscribe(move |event| {
                if event.is_record() {
                    recorded.lock().unwrap().push(serde_json::to_value(event).unwrap());
                }
            })
            .forever();
        Self { model, session, directory, records }
    }

    /// Takes the records so far.
    pub(crate) fn records(&self) -> Vec<Value> {
        std::mem::take(&mut self.records.lock().unwrap())
    }

    /// Takes the records so far in short: types, with roles of messages and without deltas.
    pub(crate) fn record_types(&self) -> Vec<String> {
        let short = |record: &Value| {
            let kind = record["type"].as_str().unwrap();
            match kind {
                "message_update" => None,
                "message_start" | "message_end" => {
                    Some(format!("{kind} {}", record["message"]["role"].as_str().unwrap()))
                }
                "agent_end" => Some(format!("{kind} retry={}", record["willRetry"])),
                "agent_settled" => Some(format!("{kind} aborted={}", record["aborted"])),
                "tool_execution_update" => None,
                "auto_retry_start" => Some(format!("{kind} {}", record["attempt"])),
                "auto_retry_end" => Some(format!("{kind} success={}", record["success"])),
                "compaction_start" => {
                    Some(format!("{kind} {}", record["reason"].as_str().unwrap()))
                }
                "compaction_end" => Some(format!(
                    "{kind} retry={} error={}",
                    record["willRetry"],
                    record["errorMessage"].as_str().unwrap_or("none")
                )),
                "queue_update" => {
                    Some(format!("{kind} {}", json!([record["steering"], record["followUp"]])))
                }
                _ => Some(kind.to_owned()),
            }
        };
        self.records().iter().filter_map(short).collect()
    }

    /// Returns the types of the entries in the file, with roles of messages.
    pub(crate) fn entries(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.session.file().unwrap()).unwrap();
        text.lines()
            .map(|line| {
                let entry: Value = serde_json::from_str(line).unwrap();
                match entry["message"]["role"].as_str() {
                    Some(role) => role.to_owned(),
                    None => entry["type"].as_str().unwrap().to_owned(),
                }
            })
            .collect()
    }
}
