//! What tools and `after_tool_call` do, in its place among the events. The orders are those of
//! pi-agent-core 1.5.0, as observed.

use std::time::Duration;

use pi_agent::{
    AfterToolCall, ExecutionMode, FnTool, Hook, OutputChange, RunSettings, ToolOutput, hook,
};
use pi_protocol::Tool;
use serde_json::json;

use crate::notation::Log;
use crate::stage::{Stage, answer, calls, echo, user};

fn tool(name: &str) -> Tool {
    Tool::new(name, "", json!({"type": "object"}))
}

/// Notes that it is asked, and takes its time.
fn noting(log: &Log) -> Option<Hook<AfterToolCall, OutputChange>> {
    let log = log.clone();
    hook(move |asked: AfterToolCall| {
        log.note(&format!("after({})", asked.tool_call.id));
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(OutputChange::default())
        }
    })
}

/// One turn with these calls, and the answer.
async fn run(
    tools: Vec<FnTool>,
    made: &[(&str, &str)],
    tweak: impl FnOnce(&mut RunSettings),
) -> String {
    let stage = Stage::new(tools, vec![calls(made), answer()], tweak);
    let hooked = stage.log.clone();
    stage.agent.configure(|settings| settings.hooks.after_tool_call = noting(&hooked));
    stage.agent.prompt_messages(vec![user("u")]).await.unwrap();
    let line = stage.log.line();
    let from = line.find("XS").unwrap();
    let to = line.find(" TE(").unwrap();
    line[from..to].to_owned()
}

#[tokio::test(start_paused = true)]
async fn reports_are_told_before_the_result_is_looked_at() {
    let chatty = || {
        FnTool::new(tool("chatty"), |call| async move {
            call.updates.send(ToolOutput::text("one"));
            tokio::time::sleep(Duration::from_millis(5)).await;
            call.updates.send(ToolOutput::text("two"));
            Ok(ToolOutput::text("three"))
        })
    };
    let expected = "XS(1) XU(1) XU(1) after(1) XE(1,ok) M(t:1)";
    for mode in [ExecutionMode::Sequential, ExecutionMode::Parallel] {
        let line = run(vec![chatty()], &[("1", "chatty")], |s| s.tool_execution = mode).await;
        assert_eq!(line, expected, "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_after_the_result_is_not_told() {
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
async fn all_calls_begin_before_a_result_is_looked_at() {
    let stage =
        Stage::new(vec![echo()], vec![calls(&[("1", "echo"), ("2", "echo")]), answer()], |_| {});
    let agent = stage.agent.clone();
    stage.agent.configure(|settings| {
        settings.hooks.after_tool_call = hook(move |asked: AfterToolCall| {
            if asked.tool_call.id == "1" {
                agent.abort();
            }
            async { Ok(OutputChange::default()) }
        });
    });
    stage.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert_eq!(stage.result("2"), "echoed");
}
