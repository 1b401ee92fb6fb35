//! Requests for summaries, and the handling of answers.

use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_protocol::{
    CacheRetention, Message, Model, Request, StopReason, StreamOptions, ThinkingLevel, Usage,
    UserContent,
};
use pi_session::compaction::{
    BranchInstructions, BranchSummarySettings, CompactionSettings, Summarizer, SummaryError,
    prepare, summarize_branch,
};
use pi_session::{project, text_of};
use serde_json::{Value, json};

use super::fixture::{cases, path};
use crate::effects::resolver;

fn usage() -> Usage {
    let cost =
        json!({"input": 0.5, "output": 0.25, "cacheRead": 0.125, "cacheWrite": 1, "total": 1.875});
    serde_json::from_value(json!({
        "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "reasoning": 1,
        "totalTokens": 10, "cost": cost,
    }))
    .unwrap()
}

/// Returns a model that answers `S1`, `S2` and so on.
fn counting() -> Faux {
    let faux = Faux::new();
    for number in 1..=3 {
        faux.push(Reply::new().text(format!("S{number}")).usage(usage()));
    }
    faux
}

fn summarizer<'a>(faux: &'a Faux, case: &Value) -> Summarizer<'a> {
    let reasoning = case["reasoning"].as_bool().unwrap_or(true);
    let session_id = case["sessionId"].as_str().map(str::to_owned);
    let mut options = StreamOptions::default();
    options.session_id = session_id;
    let model = Model { reasoning, context_window: 100_000, ..Faux::model() };
    let mut summarizer =
        Summarizer::new(faux, Arc::new(model)).options(options).effects(resolver());
    summarizer.thinking_level = case["level"].as_str().map(|level| level.parse().unwrap());
    summarizer
}

fn question(request: &Request) -> String {
    let messages: Vec<&Message> = request.context.messages.iter().collect();
    match messages.as_slice() {
        [Message::User(user)] => {
            assert!(matches!(user.content, UserContent::Blocks(_)));
            text_of(&user.content)
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the lines that the TypeScript pi relies on: headings, tags, the serialized conversation.
fn skeleton(text: &str) -> Vec<&str> {
    let begins = ["# ", "## ", "### ", "<", "[User", "[Assistant", "[Tool", "Additional focus"];
    text.lines().filter(|line| begins.iter().any(|begin| line.starts_with(begin))).collect()
}

fn check_request(request: &Request, expected: &Value, name: &str) {
    assert!(!request.context.system_prompt.as_deref().unwrap_or_default().is_empty(), "{name}");
    assert!(request.context.tools.is_empty(), "{name}");
    assert_eq!(json!(skeleton(&question(request))), expected["skeleton"], "{name}");
    let options = &request.options;
    assert_eq!(json!(options.reasoning), expected["reasoning"], "{name}");
    assert_eq!(json!(options.cache_retention), expected["cacheRetention"], "{name}");
    assert_eq!(options.cache_retention, Some(CacheRetention::None), "{name}");
    assert_eq!(options.max_tokens, None, "{name}");
}

#[tokio::test]
async fn requests_and_summaries_of_compactions_equal_the_recorded_ones() {
    for case in cases("requests.json") {
        let name = case["name"].as_str().unwrap();
        let keep_recent_tokens = case["keep"].as_u64().unwrap();
        let settings = CompactionSettings { keep_recent_tokens, ..Default::default() };
        let prepared = prepare(&project(path(&case["path"])), &settings, &resolver()).unwrap();
        let faux = counting();
        let summary =
            summarizer(&faux, &case).summarize(&prepared, case["focus"].as_str()).await.unwrap();
        let lists = prepared.file_ops.lists();
        assert_eq!(summary.text + &lists.to_tags(), case["summary"], "{name}");
        assert_eq!(serde_json::to_value(&lists).unwrap(), case["details"], "{name}");
        let observed: Usage = serde_json::from_value(case["usage"].clone()).unwrap();
        let plain = |mut usage: Usage| {
            usage.cost.total_from_provider = None;
            usage
        };
        assert_eq!(plain(summary.usage), plain(observed), "{name}");
        let requests = faux.requests();
        let expected = case["requests"].as_array().unwrap();
        assert_eq!(requests.len(), expected.len(), "{name}");
        for (request, expected) in requests.iter().zip(expected) {
            check_request(request, expected, name);
            let id = request.options.session_id.as_deref().unwrap();
            match expected["sessionId"].as_str() {
                Some(given) => assert_eq!(id, given, "{name}"),
                None => assert_eq!(id.len(), 36, "{name}"),
            }
        }
    }
}

#[tokio::test]
async fn requests_and_summaries_of_branches_equal_the_recorded_ones() {
    for case in cases("branch_requests.json") {
        let name = case["name"].as_str().unwrap();
        let faux = Faux::new();
        faux.push(Reply::new().text("S").usage(usage()));
        let instructions = match (case["focus"].as_str(), case["replace"].as_bool()) {
            (None, _) => BranchInstructions::Standard,
            (Some(text), Some(true)) => BranchInstructions::Replace(text),
            (Some(text), _) => BranchInstructions::Focus(text),
        };
        let settings = BranchSummarySettings { reserve_tokens: case["reserve"].as_u64().unwrap() };
        let summarizer = summarizer(&faux, &case);
        let summary = summarize_branch(&summarizer, &path(&case["path"]), &settings, instructions)
            .await
            .unwrap();
        let requests = faux.requests();
        let expected = case["requests"].as_array().unwrap();
        assert_eq!(requests.len(), expected.len(), "{name}");
        for (request, expected) in requests.iter().zip(expected) {
            check_request(request, expected, name);
            if let Some(text) = expected["last"].as_str() {
                assert_eq!(question(request), text, "{name}");
            }
        }
        assert_eq!(
            summary.details,
            Some(json!({ "readFiles": case["read"], "modifiedFiles": case["modified"] })),
            "{name}"
        );
        let after = case["after"].as_str().unwrap();
        match summary.usage {
            Some(spent) => {
                assert_eq!(spent, usage(), "{name}");
                // The first line differs in wording.
                assert_eq!(summary.summary.split_once('\n').unwrap().1, after, "{name}");
            }
            None => assert_eq!(summary.summary, after, "{name}"),
        }
    }
}

#[tokio::test]
async fn an_incomplete_summary_is_an_error() {
    for case in cases("failures.json") {
        let name = case["name"].as_str().unwrap();
        let faux = Faux::responding({
            let case = case.clone();
            move |_| scripted(&case)
        });
        let summarizer = summarizer(&faux, &json!({}));
        for (task, observed) in [("Summarization", "history"), ("Branch summarization", "branch")] {
            let outcome = match summarizer.ask(task, "Q".to_owned()).await {
                Ok(summary) => json!({"text": summary.text}),
                // The reason differs in wording.
                Err(error @ SummaryError::Incomplete { .. }) => {
                    let text = error.to_string();
                    json!({"failed": text.split_once(": ").unwrap().0})
                }
                Err(error) => json!({"error": error.to_string()}),
            };
            assert_eq!(outcome, case[observed], "{name}");
        }
    }
}

fn scripted(case: &Value) -> Reply {
    let mut reply = Reply::new();
    for block in case["content"].as_array().unwrap() {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        reply = match block["type"].as_str().unwrap() {
            "text" => reply.text(text("text")),
            "thinking" => reply.thinking(text("thinking")),
            _ => reply.tool_call(text("name"), &block["arguments"]),
        };
    }
    match case["stopReason"].as_str().unwrap() {
        "error" => reply.fail(case["errorMessage"].as_str().unwrap_or("Unknown error")),
        "length" => reply.stop_reason(StopReason::Length),
        "toolUse" => reply.stop_reason(StopReason::ToolUse),
        _ => reply.stop_reason(StopReason::Stop),
    }
}

#[tokio::test]
async fn an_answer_without_text_is_an_error() {
    for reply in [Reply::new(), Reply::new().text(" \n "), Reply::new().thinking("Hm.")] {
        let faux = Faux::new();
        faux.push(reply);
        let outcome = summarizer(&faux, &json!({})).ask("Summarization", "Q".to_owned()).await;
        assert_eq!(outcome, Err(SummaryError::Empty { task: "Summarization" }));
    }
}

#[tokio::test]
async fn canceling_ends_the_first_request_and_prevents_the_second() {
    let faux = Faux::new();
    faux.push(Reply::new().text("half").hang());
    let summarizer = summarizer(&faux, &json!({}));
    let settings = CompactionSettings { keep_recent_tokens: 10, ..Default::default() };
    let short = json!([["user", 40], ["assistant", 40], ["user", 40], ["assistant", 40]]);
    let prepared = prepare(&project(path(&short)), &settings, &resolver()).unwrap();
    assert!(prepared.is_split_turn && !prepared.to_summarize.is_empty());
    let cancel = summarizer.cancel.clone();
    let outcome = tokio::join!(summarizer.summarize(&prepared, None), async move {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(matches!(outcome.0, Err(SummaryError::Aborted { .. })), "{outcome:?}");
    assert_eq!(faux.requests().len(), 1);
}

#[tokio::test]
async fn a_failed_first_request_prevents_the_second() {
    let faux = Faux::new();
    faux.push(Reply::new().text("half").stop_reason(StopReason::Length));
    faux.push(Reply::new().text("prefix"));
    let settings = CompactionSettings { keep_recent_tokens: 10, ..Default::default() };
    let short = json!([["user", 40], ["assistant", 40], ["user", 40], ["assistant", 40]]);
    let prepared = prepare(&project(path(&short)), &settings, &resolver()).unwrap();
    let outcome = summarizer(&faux, &json!({})).summarize(&prepared, None).await;
    assert!(matches!(outcome, Err(SummaryError::Incomplete { .. })), "{outcome:?}");
    assert_eq!(faux.pending(), 1);
}

#[tokio::test]
async fn system_messages_do_not_count_towards_the_budget_of_a_branch() {
    let faux = counting();
    let mut summarizer = summarizer(&faux, &json!({}));
    summarizer.thinking_level = Some(ThinkingLevel::High);
    let short = json!([["system", 4000], ["user", 40], ["system", 4000], ["assistant", 40]]);
    let settings = BranchSummarySettings { reserve_tokens: 100_000 - 30 };
    let instructions = BranchInstructions::Standard;
    summarize_branch(&summarizer, &path(&short), &settings, instructions).await.unwrap();
    let asked = question(&faux.requests()[0]);
    assert!(asked.contains("[User]: xxx") && asked.contains("[Assistant]: xxx"), "{asked}");
}
