//! Sessions: the order of events, retries, queues, compaction, navigation.

use std::sync::Arc;
use std::time::Duration;

use pi_ai::Usage;
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{
    BashOptions, Disposition, Navigation, PromptError, PromptOptions, SettingChange,
    StreamingBehavior,
};
use pi_protocol::{AgentMessage, Message};
use serde_json::json;

use crate::test_session::TestSession;

fn usage(input: u64) -> Usage {
    Usage { input, output: 10, total_tokens: input + 10, ..Usage::default() }
}

fn user_texts(test: &TestSession) -> Vec<String> {
    let request = test.model.requests().last().unwrap().clone();
    request
        .context
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User(user) => Some(pi_session::text_of(&user.content)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_prompt_emits_and_stores_in_order() {
    let test = TestSession::new();
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "echo hi"})));
    test.model.push(Reply::new().text("Done."));
    let disposition = test.session.prompt("Do it", PromptOptions::default()).await.unwrap();
    assert_eq!(disposition, Disposition::Started);
    assert_eq!(
        test.record_types(),
        [
            "agent_start",
            "turn_start",
            "message_start system",
            "message_end system",
            "message_start user",
            "message_end user",
            "message_start assistant",
            "message_end assistant",
            "tool_execution_start",
            "tool_execution_end",
            "message_start toolResult",
            "message_end toolResult",
            "turn_end",
            "turn_start",
            "message_start assistant",
            "message_end assistant",
            "turn_end",
            "agent_end retry=false",
            "agent_settled aborted=false",
        ]
    );
    let kept = [
        "session",
        "model_change",
        "thinking_level_change",
        "system",
        "user",
        "assistant",
        "toolResult",
        "assistant",
    ];
    assert_eq!(test.entries(), kept);

    let test = test.reopened(|_| {});
    test.model.push(Reply::new().text("Again."));
    test.session.prompt("And?", PromptOptions::default()).await.unwrap();
    let types = test.record_types();
    assert!(!types.contains(&"message_start system".to_owned()), "nothing new: {types:?}");
    assert_eq!(user_texts(&test), ["Do it", "And?"]);
    assert_eq!(test.session.last_assistant_text().as_deref(), Some("Again."));
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_and_hidden_from_the_model() {
    let test = TestSession::new();
    test.model.push(Reply::new().fail("503: overloaded"));
    test.model.push(Reply::new().text("Better."));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    let types = test.record_types();
    let from = types.iter().position(|line| line == "agent_end retry=true").unwrap();
    assert_eq!(
        types[from..],
        [
            "agent_end retry=true",
            "auto_retry_start 1",
            "entry_appended",
            "agent_start",
            "turn_start",
            "message_start assistant",
            "message_end assistant",
            "auto_retry_end success=true",
            "turn_end",
            "agent_end retry=false",
            "agent_settled aborted=false",
        ]
    );
    let roles: Vec<String> =
        test.session.messages().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    assert_eq!(test.entries().iter().filter(|kind| *kind == "assistant").count(), 2);

    for _ in 0..4 {
        test.model.push(Reply::new().fail("503: overloaded"));
    }
    test.session.prompt("Go on", PromptOptions::default()).await.unwrap();
    let types = test.record_types();
    assert_eq!(types.iter().filter(|line| line.starts_with("auto_retry_start")).count(), 3);
    assert_eq!(
        types[types.len() - 3..],
        ["agent_end retry=false", "auto_retry_end success=false", "agent_settled aborted=false"]
    );
    let last = test.session.messages().last().unwrap().clone();
    assert_eq!(last.role(), "assistant", "the last failure stays where the user sees it");
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_retry_pause_and_keeps_the_queue() {
    let test = TestSession::new();
    test.model.push(Reply::new().fail("503: overloaded"));
    let begun = test.session.turn("Go", PromptOptions::default()).begin().await.unwrap();
    let run = begun.into_run().unwrap();
    let session = test.session.clone();
    let abort = async {
        while !session.is_retrying() {
            tokio::task::yield_now().await;
        }
        session.follow_up("later", Vec::new(), InputSource::Interactive).await.unwrap();
        session.abort().await;
        assert!(!session.is_streaming());
    };
    tokio::join!(run.finish(), abort);
    let types = test.record_types();
    assert_eq!(
        types[types.len() - 3..],
        [
            "queue_update [[],[\"later\"]]",
            "auto_retry_end success=false",
            "agent_settled aborted=true"
        ]
    );
    assert_eq!(test.session.queued().follow_up, ["later"]);
    assert_eq!(test.session.clear_queue().await.follow_up, ["later"]);
}

#[tokio::test]
async fn queued_messages_leave_the_list_when_they_are_delivered() {
    let test = TestSession::new();
    let session = test.session.clone();
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "true"})));
    test.model.push(Reply::new().text("one"));
    test.model.push(Reply::new().text("two"));
    let begun = session.turn("Go", PromptOptions::default()).begin().await.unwrap();
    let run = begun.into_run().unwrap();
    let busy = session.prompt("no", PromptOptions::default()).await;
    assert!(matches!(busy, Err(PromptError::Busy)));
    let steer = PromptOptions::default().streaming_behavior(StreamingBehavior::Steer);
    assert_eq!(session.prompt("now", steer).await.unwrap(), Disposition::Queued);
    session.follow_up("then", Vec::new(), InputSource::Rpc).await.unwrap();
    run.finish().await;
    let types = test.record_types();
    let queue: Vec<&String> = types.iter().filter(|line| line.starts_with("queue")).collect();
    assert_eq!(
        queue,
        [
            "queue_update [[\"now\"],[]]",
            "queue_update [[\"now\"],[\"then\"]]",
            "queue_update [[],[\"then\"]]",
            "queue_update [[],[]]",
        ]
    );
    assert_eq!(user_texts(&test), ["Go", "now", "then"]);
}

pub(crate) fn small_window(parts: &mut pi_coding_agent::session::SessionParts) {
    let mut model = Faux::model();
    model.context_window = 20_000;
    parts.model = Some(Arc::new(model));
    parts.settings.compaction.keep_recent_tokens = 200;
}

pub(crate) fn summary() -> Reply {
    Reply::new().text(
        "## Goal\nTalk.\n\n## Constraints & Preferences\n- none\n\n## Progress\n### Done\n- talked\n\n### In Progress\n- none\n\n### Blocked\n- none\n\n## Key Decisions\n- none\n\n## Next Steps\n1. talk\n\n## Critical Context\n- none",
    )
}

#[tokio::test]
async fn a_full_context_is_compacted_after_the_run() {
    let test = TestSession::with(small_window);
    test.model.push(Reply::new().text("word ".repeat(2_000)).usage(usage(1_000)));
    test.session.prompt(&"hello ".repeat(500), PromptOptions::default()).await.unwrap();
    test.model.push(Reply::new().text("ok").usage(usage(19_000)));
    test.model.push(summary());
    test.model.push(summary());
    test.record_types();
    test.session.prompt("next", PromptOptions::default()).await.unwrap();
    let types = test.record_types();
    let end = types.iter().position(|line| line == "agent_end retry=false").unwrap();
    assert_eq!(
        types[end + 1..],
        [
            "compaction_start threshold",
            "compaction_end retry=false error=none",
            "agent_settled aborted=false"
        ]
    );
    let roles: Vec<String> =
        test.session.messages().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles[..2], ["system", "compactionSummary"], "{roles:?}");
    assert!(test.entries().contains(&"compaction".to_owned()));
}

#[tokio::test]
async fn a_request_that_does_not_fit_is_retried_after_compaction() {
    let test = TestSession::with(small_window);
    test.model.push(Reply::new().text("word ".repeat(2_000)).usage(usage(1_000)));
    test.session.prompt(&"hello ".repeat(500), PromptOptions::default()).await.unwrap();
    test.record_types();
    test.model.push(Reply::new().fail("prompt is too long: 30000 tokens > 20000 maximum"));
    test.model.push(summary());
    test.model.push(summary());
    test.model.push(Reply::new().text("Now it fits.").usage(usage(500)));
    test.session.prompt("next", PromptOptions::default()).await.unwrap();
    let types = test.record_types();
    let end = types.iter().position(|line| line == "agent_end retry=false").unwrap();
    assert_eq!(
        types[end..end + 5],
        [
            "agent_end retry=false",
            "compaction_start overflow",
            "entry_appended",
            "compaction_end retry=true error=none",
            "agent_start",
        ]
    );
    assert_eq!(test.session.last_assistant_text().as_deref(), Some("Now it fits."));
}

#[tokio::test]
async fn an_overflow_with_nothing_to_compact_stays_visible() {
    let test = TestSession::with(small_window);
    test.model.push(Reply::new().fail("prompt is too long: 30000 tokens > 20000 maximum"));
    test.session.prompt("hi", PromptOptions::default()).await.unwrap();
    let types = test.record_types();
    assert_eq!(types.last().unwrap(), "agent_settled aborted=false");
    let messages = test.session.messages();
    let last = messages.last().and_then(AgentMessage::as_assistant).unwrap();
    assert!(last.error_message.as_deref().unwrap().contains("too long"));
}

#[tokio::test]
async fn compacting_a_small_session_is_refused_with_events() {
    let test = TestSession::new();
    let error = test.session.compact(None).await.unwrap_err();
    assert_eq!(error.to_string(), "Nothing to compact (session too small)");
    assert_eq!(
        test.record_types(),
        [
            "compaction_start manual",
            "compaction_end retry=false error=Compaction failed: Nothing to compact (session too small)"
        ]
    );
}

#[tokio::test]
async fn user_commands_are_emitted_stored_and_shown_to_the_model() {
    let test = TestSession::new();
    let options = BashOptions::default().id(Some("7".to_owned()));
    let result =
        test.session.execute_bash("printf '\\033[1mout\\033[0m\\r\\n'; exit 3", options).await;
    let result = result.unwrap();
    assert_eq!((result.output.as_str(), result.exit_code), ("out\n", Some(3)));
    let told = test.records();
    assert_eq!(told[0], json!({"type": "bash_execution_update", "id": "7", "delta": "out\n"}));
    let hidden = BashOptions::default().exclude_from_context(true);
    test.session.execute_bash("echo secret", hidden).await.unwrap();
    test.model.push(Reply::new().text("I see."));
    test.session.prompt("Look", PromptOptions::default()).await.unwrap();
    let texts = user_texts(&test);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("out") && !texts.concat().contains("secret"));
    assert_eq!(test.entries().iter().filter(|kind| *kind == "bashExecution").count(), 2);
}

#[tokio::test]
async fn navigating_back_returns_the_text_and_leaves_a_summary() {
    let test = TestSession::new();
    for answer in ["one", "two"] {
        test.model.push(Reply::new().text(answer));
        test.session.prompt(&format!("say {answer}"), PromptOptions::default()).await.unwrap();
    }
    let messages = test.session.user_messages().unwrap();
    assert_eq!(messages.len(), 2);
    test.model.push(Reply::new().text("They said two."));
    let options = Navigation::default().summarize(true);
    let went = test.session.navigate(&messages[1].entry_id, options).await.unwrap();
    assert_eq!(went.text.as_deref(), Some("say two"));
    assert!(went.summary.is_some());
    let roles: Vec<String> =
        test.session.messages().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "branchSummary"]);
}

#[tokio::test]
async fn changed_settings_are_saved() {
    let saved = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = Arc::clone(&saved);
    let test = TestSession::with(move |parts| {
        parts.save_setting =
            Some(Arc::new(move |change| heard.lock().unwrap().push(change.clone())));
    });
    test.session.change_setting(&SettingChange::AutoRetry(false));
    assert_eq!(*saved.lock().unwrap(), [SettingChange::AutoRetry(false)]);
    test.model.push(Reply::new().fail("503: overloaded"));
    let done = test.session.prompt("Go", PromptOptions::default());
    tokio::time::timeout(Duration::from_secs(60), done).await.unwrap().unwrap();
    assert!(!test.record_types().iter().any(|line| line.starts_with("auto_retry")));
}
