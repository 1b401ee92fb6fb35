//! The order of tools, `after_tool_call` and events, as observed in pi-agent-core 1.5.0.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{
    AfterToolCall, ExecutionMode, FnTool, Hook, OutputChange, RunSettings, ToolOutput, hook,
};
use pi_ai::faux::Reply;
use pi_protocol::{Effects, Tool};
use serde_json::{Value, json};

use crate::env::{Counter, TestEnv, answer, calls, echo, stuck, user};
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

/// Creates a tool that writes to the file in its argument, and is slower the earlier it is called.
fn slow_writer(order: &Arc<Mutex<Vec<String>>>) -> FnTool {
    let (order, started) = (Arc::clone(order), Counter::default());
    FnTool::new(tool("write"), move |call| {
        let (order, earlier) = (Arc::clone(&order), started.count());
        async move {
            tokio::time::sleep(Duration::from_millis(40 - 10 * earlier as u64)).await;
            order.lock().unwrap().push(call.id);
            Ok(ToolOutput::text("written"))
        }
    })
    .effects(|arguments| {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        Effects::none().write(path, "path")
    })
    .identify_file(|path| async move { PathBuf::from(path.trim_start_matches("./")) })
}

#[tokio::test(start_paused = true)]
async fn calls_on_one_file_keep_their_order_and_others_do_not_wait() {
    let order = Arc::default();
    let reply = [("1", "a"), ("2", "./a"), ("3", "b"), ("4", "a")]
        .into_iter()
        .fold(Reply::new(), |reply, (id, path)| {
            reply.raw_tool_call(id, "write", format!(r#"{{"path":"{path}"}}"#))
        });
    let env = TestEnv::new(vec![slow_writer(&order)], vec![reply, answer()], |_| {});
    env.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["3", "1", "2", "4"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_calls_that_wait_for_their_turn() {
    let writing = |path: &str| Effects::none().write(path, "path");
    let stuck = stuck().effects(move |_| writing("a"));
    let made = calls(&[("1", "stuck"), ("2", "stuck")]);
    let env = TestEnv::new(vec![stuck], vec![made], |_| {});
    let agent = env.agent.clone();
    let (prompted, ()) = tokio::join!(env.agent.prompt_messages(vec![user("u")]), async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        agent.abort();
    });
    prompted.unwrap();
    assert_eq!(
        (env.result("1"), env.result("2")),
        ("Operation aborted".into(), "Operation aborted".into())
    );
}
