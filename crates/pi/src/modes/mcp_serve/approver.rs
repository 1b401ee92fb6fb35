//! Approvals by the user of the caller, through questions of the protocol.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver};
use pi_guard::policy::Scope;
use pi_mcp::server::{Client, Context, Question, QuestionKind};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// The time that the user has to decide.
const WAIT: Duration = Duration::from_secs(10 * 60);

/// Asks the user of the caller.
pub(super) struct CallerApprover {
    context: Context,
    /// One question at a time.
    asking: Mutex<()>,
    asked: AtomicU64,
}

impl CallerApprover {
    /// Returns an approver if the caller can ask its user with a form.
    pub(super) fn new(context: &Context) -> Option<Self> {
        has_forms(context.client()).then(|| Self {
            context: context.clone(),
            asking: Mutex::default(),
            asked: AtomicU64::default(),
        })
    }

    async fn ask(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let _one = self.asking.lock().await;
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        // A name of its own: no answer can count for two questions.
        let key = format!("approval-{number}");
        let question = Question {
            key: key.clone(),
            kind: QuestionKind::Elicitation,
            params: question(request, has_titles(self.context.client())),
        };
        let answered = tokio::time::timeout(WAIT, self.context.ask(vec![question])).await;
        match answered {
            Ok(Ok(answers)) => decision(request, answers.get(&key).unwrap_or(&Value::Null)),
            Ok(Err(error)) => deny(format!("the user could not be asked: {error}")),
            Err(_) => deny("the user did not answer in time".to_owned()),
        }
    }
}

impl Approver for CallerApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(self.ask(request))
    }
}

/// Returns true if the client shows forms. One that names no kind of question has forms.
fn has_forms(client: &Client) -> bool {
    let kinds = client.capabilities.get("elicitation").and_then(Value::as_object);
    kinds.is_some_and(|kinds| kinds.is_empty() || kinds.contains_key("form"))
}

/// Returns true if the client knows choices with titles, which the first version with forms had not.
fn has_titles(client: &Client) -> bool {
    client.version != "2025-06-18"
}

/// Returns the choices: the answer, and its title.
fn choices(request: &ApprovalRequest) -> Vec<(&'static str, String)> {
    let scopes: Vec<String> = request.remembered.iter().map(Scope::describe).collect();
    let mut choices = vec![("once", "Yes, once".to_owned())];
    if !scopes.is_empty() {
        choices.push(("session", format!("Yes, for this run: {}", scopes.join("; "))));
    }
    choices.push(("no", "No".to_owned()));
    choices
}

fn question(request: &ApprovalRequest, has_titles: bool) -> Value {
    let mut message = match &request.wider {
        None => format!("Allow {} to do this in {}?", request.tool, request.cwd),
        Some(wider) => format!("The sandbox denied part of this. Run it again {wider}?"),
    };
    message.push_str(&format!("\n\n{}\n", request.what));
    for reason in request.reasons() {
        message.push_str(&format!("\n- {reason}"));
    }
    let mut decision = json!({ "type": "string", "title": "Decision" });
    if has_titles {
        let one = |(value, title)| json!({ "const": value, "title": title });
        decision["oneOf"] = choices(request).into_iter().map(one).collect();
    } else {
        let (values, titles): (Vec<_>, Vec<_>) = choices(request).into_iter().unzip();
        decision["enum"] = json!(values);
        decision["enumNames"] = json!(titles);
    }
    let reason = json!({ "type": "string", "title": "Reason, for the agent" });
    let schema = json!({
        "type": "object",
        "properties": { "decision": decision, "reason": reason },
        "required": ["decision"],
    });
    let mut question = json!({ "message": message, "requestedSchema": schema });
    if has_titles {
        question["mode"] = json!("form");
    }
    question
}

/// Anything but a clear yes is a no, and only what was offered can be chosen.
fn decision(request: &ApprovalRequest, answer: &Value) -> ApprovalDecision {
    if answer["action"] != "accept" {
        return deny("the user declined".to_owned());
    }
    match answer["content"]["decision"].as_str() {
        Some("once") => ApprovalDecision::Once,
        Some("session") if !request.remembered.is_empty() => ApprovalDecision::Session,
        _ => {
            let reason = answer["content"]["reason"].as_str().map(str::trim);
            let reason = reason.filter(|reason| !reason.is_empty()).map(str::to_owned);
            ApprovalDecision::Deny { reason }
        }
    }
}

fn deny(reason: String) -> ApprovalDecision {
    ApprovalDecision::Deny { reason: Some(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(remembered: Vec<Scope>) -> ApprovalRequest {
        let mut request = ApprovalRequest::new("bash", "c", "make test", "/project", Vec::new());
        request.remembered = remembered;
        request
    }

    fn of_make() -> Vec<Scope> {
        vec![Scope::Command { prefix: vec!["make".to_owned()] }]
    }

    #[test]
    fn only_a_clear_yes_approves() {
        let asked = request(of_make());
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        let once = accept(json!({ "decision": "once" }));
        let session = accept(json!({ "decision": "session" }));
        assert_eq!(decision(&asked, &once), ApprovalDecision::Once);
        assert_eq!(decision(&asked, &session), ApprovalDecision::Session);
        let cases = [
            json!(null),
            json!({ "action": "accept" }),
            json!({ "action": "decline", "content": { "decision": "once" } }),
            json!({ "action": "cancel" }),
            accept(json!({ "decision": "always" })),
            accept(json!({ "decision": true })),
            accept(json!({ "decision": "no", "reason": "use make" })),
        ];
        for case in cases {
            let decided = decision(&asked, &case);
            assert!(matches!(decided, ApprovalDecision::Deny { .. }), "{case}: {decided:?}");
        }
        // A choice that was not offered.
        let decided = decision(&request(Vec::new()), &session);
        assert!(matches!(decided, ApprovalDecision::Deny { .. }), "{decided:?}");
    }

    #[test]
    fn the_choices_say_what_they_approve() {
        let choice = |asked: &ApprovalRequest, has_titles| {
            question(asked, has_titles)["requestedSchema"]["properties"]["decision"].clone()
        };
        let title = "Yes, for this run: commands that begin with `make`";
        let offered = choice(&request(of_make()), true);
        assert_eq!(offered["oneOf"][1], json!({ "const": "session", "title": title }));
        let offered = choice(&request(of_make()), false);
        assert_eq!(offered["enum"], json!(["once", "session", "no"]));
        assert_eq!(offered["enumNames"][1], title);
        assert!(offered.get("oneOf").is_none(), "{offered}");
        // An approval of nothing is not offered.
        let offered = choice(&request(Vec::new()), true);
        assert_eq!(offered["oneOf"].as_array().map(Vec::len), Some(2), "{offered}");
    }

    #[test]
    fn only_clients_with_forms_are_asked() {
        let client = |capabilities: Value| Client {
            version: "2025-11-25".to_owned(),
            capabilities: capabilities.as_object().cloned().unwrap_or_default(),
            info: None,
            log_level: None,
        };
        assert!(has_forms(&client(json!({ "elicitation": {} }))));
        assert!(has_forms(&client(json!({ "elicitation": { "form": {}, "url": {} } }))));
        assert!(!has_forms(&client(json!({ "elicitation": { "url": {} } }))));
        assert!(!has_forms(&client(json!({}))));
    }
}
