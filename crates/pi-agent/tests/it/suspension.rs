//! Calls that wait for a decision: the run ends without a result for them and is resumed later.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pi_agent::{AgentMessage, ExecutionMode, FnTool, Outcome, ToolOutput, unanswered_calls};
use pi_protocol::{Effects, Message};
use serde_json::json;

use crate::env::{Counter, TestEnv, answer, calls, echo, named, user};

/// Creates a tool that waits until `decided` is set, and counts its executions.
fn gated(name: &str, decided: &Arc<AtomicBool>, executed: &Counter) -> FnTool {
    let (decided, executed) = (Arc::clone(decided), executed.clone());
    named(name, move |_| {
        if decided.load(Ordering::SeqCst) {
            executed.count();
            ToolOutput::text("decided")
        } else {
            ToolOutput::suspended("Waits for approval.")
        }
    })
}

fn waiting(env: &TestEnv) -> Vec<String> {
    let unanswered = unanswered_calls(&env.agent.messages());
    unanswered.into_iter().flat_map(|found| found.calls).map(|call| call.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_suspended_call_ends_the_run_and_is_executed_once_when_resumed() {
    let cases = [
        (ExecutionMode::Parallel, vec!["2"], 1),
        // In sequence, the calls behind the suspended one wait, too.
        (ExecutionMode::Sequential, vec!["2", "3"], 1),
    ];
    for (mode, expected, executions) in cases {
        let (decided, executed) = (Arc::default(), Counter::default());
        let echoed = Counter::default();
        let counted = echoed.clone();
        let echo = named("echo", move |_| {
            counted.count();
            ToolOutput::text("echoed")
        });
        let replies = vec![calls(&[("1", "echo"), ("2", "gate"), ("3", "echo")]), answer()];
        let env = TestEnv::new(vec![echo, gated("gate", &decided, &executed)], replies, |s| {
            s.tool_execution = mode;
        });
        let outcome = env.agent.prompt_messages(vec![user("u")]).await.unwrap();
        assert_eq!(outcome, Outcome::Suspended);
        assert_eq!(waiting(&env), expected, "{mode:?}");
        assert_eq!(env.result("2"), "no result");
        assert_eq!(env.result("1"), "echoed");

        // Without a decision, the run is suspended again, and no call is repeated.
        assert_eq!(env.agent.resume_run().await.unwrap(), Outcome::Suspended);
        assert_eq!(waiting(&env), expected, "{mode:?}");

        decided.store(true, Ordering::SeqCst);
        assert_eq!(env.agent.resume_run().await.unwrap(), Outcome::Completed);
        assert_eq!(waiting(&env), [""; 0]);
        assert_eq!((executed.get(), echoed.get()), (executions, 2), "{mode:?}");
        assert_eq!(env.faux.requests().len(), 2, "one request per answer");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_on_the_file_of_a_suspended_call_waits_behind_it() {
    let (decided, executed) = (Arc::default(), Counter::default());
    let writes = |tool: FnTool| {
        tool.effects(|_| Effects::none().write("a", "path"))
            .identify_file(|path| async move { PathBuf::from(path) })
    };
    let tools = vec![
        writes(gated("gate", &decided, &executed)),
        writes(echo()),
        named("other", |_| ToolOutput::text("other")),
    ];
    let replies = vec![calls(&[("1", "gate"), ("2", "echo"), ("3", "other")]), answer()];
    let env = TestEnv::new(tools, replies, |_| {});
    assert_eq!(env.agent.prompt_messages(vec![user("u")]).await.unwrap(), Outcome::Suspended);
    assert_eq!(waiting(&env), ["1", "2"]);
    decided.store(true, Ordering::SeqCst);
    assert_eq!(env.agent.resume_run().await.unwrap(), Outcome::Completed);
    assert_eq!(env.result("2"), "echoed");
}

#[tokio::test(start_paused = true)]
async fn a_suspended_call_has_events_but_no_message_and_no_hook() {
    let (decided, executed) = (Arc::default(), Counter::default());
    let env = TestEnv::new(
        vec![gated("gate", &decided, &executed)],
        vec![calls(&[("1", "gate")])],
        |s| {
            s.hooks.after_tool_call = pi_agent::hook(|_: pi_agent::AfterToolCall| async {
                Err(pi_agent::HookError::new("called for a call that was not executed"))
            });
        },
    );
    env.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert_eq!(env.log.line(), "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) TE(0) AE(2)");
}

#[test]
fn unanswered_calls_are_those_of_the_last_answer() {
    let result = |id: &str| -> AgentMessage {
        serde_json::from_value(json!({
            "role": "toolResult", "toolCallId": id, "toolName": "t", "content": [],
            "isError": false, "timestamp": 0,
        }))
        .unwrap()
    };
    let answer = |stop: &str, ids: &[&str]| -> AgentMessage {
        let content: Vec<_> = ids
            .iter()
            .map(|id| json!({"type": "toolCall", "id": id, "name": "t", "arguments": {}}))
            .collect();
        serde_json::from_value(json!({
            "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
            "stopReason": stop, "timestamp": 0,
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        }))
        .unwrap()
    };
    let user = || AgentMessage::from(Message::user("u"));
    let cases: [(Vec<AgentMessage>, &[&str]); 7] = [
        (vec![], &[]),
        (vec![user(), answer("toolUse", &["1", "2"]), result("1")], &["2"]),
        (vec![user(), answer("toolUse", &["1", "1"]), result("1")], &["1"]),
        (vec![user(), answer("toolUse", &["1"]), result("1")], &[]),
        (vec![answer("toolUse", &["1"]), user()], &[]),
        (vec![answer("toolUse", &["1"]), answer("stop", &[])], &[]),
        (vec![answer("aborted", &["1"])], &[]),
    ];
    for (messages, expected) in cases {
        let shown = format!("{messages:?}");
        let found = unanswered_calls(&messages.into_iter().collect());
        let ids: Vec<String> =
            found.into_iter().flat_map(|found| found.calls).map(|call| call.id).collect();
        assert_eq!(ids, expected, "{shown}");
    }
}
