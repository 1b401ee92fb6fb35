//! The user at the client: approvals are requests for permission, dialogs are forms.
//!
//! A client without forms gets choices as requests for permission, which every client has; a
//! question for a text is not asked there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_base::text::exact;
use pi_coding_agent::extension::{Dialog, DialogAnswer, NotifyKind, Ui, UiUpdate};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::events::{Reporter, differences};
use crate::tool_calls;
use crate::update::{
    Block, Permission, PermissionOption, Severity, State, Status, ToolCall, ToolContent, Update,
};
use crate::wire::Version;

/// Most options of a choice that is asked as a request for permission.
const CHOICES: usize = 50;

/// The user interface of one session.
pub(crate) struct ClientUi {
    client: Client,
    /// Has the session, once it is open. Before that, no one can be asked.
    reporter: Arc<Reporter>,
    /// A prompt is being answered.
    in_turn: AtomicBool,
    /// Questions without an answer.
    open: AtomicUsize,
    questions: AtomicU64,
}

impl ClientUi {
    pub(crate) fn new(client: Client, reporter: Arc<Reporter>) -> Self {
        Self {
            client,
            reporter,
            in_turn: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            questions: AtomicU64::new(0),
        }
    }

    /// Notes that a prompt is being answered, or that it was.
    pub(crate) fn set_in_turn(&self, in_turn: bool) {
        self.in_turn.store(in_turn, Ordering::Relaxed);
    }

    fn is_in_turn(&self) -> bool {
        self.in_turn.load(Ordering::Relaxed)
    }

    /// Waits for an answer of the user, who is needed, as the state of the session tells.
    async fn answer<T>(&self, question: impl Future<Output = T>) -> T {
        let is_first = self.open.fetch_add(1, Ordering::Relaxed) == 0;
        let _waiting = Waiting(self);
        if is_first && self.is_in_turn() {
            self.reporter.report(Update::State(State::RequiresAction));
        }
        question.await
    }

    /// Asks for permission.
    async fn ask(&self, permission: Permission) -> Option<String> {
        let session = self.reporter.session()?;
        let question = self.client.ask_permission(session, permission);
        self.answer(question).await.ok().flatten()
    }

    /// Describes the call that an approval is about. Its status is known to the client.
    async fn tool_call(&self, request: &ApprovalRequest) -> ToolCall {
        let call = ToolCall { id: request.tool_call_id.clone(), ..ToolCall::default() };
        let Some(session) = self.reporter.current() else { return call };
        let Some(arguments) = arguments_of(&session.messages(), &request.tool_call_id) else {
            return call;
        };
        let effects = session.effects_of(&request.tool, &arguments);
        let content = differences(&session, &arguments, &effects, self.client.version).await;
        let resolve = |path: &str| session.workspace().resolve(path);
        let described =
            tool_calls::describe(&call.id, &request.tool, &arguments, &effects, &resolve);
        ToolCall { content: (!content.is_empty()).then_some(content), ..described }
    }

    /// Reports that a call runs: it is approved. In version 1 the question has changed how the call
    /// looks.
    fn report_approved(&self, call: ToolCall) {
        let is_changed = self.client.version == Version::V1;
        let change = ToolCall {
            id: call.id,
            title: call.title.filter(|_| is_changed),
            status: Some(Status::Running),
            content: is_changed.then(|| call.content.unwrap_or_default()),
            ..ToolCall::default()
        };
        self.reporter.report(Update::ToolCallChange(change));
    }

    fn next_question(&self) -> String {
        format!("question-{}", self.questions.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks with a form that has one field.
    async fn ask_form(&self, message: &str, field: Value) -> Option<Value> {
        let params = json!({
            "sessionId": self.reporter.session()?,
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": { "answer": field },
                "required": ["answer"],
            },
        });
        let question = self.client.ask("elicitation/create", params);
        let mut answer = self.answer(question).await.ok()?;
        if answer["action"] != "accept" {
            return None;
        }
        Some(answer["content"]["answer"].take())
    }

    /// Asks for a choice without a form. The answers are the positions of the options. A request
    /// for permission needs a call, which begins and ends with the question.
    async fn ask_choice(&self, title: &str, message: &str, options: &[String]) -> Option<usize> {
        let text = ToolContent::Block(Block::Text(message.to_owned()));
        let tool_call = ToolCall {
            id: self.next_question(),
            title: Some(title.to_owned()),
            kind: Some("other"),
            status: Some(Status::Pending),
            content: (!message.is_empty()).then(|| vec![text]),
            ..ToolCall::default()
        };
        let option = |(at, name): (usize, &String)| PermissionOption {
            id: at.to_string(),
            name: name.clone(),
            kind: "allow_once",
        };
        let mut shown: Vec<PermissionOption> =
            options.iter().take(CHOICES).enumerate().map(option).collect();
        let cancel = PermissionOption {
            id: "none".to_owned(),
            name: "None of these".to_owned(),
            kind: "reject_once",
        };
        shown.push(cancel);
        self.reporter.report(Update::ToolCall(tool_call.clone()));
        let mut choice =
            OpenChoice { ui: self, call: tool_call.id.clone(), status: Status::Cancelled };
        let permission = Permission {
            title: title.to_owned(),
            description: String::new(),
            tool_call,
            command: None,
            options: shown,
        };
        let chosen = self.ask(permission).await?;
        choice.status = Status::Completed;
        chosen.parse().ok().filter(|at| *at < options.len())
    }
}

/// A question without an answer. One that is given up, such as at the end of its time, must not
/// leave a session that waits for the user.
struct Waiting<'a>(&'a ClientUi);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::Relaxed) == 1 && self.0.is_in_turn() {
            self.0.reporter.report(Update::State(State::Running));
        }
    }
}

/// The call of a choice. One without an answer, or that is given up, is cancelled.
struct OpenChoice<'a> {
    ui: &'a ClientUi,
    call: String,
    status: Status,
}

impl Drop for OpenChoice<'_> {
    fn drop(&mut self) {
        let (id, status) = (std::mem::take(&mut self.call), Some(self.status));
        let change = ToolCall { id, status, ..ToolCall::default() };
        self.ui.reporter.report(Update::ToolCallChange(change));
    }
}

impl Ui for ClientUi {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(&self, dialog: Dialog, _: Option<Duration>) -> BoxFuture<'_, Option<DialogAnswer>> {
        Box::pin(async move {
            let forms = self.client.shows_forms();
            match dialog {
                Dialog::Select { title, options } => {
                    let chosen = if forms {
                        let field = json!({ "type": "string", "title": title, "enum": options });
                        let answer = self.ask_form(&title, field).await?;
                        let answer = answer.as_str()?;
                        options.iter().position(|option| option == answer)?
                    } else {
                        self.ask_choice(&title, "", &options).await?
                    };
                    options.into_iter().nth(chosen).map(DialogAnswer::Text)
                }
                Dialog::Confirm { title, message } => {
                    let confirmed = if forms {
                        let field = json!({ "type": "boolean", "title": title });
                        let text = format!("{title}\n\n{message}");
                        self.ask_form(text.trim(), field).await?.as_bool()?
                    } else {
                        let options = ["Yes".to_owned(), "No".to_owned()];
                        self.ask_choice(&title, &message, &options).await? == 0
                    };
                    Some(DialogAnswer::Confirmed(confirmed))
                }
                Dialog::Input { title, placeholder } if forms => {
                    let mut field = json!({ "type": "string", "title": title });
                    if let Some(placeholder) = placeholder {
                        field["description"] = placeholder.into();
                    }
                    let answer = self.ask_form(&title, field).await?;
                    Some(DialogAnswer::Text(answer.as_str()?.to_owned()))
                }
                Dialog::Editor { title, prefill } if forms => {
                    let mut field = json!({ "type": "string", "title": title });
                    if let Some(prefill) = prefill {
                        field["default"] = prefill.into();
                    }
                    let answer = self.ask_form(&title, field).await?;
                    Some(DialogAnswer::Text(answer.as_str()?.to_owned()))
                }
                _ => None,
            }
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            let call = self.tool_call(request).await;
            let decision = match self.ask(permission(request, call.clone())).await.as_deref() {
                Some(ONCE) => ApprovalDecision::Once,
                Some(SESSION) => ApprovalDecision::Session,
                Some(ALWAYS) if request.rule.is_some() => ApprovalDecision::Always,
                _ => return ApprovalDecision::Deny { reason: None },
            };
            self.report_approved(call);
            decision
        })
    }

    fn update(&self, update: UiUpdate) {
        let UiUpdate::Notify { message, kind } = update else { return };
        let severity = match kind.unwrap_or_default() {
            NotifyKind::Info => Severity::Info,
            NotifyKind::Warning => Severity::Warning,
            NotifyKind::Error => Severity::Error,
        };
        let update = if self.client.shows_notices() {
            Update::Notice { severity, text: message }
        } else if self.is_in_turn() {
            // Often the only output of a command.
            let id = self.next_question();
            Update::Text { id, text: format!("{message}\n\n") }
        } else {
            return;
        };
        self.reporter.report(update);
    }
}

const ONCE: &str = "once";
const SESSION: &str = "session";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";

/// Returns the request for permission that stands for an approval.
fn permission(request: &ApprovalRequest, tool_call: ToolCall) -> Permission {
    let option = |id: &str, name: String, kind| PermissionOption { id: id.to_owned(), name, kind };
    let mut options = vec![option(ONCE, "Allow once".to_owned(), "allow_once")];
    let scopes: Vec<String> = request.remembered.iter().map(|scope| scope.describe()).collect();
    if !scopes.is_empty() {
        let name = format!("Allow in this session: {}", scopes.join("; "));
        options.push(option(SESSION, name, "allow_always"));
    }
    if let Some(rule) = &request.rule {
        let rule = rule.trim().replace('\n', " ");
        options.push(option(ALWAYS, format!("Always allow, with the rule {rule}"), "allow_always"));
    }
    options.push(option(REJECT, "Reject".to_owned(), "reject_once"));
    let title = match &request.wider {
        None => format!("{}: {}", request.tool, first_line(&request.what)),
        Some(wider) => format!("Run again {wider}: {}", first_line(&request.what)),
    };
    let mut description = request.reasons().join("\n");
    if let Some(rule) = &request.rule {
        description.push_str("\n\nRule of \"Always allow\":\n");
        description.push_str(rule.trim_end());
    }
    let command =
        (tool_call.kind == Some("execute")).then(|| (request.what.clone(), request.cwd.clone()));
    Permission { title, description, tool_call, command, options }
}

/// Returns the first line of what would run, with everything spelled out that is not visible.
fn first_line(text: &str) -> String {
    exact(text.trim().lines().next().unwrap_or_default())
}

/// Returns the arguments of a call in the last answer.
fn arguments_of(
    messages: &pi_protocol::History<pi_protocol::AgentMessage>,
    id: &str,
) -> Option<Map<String, Value>> {
    let answer = messages.iter().rev().find_map(|message| message.as_assistant())?;
    let call = answer.tool_calls().find(|call| call.id == id)?;
    Some(call.arguments.clone())
}
