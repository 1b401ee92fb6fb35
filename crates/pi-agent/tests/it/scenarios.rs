//! The scenarios of the specification, by number, in its notation.
//!
//! Number 3 (updates before `start`) is impossible: our streams begin with `start`.

mod calls;
mod context;
mod failures;
mod hooks;
mod queues;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{
    Agent, AgentError, AgentEvent, AgentMessage, ExecutionMode, FnTool, HookError, NextTurn,
    OutputChange, Permission, QueueMode, RunChange, RunError, RunSettings, ToolError, ToolOutput,
    TurnDecision, hook,
};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, Message, Model, Provider, Request, StopReason,
    ThinkingLevel, Tool, UserBlock,
};
use serde_json::{Map, json};

use crate::env::{Counter, TestEnv, after, answer, calls, echo, failing, named, shared, user};
use crate::notation::{Log, show};

const ANSWER: &str = "AS TS M(u) MS(a) ME(a) TE(0) AE(2)";
const ONE_CALL: &str =
    "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS MS(a) ME(a) TE(0) AE(4)";

fn env(tools: Vec<FnTool>, replies: Vec<Reply>) -> TestEnv {
    TestEnv::new(tools, replies, |_| {})
}

fn terminating() -> FnTool {
    named("end", |_| ToolOutput::text("bye").terminating())
}

/// Checks a table of runs and lists every one that differs.
fn check(rows: &[(u32, &str, String)]) {
    for (number, _, line) in rows {
        println!("{number}: {line}");
    }
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(_, expected, actual)| expected != actual)
        .map(|(number, expected, actual)| {
            format!("{number}\n  expected {expected}\n  got      {actual}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} differ\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Returns the part of a line from the first execution to the end of the turn.
fn batch(line: &str) -> String {
    let from = line.find("XS").unwrap_or(0);
    let to = line[from..].find("TE(").map_or(line.len(), |at| from + at + 5);
    line[from..to].to_owned()
}

fn blocking(permission: Permission) -> impl FnOnce(&mut RunSettings) {
    move |settings| {
        settings.hooks.before_tool_call = hook(move |_| {
            let permission = permission.clone();
            async move { Ok(permission) }
        });
    }
}

/// Calls `act` at the first event that begins with `event`.
fn on_first<R>(
    env: &TestEnv,
    event: &'static str,
    act: impl Fn(&Agent) -> R + Send + Sync + 'static,
) {
    let agent = env.agent.clone();
    let done = Counter::default();
    env.agent
        .subscribe(move |received, _| {
            if show(received).starts_with(event) && done.count() == 0 {
                act(&agent);
            }
        })
        .forever();
}

fn deciding(decisions: &'static [TurnDecision]) -> impl FnOnce(&mut RunSettings) {
    move |settings| {
        let turn = Counter::default();
        settings.hooks.finish_turn = hook(move |_| {
            let decision = decisions.get(turn.count()).copied().unwrap_or_default();
            async move { Ok(decision) }
        });
    }
}

fn assistant(text: &str) -> AgentMessage {
    let content = vec![pi_protocol::AssistantBlock::text(text)];
    let message = AssistantMessage {
        content,
        stop_reason: StopReason::Stop,
        ..AssistantMessage::pending(&Faux::model())
    };
    Message::Assistant(Arc::new(message)).into()
}

fn tool_result(id: &str) -> AgentMessage {
    let call = pi_protocol::ToolCall {
        id: id.to_owned(),
        name: "echo".to_owned(),
        ..pi_protocol::ToolCall::default()
    };
    Message::tool_result(&call, vec![UserBlock::text("r")], false).into()
}
