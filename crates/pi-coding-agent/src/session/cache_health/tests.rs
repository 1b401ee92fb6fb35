//! Tables of prompts and token counts, with the miss that each must report.

use pi_protocol::{StreamOptions, SystemMessage, Tool};
use serde_json::json;

use super::*;

fn model(id: &str) -> Arc<Model> {
    let model = json!({ "id": id, "provider": "p", "api": "anthropic-messages",
        "promptCache": { "short": 300, "long": 3600 },
        "cost": { "input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25 } });
    Arc::new(serde_json::from_value(model).unwrap())
}

fn answer(usage: Usage, timestamp: f64) -> AssistantMessage {
    let (model, provider) = ("m".to_owned(), "p".to_owned());
    AssistantMessage { usage, timestamp, model, provider, ..AssistantMessage::default() }
}

fn usage(input: u64, cache_read: u64, cache_write: u64) -> Usage {
    Usage { input, cache_read, cache_write, output: 10, ..Usage::default() }
}

fn system(text: &str, tools: &[&str]) -> Message {
    let tools = tools.iter().map(|name| Tool::new(*name, "", json!({ "type": "object" })));
    Message::System(Arc::new(SystemMessage {
        content: pi_protocol::MessageContent::Text(text.to_owned()),
        tools_added: tools.collect(),
        ..SystemMessage::default()
    }))
}

fn user(text: &str) -> Message {
    let message = json!({ "role": "user", "content": text, "timestamp": 0 });
    serde_json::from_value(message).unwrap()
}

fn reply() -> Message {
    Message::Assistant(Arc::new(answer(Usage::default(), 0.0)))
}

fn request(model: &Arc<Model>, messages: &[Message]) -> Request {
    let context = Context { messages: messages.iter().cloned().collect(), ..Context::default() };
    Request::new(Arc::clone(model), context, StreamOptions::default())
}

const MINUTE: f64 = 60_000.0;

/// Sends two prompts and returns the miss of the second.
fn second(first: &Request, next: &Request, after_ms: f64, counts: [Usage; 2]) -> Option<CacheMiss> {
    let [one, two] = counts;
    let mut health = CacheHealth::default();
    health.sent(first, 0.0);
    assert_eq!(health.answered(&answer(one, 0.0)), None);
    health.sent(next, after_ms);
    health.answered(&answer(two, after_ms))
}

#[test]
fn the_reason_is_the_first_difference() {
    let m = model("m");
    let start = [system("Prompt", &["read"]), user("a"), reply()];
    let with = |more: &[Message]| [&start[..], more].concat();
    let first = request(&m, &start[..2]);
    let next = user("b");
    let hit = request(&m, &with(std::slice::from_ref(&next)));
    let cases: Vec<(Request, f64, Option<MissReason>)> = vec![
        (hit.clone(), 1.0, Some(MissReason::Unknown)),
        (hit, 6.0, Some(MissReason::Expired)),
        (
            request(&model("n"), &with(std::slice::from_ref(&next))),
            6.0,
            Some(MissReason::ModelChanged),
        ),
        (
            request(&m, &[system("Prompt", &["read", "bash"]), user("a"), reply(), next.clone()]),
            1.0,
            Some(MissReason::ToolsChanged),
        ),
        (
            request(&m, &[system("Other", &["read"]), user("a"), reply(), next.clone()]),
            6.0,
            Some(MissReason::SystemPromptChanged),
        ),
        (
            request(&m, &[start[0].clone(), user("changed"), reply(), next.clone()]),
            1.0,
            Some(MissReason::PrefixChanged { message: 2 }),
        ),
        (request(&m, &[start[0].clone()]), 1.0, Some(MissReason::PrefixChanged { message: 2 })),
        // A later system message may change the beginning of the prompt.
        (
            request(&m, &with(&[system("", &["bash"]), next.clone()])),
            1.0,
            Some(MissReason::ToolsChanged),
        ),
        (
            request(&m, &with(&[system("Also", &[]), next])),
            1.0,
            Some(MissReason::SystemPromptChanged),
        ),
    ];
    for (at, (prompt, minutes, expected)) in cases.iter().enumerate() {
        let counts = [usage(100, 0, 9_900), usage(300, 0, 10_000)];
        let miss = second(&first, prompt, minutes * MINUTE, counts);
        assert_eq!(miss.as_ref().map(|miss| miss.reason.clone()), *expected, "case {at}");
        let miss = miss.unwrap();
        assert_eq!(miss.missed_tokens, 9_900);
        assert!((miss.missed_cost - 9_900.0 * 5.75 / 1e6).abs() < 1e-9, "{}", miss.missed_cost);
        // With a hit there is nothing to report, even if the prompt changed.
        let counts = [usage(100, 0, 9_900), usage(300, 9_900, 100)];
        assert_eq!(second(&first, prompt, minutes * MINUTE, counts), None, "case {at}");
    }
}

#[test]
fn only_what_was_cached_can_be_missed() {
    let explicit = model("m");
    let mut other = (*explicit).clone();
    other.cost.cache_write = 0.0;
    let automatic = Arc::new(other.clone());
    other.cost.cache_read = 0.0;
    let unknown = Arc::new(other);
    for (model, first, next, missed) in [
        // Below the minimum of the provider, nothing is written.
        (&explicit, usage(900, 0, 0), usage(1_900, 0, 0), None),
        (&explicit, usage(10, 0, 900), usage(20, 0, 1_000), None),
        (&explicit, usage(10, 0, 5_000), usage(20, 0, 6_000), Some(5_000)),
        (&explicit, usage(10, 4_000, 1_000), usage(20, 4_000, 2_000), None),
        (&explicit, usage(10, 4_000, 2_000), usage(20, 4_000, 2_500), Some(2_000)),
        // A shorter prompt cannot miss more than it has.
        (&explicit, usage(10, 0, 50_000), usage(20, 0, 4_000), Some(4_020)),
        (&automatic, usage(5_000, 0, 0), usage(6_000, 0, 0), Some(5_000)),
        (&automatic, usage(5_000, 0, 0), usage(1_500, 4_608, 0), None),
        // Steps of the cache are not misses.
        (&automatic, usage(100_000, 0, 0), usage(5_000, 97_000, 0), None),
        // A provider that never reported a cache may have none.
        (&unknown, usage(5_000, 0, 0), usage(6_000, 0, 0), None),
        (&unknown, usage(1_000, 4_000, 0), usage(6_000, 0, 0), Some(5_000)),
    ] {
        let one = request(model, &[user("a")]);
        let two = request(model, &[user("a"), reply(), user("b")]);
        let miss = second(&one, &two, MINUTE, [first.clone(), next.clone()]);
        assert_eq!(miss.map(|miss| miss.missed_tokens), missed, "{first:?} {next:?}");
    }
    let mut uncached = request(&explicit, &[user("a")]);
    uncached.options.cache_retention = Some(CacheRetention::None);
    let counts = [usage(10, 0, 5_000), usage(20, 0, 6_000)];
    assert_eq!(second(&uncached, &uncached, MINUTE, counts), None);
}

#[test]
fn the_lifetime_is_that_of_the_request() {
    let m = model("m");
    let mut one = request(&m, &[user("a")]);
    let mut two = request(&m, &[user("a"), reply(), user("b")]);
    let counts = || [usage(10, 0, 5_000), usage(20, 0, 6_000)];
    let reason = |miss: Option<CacheMiss>| miss.map(|miss| miss.reason);
    let after = |one: &Request, two: &Request, minutes| {
        reason(second(one, two, minutes * MINUTE, counts()))
    };
    assert_eq!(after(&one, &two, 4.9), Some(MissReason::Unknown));
    assert_eq!(after(&one, &two, 5.1), Some(MissReason::Expired));
    one.options.cache_retention = Some(CacheRetention::Long);
    two.options.cache_retention = Some(CacheRetention::Long);
    assert_eq!(after(&one, &two, 59.0), Some(MissReason::Unknown));
    assert_eq!(after(&one, &two, 61.0), Some(MissReason::Expired));
    two.options.reasoning = Some(ThinkingLevel::High);
    assert_eq!(after(&one, &two, 59.0), Some(MissReason::ThinkingChanged));
    // A refresh keeps the prompt alive.
    let mut health = CacheHealth::default();
    let plain = request(&m, &[user("a")]);
    health.sent(&plain, 0.0);
    health.answered(&answer(usage(10, 0, 5_000), 0.0));
    health.refreshed(4.5 * MINUTE);
    health.sent(&plain, 9.0 * MINUTE);
    let miss = health.answered(&answer(usage(10, 0, 5_000), 0.0)).unwrap();
    assert_eq!((miss.reason, miss.idle_ms), (MissReason::Unknown, 4.5 * MINUTE));
}

#[test]
fn failed_requests_are_left_out_of_the_comparison() {
    let m = model("m");
    let one = request(&m, &[user("a")]);
    let two = request(&m, &[user("a"), reply(), user("b")]);
    let mut health = CacheHealth::default();
    health.sent(&one, 0.0);
    health.answered(&answer(usage(10, 0, 5_000), 0.0));
    health.sent(&request(&m, &[user("other")]), MINUTE);
    assert_eq!(health.answered(&answer(Usage::default(), 0.0)), None);
    // An answer without a request of the loop.
    assert_eq!(health.answered(&answer(usage(1, 0, 0), 0.0)), None);
    health.sent(&two, 2.0 * MINUTE);
    let miss = health.answered(&answer(usage(10, 0, 6_000), 0.0)).unwrap();
    assert_eq!((miss.reason, miss.idle_ms), (MissReason::Unknown, 2.0 * MINUTE));
}

#[test]
fn after_a_restart_the_log_is_compared() {
    let m = model("m");
    let earlier = |model: &str| {
        let mut message = answer(usage(10, 0, 5_000), 0.0);
        model.clone_into(&mut message.model);
        Message::Assistant(Arc::new(message))
    };
    let first = |messages: &[Message], minutes: f64| {
        let mut health = CacheHealth::default();
        health.sent(&request(&m, messages), minutes * MINUTE);
        health.answered(&answer(usage(10, 0, 6_000), 0.0)).map(|miss| miss.reason)
    };
    let start = [system("P", &["read"]), user("a")];
    let with = |more: &[Message]| [&start[..], more].concat();
    assert_eq!(first(&with(&[]), 60.0), None);
    assert_eq!(first(&with(&[earlier("m"), user("b")]), 6.0), Some(MissReason::Expired));
    // The prompt may have been another one, so the reason cannot be told.
    assert_eq!(first(&with(&[earlier("m"), user("b")]), 1.0), None);
    assert_eq!(first(&with(&[earlier("n"), user("b")]), 1.0), Some(MissReason::ModelChanged));
    let changed = with(&[earlier("m"), system("", &["bash"]), user("b")]);
    assert_eq!(first(&changed, 1.0), Some(MissReason::ToolsChanged));
}

/// The marks of a prompt that continues the last one share their memory with it, so nothing is
/// hashed twice.
#[test]
fn a_continued_prompt_hashes_only_new_messages() {
    let m = model("m");
    let mut messages: History<Message> = (0..1_000).map(|n| user(&n.to_string())).collect();
    let mut health = CacheHealth::default();
    let send = |health: &mut CacheHealth, messages: &History<Message>| {
        let context = Context { messages: messages.clone(), ..Context::default() };
        health.sent(&Request::new(Arc::clone(&m), context, StreamOptions::default()), 0.0);
        let marks = health.sent.as_ref().unwrap().marks.clone();
        health.answered(&answer(usage(10, 0, 5_000), 0.0));
        marks
    };
    let before = send(&mut health, &messages);
    messages.push(reply());
    messages.push(user("more"));
    let after = send(&mut health, &messages);
    assert_eq!((before.len(), after.len()), (1_001, 1_003));
    assert_eq!(before.shared_with(&after), 960);
    // The same content at other addresses has the same marks.
    let copied: History<Message> = messages
        .iter()
        .map(|message| serde_json::from_value(serde_json::to_value(message).unwrap()).unwrap())
        .collect();
    let again = send(&mut health, &copied);
    assert!(after.iter().eq(again.iter()));
}
