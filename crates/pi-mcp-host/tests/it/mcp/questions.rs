//! Questions of servers: to the user, and to a model.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Dialog, DialogAnswer, RunMode, Ui};
use serde_json::{Value, json};

use super::{McpTest, text};

/// A user with prepared answers. Records the dialogs.
#[derive(Default)]
struct User {
    answers: Mutex<VecDeque<Option<DialogAnswer>>>,
    dialogs: Mutex<Vec<String>>,
}

impl User {
    fn with(answers: impl IntoIterator<Item = Option<DialogAnswer>>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, dialogs: Mutex::default() })
    }
}

impl Ui for User {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(
        &self,
        dialog: Dialog,
        _timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        self.dialogs.lock().unwrap().push(dialog.title().to_owned());
        let answer = self.answers.lock().unwrap().pop_front().flatten();
        Box::pin(std::future::ready(answer))
    }
}

fn typed(text: &str) -> Option<DialogAnswer> {
    Some(DialogAnswer::Text(text.to_owned()))
}

async fn answer(user: Option<Arc<User>>, tool: &str, reply: Option<Reply>) -> Value {
    let mut test = McpTest::new(&[tool]);
    test.mode = RunMode::Rpc;
    test.ui = user.map(|user| user as Arc<dyn Ui>);
    let running = test.start().await;
    let name = format!("mcp__s__{tool}");
    test.model.push(Reply::new().tool_call(&name, &json!({})));
    if let Some(reply) = reply {
        test.model.push(reply);
    }
    test.model.push(Reply::new().text("Done."));
    running.session.prompt("Go", Default::default()).await.unwrap();
    running.runtime.shut_down().await;
    let answers = fs::read_to_string(test.env.path("server/answers")).unwrap();
    serde_json::from_str(answers.lines().next().unwrap()).unwrap()
}

#[tokio::test]
async fn a_form_is_filled_in_field_by_field() {
    let user = User::with([typed("Answer"), typed(""), typed("x"), typed("36"), typed("blue")]);
    let answered = answer(Some(Arc::clone(&user)), "form", None).await;
    let content = json!({"name": "Ada", "age": 36, "color": "blue"});
    assert_eq!(answered["result"], json!({"action": "accept", "content": content}));
    let dialogs = user.dialogs.lock().unwrap().clone();
    assert_eq!(dialogs, ["MCP server s asks: Who?", "s: name", "s: age", "s: age", "s: color"]);
    for (first, action) in [(typed("Decline"), "decline"), (None, "cancel")] {
        let answered = answer(Some(User::with([first])), "form", None).await;
        assert_eq!(answered["result"], json!({"action": action}));
    }
}

/// Values are marked one by one, until their number is right.
#[tokio::test]
async fn several_values_are_chosen() {
    let user = User::with([
        typed("Answer"),
        typed("Done"),
        typed("[ ] blue"),
        typed("[ ] green"),
        typed("[ ] red"),
        typed("Done"),
        typed("[x] green"),
        typed("Done"),
    ]);
    let answered = answer(Some(Arc::clone(&user)), "several", None).await;
    let content = json!({"colors": ["red", "blue"]});
    assert_eq!(answered["result"], json!({"action": "accept", "content": content}));
    assert_eq!(user.dialogs.lock().unwrap().len(), 8);
}

#[tokio::test]
async fn a_page_is_opened_by_the_user() {
    for (confirmed, action) in [(true, "accept"), (false, "decline")] {
        let user = User::with([Some(DialogAnswer::Confirmed(confirmed))]);
        let answered = answer(Some(Arc::clone(&user)), "page", None).await;
        assert_eq!(answered["result"], json!({"action": action}));
        let title = "MCP server s asks you to open a page on pay.example";
        assert_eq!(*user.dialogs.lock().unwrap(), [title]);
    }
}

#[tokio::test]
async fn a_model_answers_after_approval() {
    let user = User::with([typed("Allow once")]);
    let answered = answer(Some(user), "model", Some(Reply::new().text("hi"))).await;
    assert_eq!(answered["result"]["content"], json!({"type": "text", "text": "hi"}));
    assert_eq!(answered["result"]["stopReason"], "endTurn");
    let answered = answer(Some(User::with([typed("Deny")])), "model", None).await;
    let message = answered["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("did not allow"), "{message}");
}

/// Without a user, neither is offered and both are refused.
#[tokio::test]
async fn no_questions_without_a_user() {
    for tool in ["form", "page", "model"] {
        let answered = answer(None, tool, None).await;
        assert!(answered["error"]["code"].is_i64(), "{tool}: {answered}");
    }
    let test = McpTest::new(&["echo"]);
    let running = test.start().await;
    let result = test.call(&running, "mcp__s__echo", json!({"message": "hi"})).await;
    assert_eq!(text(&result), "Echo: hi");
    running.runtime.shut_down().await;
}
