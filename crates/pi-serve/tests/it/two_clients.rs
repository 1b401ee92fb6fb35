//! Several clients of one session: both see everything, the first answer to a question wins, and the
//! others are told.

use std::sync::{Arc, Mutex};

use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Command, Dialog, DialogOptions, Handlers};
use pi_serve::entrance::Right;
use serde_json::{Value, json};

use crate::home::{Client, Home, TestServer, entries};

fn is_question(frame: &Value) -> bool {
    frame["type"] == "approval_request"
}

async fn attached(server: &TestServer, name: &str, session: &str) -> Client {
    let mut client = server.client_with(name, Right::Approve).await;
    let attach = json!({ "type": "attach", "sessionId": session, "approvals": true });
    client.ask(attach).await;
    client
}

fn write(home: &Home) {
    let arguments = json!({ "path": "a.txt", "content": "new\n" });
    home.model.push(Reply::new().tool_call("write", &arguments));
    home.model.push(Reply::new().text("Done."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_answer_to_an_approval_wins_and_the_other_client_is_told() {
    let home = Home { profile: Some("careful"), ..Home::new() };
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    let mut desk = attached(&server, "desk", &session).await;
    let mut phone = attached(&server, "phone", &session).await;
    write(&home);
    driver.ask(json!({ "type": "prompt", "message": "go" })).await;
    let at_desk = desk.until(is_question).await;
    let at_phone = phone.until(is_question).await;
    assert_eq!(at_desk["sessionId"], session.as_str());
    assert_eq!(
        (at_desk["tool"].as_str(), at_desk["title"].as_str()),
        (Some("write"), at_phone["title"].as_str())
    );
    assert!(!at_desk["reasons"].as_array().unwrap().is_empty(), "{at_desk}");
    let offered = at_desk["options"].as_array().unwrap();
    assert!(offered.iter().any(|option| option["decision"] == "once"), "{at_desk}");
    let waiting = driver.ask(json!({ "type": "list_needs_you" })).await;
    assert_eq!(waiting["questions"][0]["toolCallId"], at_desk["toolCallId"]);
    // A client that comes while the question is open gets it.
    let mut late = attached(&server, "late", &session).await;
    late.until(is_question).await;
    // No token below `approve` answers, and no decision that is not offered is taken.
    let answer = |question: &Value, decision: &str| json!({ "type": "approval_response", "id": question["id"], "decision": decision });
    let refused = driver.request(answer(&at_phone, "once")).await;
    assert!(refused["error"].as_str().unwrap().contains("\"driver\""), "{refused}");
    phone.ask(answer(&at_phone, "once")).await;
    let closed = desk.until(|frame| frame["type"] == "approval_closed").await;
    assert_eq!((&closed["id"], closed["by"].as_str()), (&at_desk["id"], Some("phone")));
    let too_late = desk.request(answer(&at_desk, "no")).await;
    assert_eq!(too_late["success"], false);
    late.until(|frame| frame["type"] == "approval_closed").await;
    driver.settled().await;
    assert_eq!(std::fs::read_to_string(home.project().join("a.txt")).unwrap(), "new\n");
    let file = server.host.with_log(&session).unwrap().session().unwrap().file().unwrap();
    let recorded = entries(&file).into_iter().find(|entry| entry["customType"] == "pi:answer");
    assert_eq!(recorded.unwrap()["data"]["by"], "phone");
    let audit = server.audit();
    let of = |action: &str, who: &str| {
        let found = audit.iter().find(|line| line["action"] == action && line["who"] == who);
        found.map(|line| line["outcome"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("rpc approval_response", "phone").as_deref(), Some("done"));
    assert_eq!(of("rpc approval_response", "driver").as_deref(), Some("refused"));
    assert_eq!(of("rpc prompt", "driver").as_deref(), Some("done"));
    assert!(!serde_json::to_string(&audit).unwrap().contains("a.txt"), "no texts of the user");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_outlives_its_clients_and_a_denial_has_a_reason() {
    let home = Home { profile: Some("careful"), ..Home::new() };
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    let mut first = attached(&server, "first", &session).await;
    write(&home);
    driver.ask(json!({ "type": "prompt", "message": "go" })).await;
    first.until(is_question).await;
    // The connection breaks before there is an answer.
    drop(first);
    let mut second = attached(&server, "second", &session).await;
    let question = second.until(is_question).await;
    let answer = json!({
        "type": "approval_response", "id": question["id"], "decision": "no", "reason": "use b.txt",
    });
    second.ask(answer).await;
    driver.settled().await;
    assert!(!home.project().join("a.txt").exists());
    let result = home.model.requests().pop().unwrap();
    assert!(format!("{result:?}").contains("use b.txt"), "the model reads the reason");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialogs_of_extensions_reach_all_clients() {
    let answers: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&answers);
    let command = Command::new("ask", "Asks.", move |_, context| {
        let noted = Arc::clone(&noted);
        async move {
            let options = vec!["this".to_owned(), "that".to_owned()];
            let dialog = Dialog::Select { title: "Which one?".to_owned(), options };
            let answer = context.ui().dialog(dialog, DialogOptions::default()).await;
            noted.lock().unwrap().push(answer.and_then(|one| one.into_text()).unwrap_or_default());
            Ok(())
        }
    });
    let extension = Arc::new(Handlers::new("test:asking").command(command));
    let home = Home { extensions: vec![extension], ..Home::new() };
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    let mut desk = attached(&server, "desk", &session).await;
    let mut phone = attached(&server, "phone", &session).await;
    let asking = json!({ "type": "prompt", "message": "/ask", "id": "asking" });
    driver.sender.send(&asking).await.unwrap();
    let asked = |frame: &Value| frame["method"] == "select";
    let (at_desk, at_phone) = (desk.until(asked).await, phone.until(asked).await);
    let answer = |question: &Value| json!({ "type": "extension_ui_response", "id": question["id"], "value": "that" });
    let refused = driver.request(answer(&at_desk)).await;
    assert_eq!(refused["success"], false);
    desk.ask(answer(&at_desk)).await;
    let closed = phone.until(|frame| frame["type"] == "extension_ui_closed").await;
    assert_eq!((&closed["id"], closed["by"].as_str()), (&at_phone["id"], Some("desk")));
    driver.until(|frame| frame["id"] == "asking").await;
    assert_eq!(*answers.lock().unwrap(), ["that"]);
    server.stop().await;
}
