//! Requests for summaries that fail: tried again as turns are, told, and stopped on demand.

use pi_ai::faux::Reply;
use pi_coding_agent::session::{
    CompactError, Navigation, PromptOptions, SessionEvent, SessionNews, SettingChange,
};
use serde_json::{Value, json};

use crate::session::{small_window, summary};
use crate::stage::Stage;

async fn talk(stage: &Stage) {
    stage.model.push(Reply::new().text("word ".repeat(2_000)));
    stage.session.prompt(&"hello ".repeat(500), PromptOptions::default()).await.unwrap();
    stage.model.push(Reply::new().text("two"));
    stage.session.prompt("say two", PromptOptions::default()).await.unwrap();
    stage.records();
}

fn about_summaries(stage: &Stage) -> Vec<Value> {
    let is = |record: &Value| record["type"].as_str().unwrap().starts_with("summarization");
    stage.records().into_iter().filter(is).collect()
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
async fn a_compaction_asks_again() {
    let stage = Stage::with(small_window);
    talk(&stage).await;
    stage.model.push(Reply::new().fail("503: overloaded"));
    stage.model.push(Reply::new().fail("503: overloaded"));
    stage.model.push(summary());
    stage.model.push(summary());
    stage.session.compact(None).await.unwrap();
    let start = json!({
        "type": "summarization_retry_attempt_start",
        "source": "compaction",
        "reason": "manual",
    });
    let finished = json!({ "type": "summarization_retry_finished" });
    assert_eq!(
        about_summaries(&stage),
        [scheduled(1, 2_000), start.clone(), scheduled(2, 4_000), start, finished]
    );
}

#[tokio::test(start_paused = true)]
async fn a_branch_summary_asks_again() {
    let stage = Stage::new();
    talk(&stage).await;
    stage.model.push(Reply::new().fail("503: overloaded"));
    stage.model.push(Reply::new().text("They said two."));
    let messages = stage.session.user_messages().unwrap();
    let options = Navigation { summarize: true, ..Navigation::default() };
    let went = stage.session.navigate(&messages[1].0, options).await.unwrap();
    assert!(went.summary.is_some());
    let start = json!({ "type": "summarization_retry_attempt_start", "source": "branchSummary" });
    let finished = json!({ "type": "summarization_retry_finished" });
    assert_eq!(about_summaries(&stage), [scheduled(1, 2_000), start, finished]);
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_after_the_last_try_and_at_once_if_told_so() {
    let stage = Stage::with(small_window);
    talk(&stage).await;
    for _ in 0..4 {
        stage.model.push(Reply::new().fail("503: overloaded"));
    }
    let before = stage.model.requests().len();
    let error = stage.session.compact(None).await.unwrap_err();
    assert!(error.to_string().contains("503: overloaded"), "{error}");
    assert_eq!(stage.model.requests().len() - before, 4);
    assert_eq!(about_summaries(&stage).len(), 3 + 3 + 1);

    stage.session.change_setting(&SettingChange::AutoRetry(false));
    stage.model.push(Reply::new().fail("503: overloaded"));
    stage.session.compact(None).await.unwrap_err();
    assert_eq!(about_summaries(&stage), [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_pause_can_be_ended() {
    let stage = Stage::with(small_window);
    talk(&stage).await;
    stage.model.push(Reply::new().fail("503: overloaded"));
    let session = stage.session.downgrade();
    let _listening = stage.session.subscribe(move |event| {
        if let SessionEvent::Session(SessionNews::SummarizationRetryScheduled { .. }) = event {
            session.upgrade().unwrap().abort_compaction();
        }
    });
    let before = stage.model.requests().len();
    let error = stage.session.compact(None).await.unwrap_err();
    assert!(matches!(error, CompactError::Cancelled), "{error}");
    assert_eq!(stage.model.requests().len() - before, 1);
    let finished = json!({ "type": "summarization_retry_finished" });
    assert_eq!(about_summaries(&stage).last(), Some(&finished));
}
