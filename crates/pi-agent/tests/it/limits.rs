//! Limits, repetition, steering between tools, aborts, and large runs.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::{
    Agent, AgentMessage, CallContext, ContextView, ExecutionMode, FnTool, Hooks, Limit, Limits,
    Outcome, Repetition, RepetitionLimits, RunSettings, SteeringDelivery, ToolError, ToolOutput,
    Updates, run_tool_call,
};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{AssistantMessage, CancelToken, Message, Tool, ToolCall, Usage};
use serde_json::json;

use crate::env::{Counter, TestEnv, after, answer, calls, echo, named, shared, stuck, user};
use crate::notation::show;

/// Creates an agent whose model calls `tool` in every turn.
fn endless(tool: &'static str, limits: Limits) -> (Agent, Faux) {
    let turn = Counter::default();
    let faux = Faux::responding(move |_| {
        let number = turn.count();
        let usage = Usage { input: 60, output: 40, total_tokens: 100, ..Usage::default() };
        let mut usage = usage;
        usage.cost.total = 0.5;
        Reply::new()
            .raw_tool_call(
                format!("c{number}"),
                tool,
                json!({"value": number.to_string()}).to_string(),
            )
            .usage(usage)
    });
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    let counted = Counter::default();
    let news = named("news", move |_| ToolOutput::text(counted.count().to_string()));
    settings.tools = shared(vec![echo(), news, after("slow", 1000), stuck()]);
    settings.limits = limits;
    (Agent::new(Arc::new(faux.clone()), settings), faux)
}

#[tokio::test(start_paused = true)]
async fn every_limit_ends_the_run_with_its_name() {
    let none = Limits::default;
    let second = Duration::from_secs(1);
    let cases = [
        (none().turns(3), "echo", Limit::Turns, 3),
        (none().tool_calls(2), "echo", Limit::ToolCalls, 3),
        (none().tokens(450), "echo", Limit::Tokens, 5),
        (none().cost(2.0), "echo", Limit::Cost, 4),
        (none().wall_time(5 * second / 2), "slow", Limit::WallTime, 3),
        (none().wall_time(second), "stuck", Limit::WallTime, 1),
        (none().idle_time(second / 2), "slow", Limit::IdleTime, 1),
        (none().idle_time(second / 2), "stuck", Limit::IdleTime, 1),
        (none().output_bytes(100), "echo", Limit::OutputBytes, 6),
        (none().calls_of("echo", 2).calls_of("news", 1), "echo", Limit::CallsPerTool, 3),
    ];
    for (limits, tool, limit, requests) in cases {
        let (agent, faux) = endless(tool, limits);
        assert_eq!(agent.prompt("go").await, Ok(Outcome::Limit { limit }), "{limit:?} with {tool}");
        assert_eq!(faux.requests().len(), requests, "{limit:?} with {tool}");
        assert!(!agent.is_running());
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_completes_at_its_limit_is_complete() {
    let env = TestEnv::new(vec![echo()], vec![calls(&[("1", "echo")]), answer()], |settings| {
        settings.limits = Limits::default().turns(2).tool_calls(1);
    });
    env.agent.follow_up(Message::user("f"));
    assert_eq!(env.agent.prompt("go").await, Ok(Outcome::Completed));
    assert!(env.agent.has_queued(), "the follow-up stays queued");
}

#[tokio::test(start_paused = true)]
async fn repetition_ends_the_run() {
    let run = |calls: &'static [(&'static str, &'static str)], limits: RepetitionLimits| async move {
        let turn = Counter::default();
        let faux = Faux::responding(move |_| {
            let number = turn.count();
            let (tool, value) = calls[number % calls.len()];
            Reply::new().raw_tool_call(
                format!("c{number}"),
                tool,
                json!({"value": value}).to_string(),
            )
        });
        let mut settings = RunSettings::new(Arc::new(Faux::model()));
        let counted = Counter::default();
        let news = named("news", move |_| ToolOutput::text(counted.count().to_string()));
        settings.tools = shared(vec![echo(), news]);
        settings.repetition = limits;
        settings.limits.turns = Some(30);
        let agent = Agent::new(Arc::new(faux.clone()), settings);
        (agent.prompt("go").await.unwrap(), faux.requests().len())
    };
    let none = RepetitionLimits::default;
    let ended = |repetition| Outcome::Repetition { repetition };
    let same = &[("echo", "a")];
    let alternating = &[("echo", "a"), ("echo", "b")];
    let varied = &[("echo", "a"), ("echo", "b"), ("echo", "c"), ("echo", "d"), ("echo", "e")];
    assert_eq!(run(same, none().identical_calls(3)).await, (ended(Repetition::IdenticalCalls), 3));
    assert_eq!(
        run(alternating, none().alternating_calls(6)).await,
        (ended(Repetition::AlternatingCalls), 6)
    );
    assert_eq!(run(varied, none().turns_without_news(4)).await, (ended(Repetition::NoNews), 5));
    let limit = (Outcome::Limit { limit: Limit::Turns }, 30);
    assert_eq!(run(&[("news", "a")], none().identical_calls(3)).await, limit, "news is progress");
    let harmless = none().identical_calls(3).alternating_calls(6);
    assert_eq!(run(varied, harmless).await, (Outcome::Limit { limit: Limit::Turns }, 30));
    assert_eq!(run(same, none()).await.1, 30, "off by default");
}

#[tokio::test(start_paused = true)]
async fn steering_after_a_tool_skips_the_remaining_calls() {
    for mode in [ExecutionMode::Sequential, ExecutionMode::Parallel] {
        let two = vec![calls(&[("1", "echo"), ("2", "echo")]), answer()];
        let env = TestEnv::new(vec![echo()], two, |settings| {
            settings.steering_delivery = SteeringDelivery::AfterTool;
            settings.tool_execution = mode;
        });
        let agent = env.agent.clone();
        let first = Counter::default();
        env.agent
            .subscribe(move |event, _| {
                // The first call has been admitted at this point.
                let moment = if mode == ExecutionMode::Sequential { "XE(1" } else { "XS(2" };
                if show(event).starts_with(moment) && first.count() == 0 {
                    agent.steer(Message::user("s1"));
                }
            })
            .forever();
        env.agent.prompt_messages(vec![user("u")]).await.unwrap();
        assert_eq!(env.result("1"), "echoed", "{mode:?}");
        assert!(
            env.result("2").starts_with("Skipped: the user sent a new message"),
            "{mode:?}: {}",
            env.result("2")
        );
        let line = env.log.line();
        assert!(line.ends_with("TE(2) TS M(s1) MS(a) ME(a) TE(0) AE(6)"), "{line}");
    }
}

#[tokio::test]
async fn abort_ends_models_tools_and_hooks() {
    let endless_hook = pi_agent::hook(|_| std::future::pending());
    for what in ["model", "tool", "hook"] {
        let replies = match what {
            "model" => vec![Reply::new().text("so far").hang()],
            _ => vec![calls(&[("1", "stuck")]), answer()],
        };
        let hook = if what == "hook" { endless_hook.clone() } else { None };
        let env =
            TestEnv::new(vec![stuck()], replies, |settings| settings.hooks.before_tool_call = hook);
        let agent = env.agent.clone();
        let waits_for = if what == "model" { "MU" } else { "XS" };
        let run = tokio::spawn(async move { agent.prompt("go").await });
        while !env.log.entries().iter().any(|entry| entry.starts_with(waits_for)) {
            tokio::task::yield_now().await;
        }
        env.agent.abort();
        // None of the three ends without the abort. `cargo xtask bench` measures the time.
        let ended = tokio::time::timeout(Duration::from_secs(10), run).await;
        assert_eq!(ended.unwrap().unwrap(), Ok(Outcome::Aborted), "{what}");
    }
}

#[tokio::test]
async fn the_last_report_of_an_aborted_tool_is_its_result() {
    let tool = FnTool::new(
        Tool::new("slow", "Reports progress and never returns.", json!({"type": "object"})),
        |call| async move {
            call.updates.send(ToolOutput::text("begun"));
            call.cancel.cancelled().await;
            call.updates.send(ToolOutput::text("half way"));
            std::future::pending::<Result<ToolOutput, ToolError>>().await
        },
    );
    let env = TestEnv::new(vec![tool], vec![calls(&[("1", "slow")])], |_| {});
    let agent = env.agent.clone();
    let run = tokio::spawn(async move { agent.prompt("go").await });
    while !env.log.entries().iter().any(|entry| entry.starts_with("XU")) {
        tokio::task::yield_now().await;
    }
    env.agent.abort();
    assert_eq!(run.await.unwrap(), Ok(Outcome::Aborted));
    let updates = env.log.entries().iter().filter(|entry| entry.starts_with("XU")).count();
    assert_eq!(updates, 1, "progress after an abort is not emitted");
    let result = env.agent.messages().iter().find_map(|message| match message {
        AgentMessage::Llm(Message::ToolResult(result)) => Some(Arc::clone(result)),
        _ => None,
    });
    let result = result.unwrap();
    assert!(result.is_error);
    assert_eq!(result.content[0].as_text(), Some("half way"));
}

#[tokio::test]
async fn dropping_the_prompt_ends_the_run() {
    let env = TestEnv::new(vec![], vec![Reply::new().hang(), answer()], |_| {});
    let prompt = env.agent.prompt("go");
    assert!(tokio::time::timeout(Duration::from_millis(20), prompt).await.is_err());
    assert!(!env.agent.is_running());
    assert_eq!(env.agent.prompt("again").await, Ok(Outcome::Completed));
}

#[tokio::test]
async fn a_thousand_calls_in_one_turn_keep_their_order() {
    let ids: Vec<String> = (0..1000).map(|number| format!("c{number}")).collect();
    let pairs: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "echo")).collect();
    let env = TestEnv::new(vec![echo()], vec![calls(&pairs), answer()], |_| {});
    env.agent.prompt("go").await.unwrap();
    let messages = env.agent.messages();
    assert_eq!(messages.len(), 1 + 1 + 1 + 1000 + 1);
    let order: Vec<String> =
        env.log.entries().into_iter().filter(|e| e.starts_with("ME(t:")).collect();
    let expected: Vec<String> = ids.iter().map(|id| format!("ME(t:{id})")).collect();
    assert_eq!(order, expected, "results come in the order of the calls");
}

#[tokio::test]
async fn a_run_can_have_ten_thousand_turns() {
    let (agent, _faux) = endless("news", Limits::default().turns(10_000));
    assert_eq!(agent.prompt("go").await, Ok(Outcome::Limit { limit: Limit::Turns }));
    assert_eq!(agent.messages().len(), 2 + 2 * 10_000);
}

#[tokio::test]
async fn run_tool_call_executes_a_call_without_a_run() {
    let context = CallContext::new(
        shared(vec![echo()]),
        Arc::new(AssistantMessage::default()),
        ContextView::new(pi_protocol::History::new(), CancelToken::new()),
        Hooks::default(),
    );
    let call = |name: &str| ToolCall { id: "n".into(), name: name.into(), ..ToolCall::default() };
    let ignore = || Updates::new(|_| {});
    let valid = run_tool_call(&call("echo"), &context, ignore()).await;
    assert_eq!((valid.is_error, valid.duration_ms.is_some()), (false, true));
    let unknown = run_tool_call(&call("nope"), &context, ignore()).await;
    assert_eq!((unknown.is_error, unknown.duration_ms), (true, None));
}

#[tokio::test(start_paused = true)]
async fn a_message_taken_but_not_delivered_returns_to_the_queue() {
    let two = vec![calls(&[("1", "echo"), ("2", "echo")]), answer()];
    let env = TestEnv::new(vec![echo()], two, |settings| {
        settings.steering_delivery = SteeringDelivery::AfterTool;
        settings.limits.turns = Some(1);
    });
    let agent = env.agent.clone();
    env.agent
        .subscribe(move |event, _| {
            if show(event) == "XS(2)" {
                agent.steer(Message::user("s1"));
            }
        })
        .forever();
    let outcome = env.agent.prompt_messages(vec![user("u")]).await;
    assert_eq!(outcome, Ok(Outcome::Limit { limit: Limit::Turns }));
    assert_eq!(env.agent.peek_queued().len(), 1, "{}", env.log.line());
}
