//! Verified compaction: the checks of a summary, and their consequences.

use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, EntryBody, Message, StopReason, ToolCall,
    UserBlock,
};
use pi_session::Session;
use pi_session::compaction::{
    CompactionError, CompactionSettings, Expectations, FactSources, Facts, Finding, SECTIONS,
    Summarizer, SummaryStatus, check, text_tokens,
};
use serde_json::{Map, Value, json};

use crate::effects::resolver;

/// A conversation with a goal, constraints, modified files, a failure and a plan.
fn conversation() -> Vec<Message> {
    vec![
        Message::user(
            "Add retry to the HTTP client. You must not change the public API in src/lib.rs.\n\
             Never sleep longer than 30 seconds. Use tabs for indentation.\n\
             What do you think of exponential backoff?",
        ),
        calls(&[("edit", json!({ "path": "src/http/client.rs" }))], "Exponential is right."),
        result("edit", "ok", false),
        calls(&[("write", json!({ "path": "tests/retry.rs" }))], ""),
        result("write", "ok", false),
        calls(&[("bash", json!({ "command": "cargo build" }))], ""),
        result("bash", "error: linker not found", true),
        calls(&[("bash", json!({ "command": "cargo build" }))], ""),
        result("bash", "Finished", false),
        calls(&[("bash", json!({ "command": "cargo test retry" }))], ""),
        result(
            "bash",
            "running 3 tests\nassertion failed: attempts == 3 in retry_gives_up\n",
            true,
        ),
        calls(
            &[],
            "Plan:\n- [x] backoff\n- [ ] honor the Retry-After header\n- [ ] document `RetryPolicy`",
        ),
        Message::user("Now honor Retry-After, then make retry_gives_up pass."),
        calls(&[], "Working on it."),
    ]
}

fn calls(calls: &[(&str, Value)], text: &str) -> Message {
    let mut content = vec![AssistantBlock::text(text)];
    for (name, arguments) in calls {
        content.push(AssistantBlock::ToolCall(ToolCall {
            id: "call".to_owned(),
            name: (*name).to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_else(Map::new),
            ..ToolCall::default()
        }));
    }
    let stop_reason = if calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
    Message::Assistant(AssistantMessage { content, stop_reason, ..Default::default() }.into())
}

fn result(tool: &str, text: &str, is_error: bool) -> Message {
    let call = ToolCall { id: "call".to_owned(), name: tool.to_owned(), ..ToolCall::default() };
    Message::tool_result(&call, vec![UserBlock::text(text)], is_error)
}

const GOOD: &str = "\
## Goal
Add retries to the HTTP client.

## Constraints & Preferences
- The public API in `src/lib.rs` must not change
- Never sleep longer than 30 seconds
- Indentation with tabs

## Progress
### Done
- [x] Exponential backoff in src/http/client.rs
- [x] tests/retry.rs written

### In Progress
- [ ] Honor the `Retry-After` header

### Blocked
- `cargo test retry`: assertion failed: attempts == 3 in retry_gives_up

## Key Decisions
- **Exponential backoff**: the user asked, the agent agreed

## Next Steps
1. Honor Retry-After
2. Make retry_gives_up pass
3. Document `RetryPolicy`

## Critical Context
- (none)
";

fn facts(kept: &[AgentMessage]) -> Facts {
    let replaced: Vec<AgentMessage> = conversation().into_iter().map(Into::into).collect();
    let modified = ["src/http/client.rs".to_owned(), "tests/retry.rs".to_owned()];
    Facts::extract(&FactSources {
        replaced: &replaced,
        kept,
        modified_files: &modified,
        previous_summary: None,
        previous: None,
        effects: &resolver(),
    })
}

fn findings(summary: &str, facts: &Facts) -> Vec<Finding> {
    check(summary, &Expectations { facts, sections: SECTIONS, replaced_tokens: 2000 })
}

#[test]
fn facts_are_extracted_from_the_conversation() {
    let facts = facts(&[]);
    assert_eq!(
        facts.constraints,
        [
            "You must not change the public API in src/lib.rs.",
            "Never sleep longer than 30 seconds.",
            "Use tabs for indentation."
        ]
    );
    assert_eq!(
        facts.instruction.as_deref(),
        Some("Now honor Retry-After, then make retry_gives_up pass.")
    );
    let [error] = facts.errors.as_slice() else { panic!("{:?}", facts.errors) };
    assert_eq!(error.action, "cargo test retry", "the failed build was repeated");
    assert!(error.message.contains("retry_gives_up"), "{error:?}");
    assert_eq!(facts.open_items, ["honor the Retry-After header", "document `RetryPolicy`"]);
}

#[test]
fn kept_messages_settle_errors_and_contain_the_instruction() {
    let kept: Vec<AgentMessage> = vec![
        Message::user("Now run the tests again.").into(),
        calls(&[("bash", json!({ "command": "cargo test retry -- --nocapture" }))], "").into(),
        result("bash", "ok", false).into(),
    ];
    let facts = facts(&kept);
    assert_eq!(facts.errors, []);
    assert_eq!(facts.instruction, None, "the user's last message is kept");
}

#[test]
fn good_summaries_pass() {
    let facts = facts(&[]);
    assert_eq!(findings(GOOD, &facts), []);
    let rephrased = GOOD
        .replace(
            "- The public API in `src/lib.rs` must not change",
            "* Don't touch src/lib.rs: its public API may not change",
        )
        .replace(
            "- Never sleep longer than 30 seconds",
            "* Sleeping longer than 30 seconds is never ok",
        )
        .replace("- Indentation with tabs", "* Tabs for indentation")
        .replace("src/http/client.rs", "`client.rs`")
        .replace("## Constraints & Preferences", "## Constraints and Preferences")
        .replace(
            "- `cargo test retry`: assertion failed: attempts == 3 in retry_gives_up",
            "- `cargo test retry` failed",
        );
    assert_eq!(findings(&rephrased, &facts), []);
}

#[test]
fn omissions_and_wrong_shapes_are_found() {
    let facts = facts(&[]);
    let long = format!("{GOOD}\n- {}", "word ".repeat(2500));
    let cases: Vec<(&str, String, fn(&Finding) -> bool)> = vec![
        ("empty", "  \n".to_owned(), |f| matches!(f, Finding::Empty)),
        (
            "dropped file",
            GOOD.replace("tests/retry.rs written", "tests written"),
            |f| matches!(f, Finding::MissingFile { path } if path == "tests/retry.rs"),
        ),
        (
            "a file of a similar name",
            GOOD.replace("tests/retry.rs", "tests/no_retry.rs"),
            |f| matches!(f, Finding::MissingFile { path } if path == "tests/retry.rs"),
        ),
        (
            "dropped constraint",
            GOOD.replace("- Never sleep longer than 30 seconds\n", ""),
            |f| matches!(f, Finding::MissingConstraint { text } if text.contains("30 seconds")),
        ),
        (
            "another number",
            GOOD.replace("30 seconds", "60 seconds"),
            |f| matches!(f, Finding::MissingConstraint { text } if text.contains("30 seconds")),
        ),
        (
            "dropped instruction",
            GOOD.replace("Retry-After", "it").replace("retry_gives_up", "the test"),
            |f| matches!(f, Finding::MissingInstruction { .. }),
        ),
        (
            "dropped error",
            GOOD.replace(
                "- `cargo test retry`: assertion failed: attempts == 3 in retry_gives_up",
                "- (none)",
            ),
            |f| matches!(f, Finding::MissingError { .. }),
        ),
        (
            "dropped step",
            GOOD.replace("3. Document `RetryPolicy`\n", ""),
            |f| matches!(f, Finding::MissingStep { text } if text.contains("RetryPolicy")),
        ),
        (
            "missing section",
            GOOD.replace("## Key Decisions", "Decisions:"),
            |f| matches!(f, Finding::MissingSections { sections } if sections == &["Key Decisions"]),
        ),
        (
            "cut off",
            GOOD[..GOOD.find("Next Steps").unwrap() - 3].to_owned() + "## Next Steps",
            |f| matches!(f, Finding::Truncated { .. }),
        ),
        ("cut in code", format!("{GOOD}\n```rust\nfn main() {{"), |f| {
            matches!(f, Finding::Truncated { .. })
        }),
        ("cut in a sentence", format!("{GOOD}- The client was,"), |f| {
            matches!(f, Finding::Truncated { .. })
        }),
        ("tool call", "<tool_call>\n{\"name\":\"read\"}\n</tool_call>".to_owned(), |f| {
            matches!(f, Finding::ToolCall)
        }),
        ("JSON", "{\"name\":\"read\",\"arguments\":{}}".to_owned(), |f| {
            matches!(f, Finding::ToolCall)
        }),
        ("longer than the input", long, |f| matches!(f, Finding::TooLong { .. })),
        ("an answer instead", "Sure! I will honor Retry-After now.".to_owned(), |f| {
            matches!(f, Finding::MissingSections { .. }) && f.is_fatal()
        }),
    ];
    for (name, summary, expected) in cases {
        let found = findings(&summary, &facts);
        assert!(found.iter().any(expected), "{name}: {found:?}");
    }
}

/// Returns a session with the conversation above, long enough to be compacted.
fn session() -> Session {
    let mut session = Session::in_memory("/proj");
    session.append_message(Message::system("be good")).unwrap();
    for message in conversation() {
        session.append_message(message).unwrap();
    }
    session.append_message(calls(&[], &"padding ".repeat(1500))).unwrap();
    session.append_message(Message::user("And then?")).unwrap();
    session.append_message(calls(&[], "Then nothing.")).unwrap();
    session
}

fn settings() -> CompactionSettings {
    CompactionSettings { keep_recent_tokens: 5, ..CompactionSettings::default() }
}

fn summarizer(model: &Faux) -> Summarizer<'_> {
    Summarizer::new(model, Arc::new(Faux::model())).effects(resolver())
}

const LOSSY: &str = "## Goal\nRetry.\n## Constraints & Preferences\n(none)\n## Progress\n### Done\n- [x] backoff\n### In Progress\n(none)\n### Blocked\n(none)\n## Key Decisions\n(none)\n## Next Steps\n1. go on\n## Critical Context\n(none)";

#[tokio::test]
async fn every_draft_leads_to_a_summary_with_all_facts() {
    let tool_call = || Reply::new().tool_call("read", &json!({ "path": "x" }));
    let cut = || Reply::new().text("## Goal").stop_reason(StopReason::Length);
    let text = |text: &str| Reply::new().text(text);
    let cases = [
        ("good", vec![text(GOOD)], SummaryStatus::Passed, 1),
        ("repaired", vec![text(LOSSY), text(GOOD)], SummaryStatus::Repaired, 2),
        ("lossy twice", vec![text(LOSSY), text(LOSSY)], SummaryStatus::Restored, 2),
        ("the first is better", vec![text(LOSSY), tool_call()], SummaryStatus::Restored, 2),
        (
            "no repair to be had",
            vec![text(LOSSY), Reply::new().fail("overloaded")],
            SummaryStatus::Restored,
            2,
        ),
        ("tool call, then good", vec![tool_call(), text(GOOD)], SummaryStatus::Repaired, 2),
        ("cut off twice", vec![cut(), cut()], SummaryStatus::Mechanical, 2),
        ("tool calls only", vec![tool_call(), tool_call()], SummaryStatus::Mechanical, 2),
        ("chatter", vec![text("Sure!"), text("Done.")], SummaryStatus::Mechanical, 2),
    ];
    for (name, replies, status, attempts) in cases {
        let model = Faux::new();
        for reply in replies {
            model.push(reply);
        }
        let mut session = session();
        let before = session.context().unwrap().messages;
        let made = session.compact(&summarizer(&model), &settings(), None).await.unwrap();
        let verdict = &made.verification;
        assert_eq!((verdict.status, verdict.attempts), (status, attempts), "{name}");
        assert_eq!(verdict.findings.is_empty(), status == SummaryStatus::Passed, "{name}");
        assert!((made.tokens_after as f64) < made.compaction.tokens_before, "{name}");
        assert_eq!(model.pending(), 0, "{name}");
        // No extracted fact is lost.
        for known in
            ["public API", "30 seconds", "tabs", "client.rs", "tests/retry.rs", "RetryPolicy"]
        {
            assert!(
                made.compaction.summary.contains(known),
                "{name}: {known}\n{}",
                made.compaction.summary
            );
        }
        let EntryBody::Compaction(stored) = session.entry(session.leaf_id().unwrap()).unwrap().body
        else {
            panic!()
        };
        let details = stored.details.unwrap();
        assert_eq!(details["modifiedFiles"], json!(["src/http/client.rs", "tests/retry.rs"]));
        assert_eq!(details["verification"]["attempts"], json!(attempts));
        assert!(session.context().unwrap().messages.len() < before.len(), "{name}");
    }
}

#[tokio::test]
async fn the_repair_request_names_what_is_missing() {
    let model = Faux::new();
    model.push(Reply::new().text(LOSSY));
    model.push(Reply::new().text(GOOD));
    session().compact(&summarizer(&model), &settings(), Some("the API")).await.unwrap();
    let requests = model.requests();
    let Some(Message::User(user)) = requests[1].context.messages.last() else { panic!() };
    let question = pi_session::text_of(&user.content);
    for part in [
        "<conversation>",
        LOSSY,
        "Never sleep longer than 30 seconds.",
        "tests/retry.rs",
        "retry_gives_up",
        "document `RetryPolicy`",
        "Additional focus: the API",
    ] {
        assert!(question.contains(part), "{part}\n{question}");
    }
}

#[tokio::test]
async fn a_history_longer_than_the_window_is_summarized_in_parts() {
    let model = Faux::responding(|_| Reply::new().text(GOOD));
    let mut session = Session::in_memory("/proj");
    for message in conversation() {
        session.append_message(message).unwrap();
    }
    for round in 0..20 {
        session.append_message(Message::user(format!("Round {round}."))).unwrap();
        session.append_message(calls(&[], &"many words ".repeat(1000))).unwrap();
    }
    let mut small = summarizer(&model);
    small.model = Arc::new(pi_protocol::Model { context_window: 20_000, ..Faux::model() });
    let made = session.compact(&small, &settings(), None).await.unwrap();
    assert!(made.compaction.tokens_before > 40_000.0);
    let requests = model.requests();
    assert!(requests.len() > 3, "{}", requests.len());
    let mut rounds = 0;
    for request in requests {
        let Some(Message::User(user)) = request.context.messages.last() else { panic!() };
        let question = pi_session::text_of(&user.content);
        assert!(text_tokens(&question) < 20_000 - 6_000, "{}", text_tokens(&question));
        rounds += question.matches("[User]: Round").count();
    }
    assert!(rounds >= 19, "every part was shown: {rounds}");
}

#[tokio::test]
async fn a_constraint_survives_several_compactions() {
    let mut session = session();
    for round in 0..4 {
        let model = Faux::responding(|_| Reply::new().text(LOSSY));
        let made = session.compact(&summarizer(&model), &settings(), None).await.unwrap();
        assert!(
            made.compaction.summary.contains("Never sleep longer than 30 seconds."),
            "round {round}"
        );
        for _ in 0..3 {
            session.append_message(Message::user("Go on.")).unwrap();
            session.append_message(calls(&[], &"more work ".repeat(400))).unwrap();
        }
    }
}

#[tokio::test]
async fn a_failed_compaction_changes_nothing() {
    let fail = |reply: Reply| async move {
        let model = Faux::new();
        model.push(reply);
        let mut session = session();
        let before = session.len();
        let error = session.compact(&summarizer(&model), &settings(), None).await.unwrap_err();
        assert_eq!(session.len(), before);
        error.to_string()
    };
    assert_eq!(fail(Reply::new().fail("no credit")).await, "Summarization failed: no credit");
    assert_eq!(fail(Reply::new().aborted()).await, "Summarization was aborted");

    let model = Faux::responding(|_| Reply::new().text("no summary"));
    let mut small = Session::in_memory("/proj");
    let nothing = small.compact(&summarizer(&model), &settings(), None).await.unwrap_err();
    assert!(matches!(nothing, CompactionError::NothingToCompact), "{nothing}");
    for text in ["one", "two", "three"] {
        small.append_message(Message::user(text)).unwrap();
        small.append_message(calls(&[], text)).unwrap();
    }
    let error = small.compact(&summarizer(&model), &settings(), None).await.unwrap_err();
    assert!(matches!(error, CompactionError::DoesNotShrink { .. }), "{error}");
    assert!(error.to_string().contains("too little to compact"), "{error}");
    assert_eq!(model.requests().len(), 3, "history, split turn, one repair, and no more");
}
