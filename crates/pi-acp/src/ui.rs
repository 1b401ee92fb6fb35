//! The user at the client: approvals are requests for permission, dialogs are forms.
//!
//! A client without forms gets choices as requests for permission, which every client has; a
//! question for a text is not asked there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::WeakAgentRuntime;
use pi_coding_agent::extension::{Dialog, DialogAnswer, NotifyKind, Ui, UiUpdate};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::tool_calls::{self, Before};
use crate::update::{
    Block, Permission, PermissionOption, Severity, State, Status, ToolCall, ToolContent, Update,
};

/// Most options of a choice that is asked as a request for permission.
const CHOICES: usize = 50;

/// The user interface of one session.
pub(crate) struct ClientUi {
    client: Client,
    /// Id of the session, from the moment when the client knows it.
    session: OnceLock<String>,
    runtime: OnceLock<WeakAgentRuntime>,
    /// A prompt is being answered.
    in_turn: AtomicBool,
    questions: AtomicU64,
}

impl ClientUi {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            session: OnceLock::new(),
            runtime: OnceLock::new(),
            in_turn: AtomicBool::new(false),
            questions: AtomicU64::new(0),
        }
    }

    /// Connects the interface to its session. Before that, no one can be asked.
    pub(crate) fn bind(&self, session: &str, runtime: WeakAgentRuntime) {
        // Bound once, when the session is open.
        let _ = self.session.set(session.to_owned());
        let _ = self.runtime.set(runtime);
    }

    /// Notes that a prompt is being answered, or that it was.
    pub(crate) fn set_in_turn(&self, in_turn: bool) {
        self.in_turn.store(in_turn, Ordering::Relaxed);
    }

    /// Waits for an answer of the user, who is needed, as the state of the session tells.
    async fn answer<T>(&self, session: &str, question: impl Future<Output = T>) -> T {
        let in_turn = self.in_turn.load(Ordering::Relaxed);
        if in_turn {
            self.client.report(session, Update::State(State::RequiresAction)).await;
        }
        let answer = question.await;
        if in_turn {
            self.client.report(session, Update::State(State::Running)).await;
        }
        answer
    }

    /// Asks for permission.
    async fn ask(&self, permission: Permission) -> Option<String> {
        let session = self.session.get()?;
        let question = self.client.ask_permission(session, permission);
        self.answer(session, question).await.ok().flatten()
    }

    /// Describes the call that an approval is about.
    fn tool_call(&self, request: &ApprovalRequest) -> ToolCall {
        let mut call = ToolCall {
            id: request.tool_call_id.clone(),
            status: Some(Status::Pending),
            ..ToolCall::default()
        };
        let session = self.runtime.get().and_then(WeakAgentRuntime::upgrade);
        let Some(session) = session.map(|runtime| runtime.session()) else { return call };
        let Some(arguments) = arguments_of(&session.messages(), &request.tool_call_id) else {
            return call;
        };
        let effects = session.effects_of(&request.tool, &arguments);
        let workspace = session.workspace();
        let resolve = |path: &str| workspace.resolve(path);
        let described =
            tool_calls::describe(&call.id, &request.tool, &arguments, &effects, &resolve);
        let content = tool_calls::differences(&arguments, &effects, &resolve, Before::Unknown);
        call = ToolCall { status: call.status, content: Some(content), ..described };
        call
    }

    fn next_question(&self) -> String {
        format!("question-{}", self.questions.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks with a form that has one field.
    async fn ask_form(&self, message: &str, field: Value) -> Option<Value> {
        let session = self.session.get()?;
        let params = json!({
            "sessionId": session,
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": { "answer": field },
                "required": ["answer"],
            },
        });
        let question = self.client.ask("elicitation/create", params);
        let mut answer = self.answer(session, question).await.ok()?;
        if answer["action"] != "accept" {
            return None;
        }
        Some(answer["content"]["answer"].take())
    }

    /// Asks for a choice without a form. The answers are the positions of the options.
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
        let permission = Permission {
            title: title.to_owned(),
            description: String::new(),
            tool_call,
            command: None,
            options: shown,
        };
        let chosen = self.ask(permission).await?;
        chosen.parse().ok().filter(|at| *at < options.len())
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
            let permission = permission(request, self.tool_call(request));
            match self.ask(permission).await.as_deref() {
                Some(ONCE) => ApprovalDecision::Once,
                Some(SESSION) => ApprovalDecision::Session,
                Some(ALWAYS) if request.rule.is_some() => ApprovalDecision::Always,
                _ => ApprovalDecision::Deny { reason: None },
            }
        })
    }

    fn update(&self, update: UiUpdate) {
        let (Some(session), UiUpdate::Notify { message, kind }) = (self.session.get(), update)
        else {
            return;
        };
        let severity = match kind.unwrap_or_default() {
            NotifyKind::Info => Severity::Info,
            NotifyKind::Warning => Severity::Warning,
            NotifyKind::Error => Severity::Error,
        };
        let update = if self.client.shows_notices() {
            Update::Notice { severity, text: message }
        } else if self.in_turn.load(Ordering::Relaxed) {
            // Often the only output of a command.
            let id = self.next_question();
            Update::Text { id, text: format!("{message}\n\n") }
        } else {
            return;
        };
        self.client.try_report(session, update);
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

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
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
