//! Retries of requests for summaries.

use pi_ai::faux::Reply;
use pi_coding_agent::session::{
    CompactError, Navigation, PromptOptions, SessionEvent, SettingChange,
};
use serde_json::{Value, json};

use crate::session::{small_window, summary};
use crate::test_session::TestSession;

async fn converse(test: &TestSession) {
    test.model.push(Reply::new().text("word ".repeat(2_000)));
    test.session.prompt(&"hello ".repeat(500), PromptOptions::default()).await.unwrap();
    test.model.push(Reply::new().text("two"));
    test.session.prompt("say two", PromptOptions::default()).await.unwrap();
    test.records();
}

fn summary_records(test: &TestSession) -> Vec<Value> {
    let is = |record: &Value| record["type"].as_str().unwrap().starts_with("summarization");
    test.records().into_iter().filter(is).collect()
}

fn scheduled(attempt: u32, delay: u64) -> Value {
    json!({
        "type": "summarization_retry_scheduled",
        "attempt": attempt,
        "maxAttempts": 3,
        "delayMs": delay,
        "errorMessage": "503: overloaded",
    })
}

#[tokio::test(start_paused = true)]
async fn a_compaction_retries() {
    let test = TestSession::with(small_window);
    converse(&test).await;
    test.model.push(Reply::new().fail("503: overloaded"));
    test.model.push(Reply::new().fail("503: overloaded"));
    test.model.push(summary());
    test.model.push(summary());
    test.session.compact(None).await.unwrap();
    let start = json!({
        "type": "summarization_retry_attempt_start",
        "source": "compaction",
        "reason": "manual",
    });
    let finished = json!({ "type": "summarization_retry_finished" });
    assert_eq!(
        summary_records(&test),
        [scheduled(1, 2_000), start.clone(), scheduled(2, 4_000), start, finished]
    );
}

#[tokio::test(start_paused = true)]
async fn a_branch_summary_retries() {
    let test = TestSession::new();
    converse(&test).await;
    test.model.push(Reply::new().fail("503: overloaded"));
    test.model.push(Reply::new().text("They said two."));
    let messages = test.session.user_messages().unwrap();
    let options = Navigation::default().summarize(true);
    let went = test.session.navigate(&messages[1].entry_id, options).await.unwrap();
    assert!(went.summary.is_some());
    let start = json!({ "type": "summarization_retry_attempt_start", "source": "branchSummary" });
    let finished = json!({ "type": "summarization_retry_finished" });
    assert_eq!(summary_records(&test), [scheduled(1, 2_000), start, finished]);
}

#[tokio::test(start_paused = true)]
async fn retries_end_after_the_last_attempt_and_can_be_disabled() {
    let test = TestSession::with(small_window);
    converse(&test).await;
    for _ in 0..4 {
        test.model.push(Reply::new().fail("503: overloaded"));
    }
    let before = test.model.requests().len();
    let error = test.session.compact(None).await.unwrap_err();
    assert!(error.to_string().contains("503: overloaded"), "{error}");
    assert_eq!(test.model.requests().len() - before, 4);
    assert_eq!(summary_records(&test).len(), 3 + 3 + 1);

    test.session.change_setting(&SettingChange::AutoRetry(false));
    test.model.push(Reply::new().fail("503: overloaded"));
    test.session.compact(None).await.unwrap_err();
    assert_eq!(summary_records(&test), [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_retry_pause_can_be_cancelled() {
    let test = TestSession::with(small_window);
    converse(&test).await;
    test.model.push(Reply::new().fail("503: overloaded"));
    let session = test.session.downgrade();
    let _subscription = test.session.subscribe(move |event| {
        if let SessionEvent::SummarizationRetryScheduled { .. } = event {
            session.upgrade().unwrap().abort_compaction();
        }
    });
    let before = test.model.requests().len();
    let error = test.session.compact(None).await.unwrap_err();
    assert!(matches!(error, CompactError::Cancelled), "{error}");
    assert_eq!(test.model.requests().len() - before, 1);
    let finished = json!({ "type": "summarization_retry_finished" });
    assert_eq!(summary_records(&test).last(), Some(&finished));
}
