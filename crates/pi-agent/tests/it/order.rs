//! The order of tools, `after_tool_call` and events, as observed in pi-agent-core 1.5.0.

use std::time::Duration;

use pi_agent::{
    AfterToolCall, ExecutionMode, FnTool, Hook, OutputChange, RunSettings, ToolOutput, hook,
};
use pi_protocol::Tool;
use serde_json::json;

use crate::env::{TestEnv, answer, calls, echo, user};
use crate::notation::Log;

fn tool(name: &str) -> Tool {
    Tool::new(name, "", json!({"type": "object"}))
}

/// Creates a hook that records its call and takes some time.
fn recording_hook(log: &Log) -> Option<Hook<AfterToolCall, OutputChange>> {
    let log = log.clone();
    hook(move |call: AfterToolCall| {
        log.note(&format!("after({})", call.tool_call.id));
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(OutputChange::default())
        }
    })
}

/// Runs a turn with these calls, and an answer. Returns the part of the log with the calls.
async fn run(
    tools: Vec<FnTool>,
    made: &[(&str, &str)],
    tweak: impl FnOnce(&mut RunSettings),
) -> String {
    let env = TestEnv::new(tools, vec![calls(made), answer()], tweak);
    let hooked = env.log.clone();
    env.agent.configure(|settings| settings.hooks.after_tool_call = recording_hook(&hooked));
    env.agent.prompt_messages(vec![user("u")]).await.unwrap();
    let line = env.log.line();
    let from = line.find("XS").unwrap();
    let to = line.find(" TE(").unwrap();
    line[from..to].to_owned()
}

#[tokio::test(start_paused = true)]
async fn progress_is_emitted_before_after_tool_call() {
    let reporting = || {
        FnTool::new(tool("reporting"), |call| async move {
            call.updates.send(ToolOutput::text("one"));
            tokio::time::sleep(Duration::from_millis(5)).await;
            call.updates.send(ToolOutput::text("two"));
            Ok(ToolOutput::text("three"))
        })
    };
    let expected = "XS(1) XU(1) XU(1) after(1) XE(1,ok) M(t:1)";
    for mode in [ExecutionMode::Sequential, ExecutionMode::Parallel] {
        let line = run(vec![reporting()], &[("1", "reporting")], |s| s.tool_execution = mode).await;
        assert_eq!(line, expected, "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_after_the_result_is_not_emitted() {
    let late = || {
        FnTool::new(tool("late"), |call| async move {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                call.updates.send(ToolOutput::text("too late"));
            });
            Ok(ToolOutput::text("done"))
        })
    };
    for mode in [ExecutionMode::Sequential, ExecutionMode::Parallel] {
        let line = run(vec![late()], &[("1", "late")], |s| s.tool_execution = mode).await;
        assert_eq!(line, "XS(1) after(1) XE(1,ok) M(t:1)", "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_calls_begin_before_after_tool_call() {
    let env =
        TestEnv::new(vec![echo()], vec![calls(&[("1", "echo"), ("2", "echo")]), answer()], |_| {});
    let agent = env.agent.clone();
    env.agent.configure(|settings| {
        settings.hooks.after_tool_call = hook(move |call: AfterToolCall| {
            if call.tool_call.id == "1" {
                agent.abort();
            }
            async { Ok(OutputChange::default()) }
        });
    });
    env.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert_eq!(env.result("2"), "echoed");
}
