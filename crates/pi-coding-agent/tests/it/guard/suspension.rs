//! Deferred approvals: the session is suspended, and another process resumes it.

use std::fs;
use std::sync::{Arc, Mutex};

use pi_agent::Outcome;
use pi_ai::faux::Reply;
use pi_coding_agent::guard::{AnnounceCall, ApprovalDecision};
use pi_coding_agent::session::{AgentSession, PromptOptions};
use pi_coding_agent::{AgentOptions, SessionSelector, create_agent_session};
use pi_protocol::{AgentMessage, Message, ToolResultMessage, UserBlock};
use serde_json::json;

use super::{GuardTest, Prepared};

async fn prompt(session: &AgentSession) -> Outcome {
    let end = session.turn("Go", PromptOptions::default()).run().await;
    assert!(end.is_asked);
    end.run.unwrap()
}

/// Opens the session of another process, which has ended.
async fn reopen(options: AgentOptions, session: AgentSession) -> AgentSession {
    let file = session.file().unwrap();
    drop(session);
    let mut options = options;
    options.session.selector = SessionSelector::Existing(file.to_string_lossy().into_owned());
    create_agent_session(options).await.unwrap().runtime.session()
}

fn results(session: &AgentSession) -> Vec<(String, String)> {
    let messages = session.messages();
    let text = |result: &ToolResultMessage| {
        let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
        texts.join("\n")
    };
    messages
        .iter()
        .filter_map(|message| match message {
            AgentMessage::Llm(Message::ToolResult(result)) => {
                Some((result.tool_call_id.clone(), text(result)))
            }
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn approved_and_rejected_calls_are_settled_by_the_next_process() {
    use ApprovalDecision::{Defer, Deny, Once};
    let approver = Prepared::with([Defer, Defer]);
    let test = GuardTest::new(json!({"profile": "careful"}), "").approver(&approver);
    let announced: Arc<Mutex<Vec<String>>> = Arc::default();
    let options = || {
        let mut options = test.options();
        let announced = Arc::clone(&announced);
        let announce: AnnounceCall = Arc::new(move |call| {
            announced.lock().unwrap().push(format!("{} {}", call.tool, call.id));
            Ok(())
        });
        options.guard.announce_calls = Some(announce);
        options
    };
    let session = create_agent_session(options()).await.unwrap().runtime.session();
    test.model.push(
        Reply::new()
            .raw_tool_call("a", "bash", r#"{"command": "echo x >> one"}"#)
            .raw_tool_call("b", "ls", "{}")
            .raw_tool_call("c", "bash", r#"{"command": "echo x >> two"}"#),
    );
    assert_eq!(prompt(&session).await, Outcome::Suspended);
    assert_eq!(approver.requests().len(), 2);
    let ids: Vec<String> = results(&session).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["b"]);
    assert_eq!(*announced.lock().unwrap(), ["ls b"]);

    let deny = Deny { reason: Some("Not that one.".to_owned()) };
    approver.decisions.lock().unwrap().extend([Once, deny]);
    let session = reopen(options(), session).await;
    test.model.push(Reply::new().text("Done."));
    assert_eq!(session.resume().await.unwrap().finish().await, Outcome::Completed);
    assert_eq!(fs::read_to_string(test.env.path("home/proj/one")).unwrap(), "x\n");
    assert!(!test.env.path("home/proj/two").exists());
    assert_eq!(*announced.lock().unwrap(), ["ls b", "bash a"]);
    let results = results(&session);
    assert_eq!(results.len(), 3);
    assert!(results[2].1.contains("Not that one."), "{results:?}");
}

#[tokio::test]
async fn a_call_that_cannot_be_announced_is_not_executed() {
    let test = GuardTest::new(json!({}), "");
    let mut options = test.options();
    let announce: AnnounceCall = Arc::new(|_| Err(std::io::Error::other("the disk is full")));
    options.guard.announce_calls = Some(announce);
    let session = create_agent_session(options).await.unwrap().runtime.session();
    let (text, failed) = test.bash(&session, "touch made").await;
    assert!(failed && text.contains("the disk is full"), "{text}");
    assert!(!test.env.path("home/proj/made").exists());
}

#[tokio::test]
async fn a_failed_answer_is_left_out_when_the_session_is_resumed() {
    let test = GuardTest::new(json!({}), "");
    let session = test.session().await;
    test.model.push(Reply::new().fail("invalid request"));
    assert!(matches!(prompt(&session).await, Outcome::Failed { .. }));
    let session = reopen(test.options(), session).await;
    test.model.push(Reply::new().text("Done."));
    assert_eq!(session.resume().await.unwrap().finish().await, Outcome::Completed);
    let sent = test.model.requests().pop().unwrap();
    let text = serde_json::to_string(&sent.context.messages).unwrap();
    assert!(!text.contains("invalid request"), "{text}");
}
