//! The user at a socket: questions go out as records, answers come back.
//!
//! Every client of a session gets its questions. When another client has answered, the question is
//! closed here, with the name of the one who did.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_base::text::exact;
use pi_coding_agent::extension::{
    Dialog, DialogAnswer, ThemeError, Ui, UiRequest, UiUpdate, dialog_answer,
};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use pi_host::Hosted;
use pi_host::ui_hub::{Answered, Attachment, NewClient, QuestionKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::outbox::Outbox;

/// A decision about an approval, as a client names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Choice {
    Once,
    Session,
    Always,
    No,
}

/// The questions that a connection has shown and that wait for an answer.
pub(crate) struct Questions {
    outbox: Outbox,
    next_client: AtomicU64,
    open: Mutex<HashMap<String, Open>>,
}

/// A question without an answer.
struct Open {
    /// The attached session that asks.
    client: u64,
    kind: QuestionKind,
    title: String,
    tool_call: Option<String>,
    /// The decisions that are offered.
    choices: Vec<Choice>,
    reply: oneshot::Sender<Reply>,
}

enum Reply {
    Decision(ApprovalDecision),
    Fields(Map<String, Value>),
}

impl Questions {
    pub(crate) fn new(outbox: Outbox) -> Arc<Self> {
        Arc::new(Self { outbox, next_client: AtomicU64::new(0), open: Mutex::default() })
    }

    /// Attaches the user to the questions of a session, under a name that is recorded with answers.
    pub(crate) fn attach(self: &Arc<Self>, session: &Arc<Hosted>, name: &str) -> Attachment {
        let client = self.next_client.fetch_add(1, Ordering::Relaxed);
        let ui = SocketUi { questions: Arc::clone(self), client, session: Arc::downgrade(session) };
        let closing = Arc::clone(self);
        let new = NewClient::new(Some(name.to_owned()), Arc::new(ui));
        session
            .ui()
            .attach(new.closes(Arc::new(move |answered| closing.answered(client, answered))))
    }

    /// Answers an approval. Fails if it does not wait for an answer, or not for this one.
    pub(crate) fn decide(
        &self,
        id: &str,
        choice: Choice,
        reason: Option<String>,
    ) -> Result<(), String> {
        let mut open = self.open();
        match open.get(id) {
            Some(question) if question.kind == QuestionKind::Approval => {
                if !question.choices.contains(&choice) {
                    return Err("this decision is not offered for the action".to_owned());
                }
            }
            _ => return Err(closed(id)),
        }
        let decision = match choice {
            Choice::Once => ApprovalDecision::Once,
            Choice::Session => ApprovalDecision::Session,
            Choice::Always => ApprovalDecision::Always,
            Choice::No => {
                let reason = reason.map(|reason| reason.trim().to_owned());
                ApprovalDecision::Deny { reason: reason.filter(|reason| !reason.is_empty()) }
            }
        };
        if let Some(question) = open.remove(id) {
            // The question may have been given up.
            let _ = question.reply.send(Reply::Decision(decision));
        }
        Ok(())
    }

    /// Answers a dialog of an extension. Fails if it does not wait for an answer.
    pub(crate) fn answer(&self, id: &str, fields: Map<String, Value>) -> Result<(), String> {
        let mut open = self.open();
        let is_dialog = open.get(id).is_some_and(|question| question.kind == QuestionKind::Dialog);
        match open.remove(id).filter(|_| is_dialog) {
            Some(question) => {
                // The question may have been given up.
                let _ = question.reply.send(Reply::Fields(fields));
                Ok(())
            }
            None => Err(closed(id)),
        }
    }

    /// Closes the question that another client has answered.
    fn answered(&self, client: u64, answered: &Answered) {
        let question = &answered.question;
        let mut open = self.open();
        let same = |one: &Open| {
            one.client == client
                && one.kind == question.kind
                && match &one.tool_call {
                    Some(call) => Some(call) == question.tool_call_id.as_ref(),
                    None => one.title == question.title,
                }
        };
        let ids: Vec<String> =
            open.iter().filter(|(_, one)| same(one)).map(|(id, _)| id.clone()).collect();
        let closed = ids.iter().filter_map(|id| Some((id, open.remove(id)?.kind)));
        let closed: Vec<_> = closed.collect();
        drop(open);
        for (id, kind) in closed {
            self.say_closed(id, kind, Some(&answered.by));
        }
    }

    fn say_closed(&self, id: &str, kind: QuestionKind, by: Option<&str>) {
        let kind = match kind {
            QuestionKind::Approval => "approval_closed",
            _ => "extension_ui_closed",
        };
        let mut record = json!({ "type": kind, "id": id });
        if let Some(by) = by {
            record["by"] = by.into();
        }
        self.outbox.send(&record);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        lock(&self.open)
    }
}

fn closed(id: &str) -> String {
    format!("no question {id:?} waits for an answer; another client may have answered it")
}

/// The user, for one attached session.
struct SocketUi {
    questions: Arc<Questions>,
    client: u64,
    session: Weak<Hosted>,
}

/// Closes a question that is given up.
struct Waiting<'a> {
    questions: &'a Questions,
    id: String,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let closed = self.questions.open().remove(&self.id);
        if let Some(question) = closed {
            self.questions.say_closed(&self.id, question.kind, None);
        }
    }
}

impl SocketUi {
    fn session(&self) -> String {
        self.session.upgrade().map(|session| session.log_id()).unwrap_or_default()
    }

    /// Shows a question and waits for its answer. `None` if it is closed without one.
    async fn ask(
        &self,
        mut open: Open,
        receiver: oneshot::Receiver<Reply>,
        mut record: Map<String, Value>,
    ) -> Option<Reply> {
        let id = uuid::Uuid::new_v4().to_string();
        record.insert("id".to_owned(), id.clone().into());
        record.insert("sessionId".to_owned(), self.session().into());
        open.client = self.client;
        self.questions.open().insert(id.clone(), open);
        let _waiting = Waiting { questions: &self.questions, id };
        self.questions.outbox.send(&record);
        // Without an answer the question stays open: the hub drops this future when it is closed.
        match receiver.await {
            Ok(reply) => Some(reply),
            Err(_) => std::future::pending().await,
        }
    }
}

impl Ui for SocketUi {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(
        &self,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        Box::pin(async move {
            let (reply, receiver) = oneshot::channel();
            let open = Open {
                client: self.client,
                kind: QuestionKind::Dialog,
                title: dialog.title().to_owned(),
                tool_call: None,
                choices: Vec::new(),
                reply,
            };
            let record = UiRequest::of_dialog(&dialog, timeout).into_record("");
            match self.ask(open, receiver, record).await? {
                Reply::Fields(fields) => dialog_answer(&dialog, &fields),
                Reply::Decision(_) => None,
            }
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            let (reply, receiver) = oneshot::channel();
            let (record, choices) = approval(request);
            let open = Open {
                client: self.client,
                kind: QuestionKind::Approval,
                title: String::new(),
                tool_call: Some(request.tool_call_id.clone()),
                choices,
                reply,
            };
            match self.ask(open, receiver, record).await {
                Some(Reply::Decision(decision)) => decision,
                _ => ApprovalDecision::Deny { reason: None },
            }
        })
    }

    fn update(&self, update: UiUpdate) {
        if let Some(request) = UiRequest::of_update(update) {
            let mut record = request.into_record(&uuid::Uuid::new_v4().to_string());
            record.insert("sessionId".to_owned(), self.session().into());
            self.questions.outbox.send(&record);
        }
    }

    fn set_theme(&self, _name: &str) -> Result<(), ThemeError> {
        Err(ThemeError("Theme switching not supported over a server".to_owned()))
    }
}

/// Returns the record of an approval, and the decisions that it offers.
fn approval(request: &ApprovalRequest) -> (Map<String, Value>, Vec<Choice>) {
    let mut choices = vec![Choice::Once];
    let mut options = vec![json!({ "decision": Choice::Once, "label": "Allow once" })];
    let scopes: Vec<String> = request.remembered.iter().map(|scope| scope.describe()).collect();
    if !scopes.is_empty() {
        choices.push(Choice::Session);
        let label = format!("Allow in this session: {}", scopes.join("; "));
        options.push(json!({ "decision": Choice::Session, "label": label }));
    }
    if let Some(rule) = &request.rule {
        choices.push(Choice::Always);
        let label = format!("Always allow, with the rule {}", rule.trim().replace('\n', " "));
        options.push(json!({ "decision": Choice::Always, "label": label }));
    }
    choices.push(Choice::No);
    options.push(json!({ "decision": Choice::No, "label": "Deny" }));
    let first = exact(request.what.trim().lines().next().unwrap_or_default());
    let title = match &request.wider {
        None => format!("{}: {first}", request.tool),
        Some(wider) => format!("Run again {wider}: {first}"),
    };
    let record = json!({
        "type": "approval_request",
        "title": title,
        "tool": request.tool,
        "toolCallId": request.tool_call_id,
        "what": exact(&request.what),
        "cwd": request.cwd,
        "reasons": request.reasons(),
        "options": options,
        "wider": request.wider,
        "rule": request.rule,
        "change": request.change,
    });
    let Value::Object(mut record) = record else { return (Map::new(), choices) };
    record.retain(|_, value| !value.is_null());
    (record, choices)
}
