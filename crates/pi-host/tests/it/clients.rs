//! Two clients of one session with a real agent: approvals, questions, and the take-over of a lock.

use std::sync::Arc;
use std::time::Duration;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::SessionSelector;
use pi_coding_agent::extension::{Command, Dialog, DialogAnswer, DialogOptions, Handlers};
use pi_coding_agent::session::PromptOptions;
use pi_host::feed::{FeedItem, Start};
use pi_host::{ANSWER_ENTRY, Hosted, OpenPlan};
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::pool::host_of;
use crate::ui_hub::{client, named};

/// An extension whose command asks a question, and fails without the expected answer.
fn asking() -> Handlers {
    let command = Command::new("ask", "Asks.", |_, context| async move {
        let question = Dialog::Input { title: "Which?".to_owned(), placeholder: None };
        let answer = context.ui().dialog(question, DialogOptions::default()).await;
        assert_eq!(answer, Some(DialogAnswer::Text("this".to_owned())));
        Ok(())
    });
    Handlers::new("test:asking").command(command)
}

/// Prompts in a task of its own.
fn prompt(session: &Arc<Hosted>, text: &'static str) -> tokio::task::JoinHandle<()> {
    let session = session.session().unwrap();
    tokio::spawn(async move {
        session.prompt(text, PromptOptions::default()).await.unwrap();
    })
}

/// Reads a feed until so many answers of clients are recorded. Returns them.
async fn recorded(session: &Hosted, count: usize) -> Vec<Value> {
    let mut reader = session.feed().read(Start::Beginning);
    let mut answers = Vec::new();
    while answers.len() < count {
        if let FeedItem::Entry { line, .. } = reader.next().await.unwrap().unwrap() {
            let entry: Value = serde_json::from_str(&line).unwrap();
            if entry["customType"] == ANSWER_ENTRY {
                answers.push(entry["data"].clone());
            }
        }
    }
    answers
}

#[tokio::test]
async fn clients_share_approvals_and_questions_and_follow_a_take_over() {
    let env = TestEnv::new();
    let model = Faux::new();
    let make = || host_of(&env, &model, |options| options.extensions.own.push(Arc::new(asking())));
    let (one, other) = (make(), make());
    let mut plan = OpenPlan::new(env.project());
    plan.profile = Some("careful".to_owned());
    let ((desk, mut at_desk), (phone, mut at_phone)) = (client(), client());
    let entered = one.open(SessionSelector::New, plan.clone(), Some(named("desk", desk))).await;
    let (session, desk) = entered.map(|entered| (entered.session, entered.attachment)).unwrap();
    let phone = one.enter(session.id(), plan.clone(), Some(named("phone", phone))).await.unwrap();
    assert!(phone.was_open && session.ui().clients() == 2);

    // An approval: both are asked, and the phone is faster.
    model.push(Reply::new().tool_call("write", &json!({ "path": "a.txt", "content": "x" })));
    model.push(Reply::new().text("Written."));
    let running = prompt(&session, "Write it");
    let (what, _late) = at_desk.question().await;
    assert!(what.contains("a.txt"), "{what}");
    let (_, answer) = at_phone.question().await;
    answer.send(Some("yes".to_owned())).unwrap();
    running.await.unwrap();
    assert_eq!(std::fs::read_to_string(env.project().join("a.txt")).unwrap(), "x");
    let told = at_desk.log();
    assert!(told.iter().any(|line| line.contains("phone answered: write: ")), "{told:?}");

    // A question of an extension, which the desk answers.
    let asking = prompt(&session, "/ask");
    let (_, _late) = at_phone.question().await;
    let (title, answer) = at_desk.question().await;
    assert_eq!(title, "Which?");
    answer.send(Some("this".to_owned())).unwrap();
    asking.await.unwrap();
    let answers = recorded(&session, 2).await;
    let by: Vec<&Value> = answers.iter().map(|answer| &answer["by"]).collect();
    assert_eq!(by, ["phone", "desk"]);
    assert_eq!((&answers[0]["answer"], &answers[1]["answer"]), (&json!("once"), &json!("this")));

    // Another host takes the session over. What was recorded is there.
    let id = session.id().to_owned();
    drop((session, desk, phone));
    let tending = async {
        while one.get(&id).is_some() {
            one.tend().await;
            tokio::task::yield_now().await;
        }
    };
    let ((tablet, mut at_tablet), patience) = (client(), Duration::from_secs(60));
    let taking = other.take_over(&id, plan, Some(named("tablet", tablet)), patience);
    let (taken, ()) = tokio::join!(taking, tending);
    let taken = taken.unwrap();
    assert_eq!(recorded(&taken.session, 2).await, answers);
    let asking = prompt(&taken.session, "/ask");
    at_tablet.question().await.1.send(Some("this".to_owned())).unwrap();
    asking.await.unwrap();
    assert_eq!(recorded(&taken.session, 3).await[2]["by"], "tablet");
}
