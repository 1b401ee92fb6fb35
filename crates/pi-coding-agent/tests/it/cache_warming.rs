//! Cache warming: while a tool works for longer than the prompt cache lives, the last request is
//! repeated for one token, and its cost is recorded.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::{FnTool, ToolOutput};
use pi_ai::Usage;
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{
    CacheWarming, CacheWarmingAction, Extension, Extensions, Handlers, Warming,
};
use pi_coding_agent::session::PromptOptions;
use pi_config::settings::CacheWarmingMode;
use serde_json::{Value, json};

use crate::test_session::TestSession;

/// The lifetime of the prompt cache is 300 seconds, so that a prompt is refreshed after 270.
const TOOL_SECONDS: u64 = 700;

fn usage(cache_read: u64) -> Usage {
    let mut usage = Usage { cache_read, output: 1, ..Usage::default() };
    usage.sum_total();
    usage
}

/// Returns a session with an expensive model, in which a tool call takes [`TOOL_SECONDS`].
async fn session(mode: CacheWarmingMode, extensions: Vec<Arc<dyn Extension>>) -> TestSession {
    let (extensions, failures) = Extensions::load(extensions).await;
    assert!(failures.is_empty());
    TestSession::with(|parts| {
        let mut model = Faux::model();
        model.prompt_cache = serde_json::from_value(json!({"short": 300})).unwrap();
        model.cost.input = 5.0;
        model.cost.cache_read = 0.5;
        parts.model = Some(Arc::new(model));
        let declaration = json!({
            "name": "wait", "description": "Waits.", "parameters": {"type": "object", "properties": {}},
        });
        let wait = FnTool::new(serde_json::from_value(declaration).unwrap(), |_| async {
            tokio::time::sleep(Duration::from_secs(TOOL_SECONDS)).await;
            Ok(ToolOutput::text("waited"))
        });
        parts.tools.push(Arc::new(wait));
        parts.active_tools.push("wait".to_owned());
        parts.settings.cache_warming = mode;
        parts.extensions = extensions;
    })
}

fn warmings(test: &TestSession) -> usize {
    let requests = test.model.requests();
    requests.iter().filter(|request| request.options.max_tokens == Some(1)).count()
}

fn usage_entries(test: &TestSession) -> Vec<Value> {
    let text = std::fs::read_to_string(test.session.file().unwrap()).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["type"] == "usage").collect()
}

#[tokio::test(start_paused = true)]
async fn the_prompt_is_kept_while_a_tool_works() {
    let test = session(CacheWarmingMode::Streaming, Vec::new()).await;
    test.model.push(Reply::new().tool_call("wait", &json!({})).usage(usage(100_000)));
    test.model.push(Reply::new().text("x").usage(usage(100_000)));
    test.model.push(Reply::new().fail("overloaded"));
    test.model.push(Reply::new().text("Done.").usage(usage(100_000)));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();

    let requests = test.model.requests();
    assert_eq!(requests.len(), 4, "a request, two refreshes, and the answer");
    for refresh in &requests[1..3] {
        let messages = |request: &pi_ai::Request| serde_json::to_value(&request.context).unwrap();
        assert_eq!(messages(refresh), messages(&requests[0]));
        assert_eq!(refresh.options.max_tokens, Some(1));
        assert_eq!(refresh.options.retry.max_retries, 0);
    }
    let recorded = usage_entries(&test);
    assert_eq!(recorded.len(), 1, "a failed refresh costs nothing");
    assert_eq!(recorded[0]["kind"], "cache_warm");
    assert_eq!(recorded[0]["model"], Faux::model().id);
    assert_eq!(recorded[0]["usage"]["cacheRead"], 100_000);
    assert_eq!(recorded[0].get("note"), None);
    let emitted = test.records();
    let appended: Vec<&Value> =
        emitted.iter().filter(|record| record["type"] == "entry_appended").collect();
    assert_eq!(appended.len(), 1);
    assert_eq!(appended[0]["entry"]["id"], recorded[0]["id"]);
    let totals = test.session.totals().unwrap();
    assert_eq!(totals.stats.tokens.cache_read, 300_000);

    // The run is over, and with it the reason to keep the prompt.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(test.model.requests().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_prompt_is_kept_only_if_that_is_wanted_and_pays() {
    for (mode, tokens, expected) in [
        (CacheWarmingMode::Off, 100_000, 0),
        (CacheWarmingMode::Streaming, 1_000, 0),
        (CacheWarmingMode::Streaming, 100_000, 2),
        (CacheWarmingMode::Idle, 100_000, 2),
    ] {
        let test = session(mode, Vec::new()).await;
        test.model.push(Reply::new().tool_call("wait", &json!({})).usage(usage(tokens)));
        for _ in 0..expected {
            test.model.push(Reply::new().text("x").usage(usage(tokens)));
        }
        test.model.push(Reply::new().text("Done.").usage(usage(tokens)));
        test.session.prompt("Go", PromptOptions::default()).await.unwrap();
        assert_eq!(warmings(&test), expected, "{mode:?}, {tokens}");
        assert_eq!(usage_entries(&test).len(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn between_runs_a_prompt_is_kept_on_request_until_the_context_changes() {
    let test = session(CacheWarmingMode::Idle, Vec::new()).await;
    for _ in 0..9 {
        test.model.push(Reply::new().text("x").usage(usage(2_000_000)));
    }
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(warmings(&test), 2);
    let first = test.session.user_messages().unwrap().remove(0).entry_id;
    test.session.navigate(&first, Default::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(warmings(&test), 2);
}

#[tokio::test(start_paused = true)]
async fn an_extension_decides() {
    let stopping = Handlers::new("stop").on(|question: CacheWarming, _| {
        assert!(question.miss_cost > question.warm_cost);
        assert_eq!((question.action, question.continuation_probability), (Warming::Warm, 1.0));
        async { Ok(CacheWarmingAction(Some(Warming::Stop))) }
    });
    let insisting = Handlers::new("warm")
        .on(|_: CacheWarming, _| async { Ok(CacheWarmingAction(Some(Warming::Warm))) });
    for (extension, tokens, expected) in [(stopping, 100_000, 0), (insisting, 10, 2)] {
        let test = session(CacheWarmingMode::Streaming, vec![Arc::new(extension)]).await;
        test.model.push(Reply::new().tool_call("wait", &json!({})).usage(usage(tokens)));
        for _ in 0..=expected {
            test.model.push(Reply::new().text("x").usage(usage(tokens)));
        }
        test.session.prompt("Go", PromptOptions::default()).await.unwrap();
        assert_eq!(warmings(&test), expected);
        for entry in usage_entries(&test) {
            assert_eq!(entry["note"], "extension override");
        }
    }
}
