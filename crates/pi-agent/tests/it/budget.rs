//! Budgets: in the middle of answers and tool calls, shared between agents, and saved.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::{
    Agent, Budget, FnTool, Limit, Limits, MeteredProvider, Outcome, RunSettings, Spent, ToolError,
    ToolOutput,
};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{
    CancelToken, Context, Message, ModelCost, Request, StopReason, StreamOptions, Tool, Usage,
    complete,
};
use serde_json::json;

use crate::env::{TestEnv, answer, calls, echo, shared, stuck};

fn used(tokens: u64, cost: f64) -> Usage {
    let mut usage =
        Usage { input: tokens - 1, output: 1, total_tokens: tokens, ..Usage::default() };
    usage.cost.total = cost;
    usage
}

/// Creates an answer of 10,000 characters in pieces of 10, which takes a second.
fn long() -> Reply {
    Reply::new().text("x".repeat(10_000)).chunks_of(10).wait_between(Duration::from_millis(1))
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_cut_off_at_a_limit() {
    let limits = [
        (Limits::default().output_bytes(505), Limit::OutputBytes, 510),
        // Six bytes per token, as long as the provider has not reported its count.
        (Limits::default().tokens(100), Limit::Tokens, 610),
        (Limits::default().cost(0.1), Limit::Cost, 610),
        (Limits::default().wall_time(Duration::from_millis(100)), Limit::WallTime, 1000),
    ];
    for (limits, limit, most) in limits {
        let env = TestEnv::new(vec![echo()], vec![long(), answer()], |settings| {
            let mut model = Faux::model();
            model.cost = ModelCost { output: 1000.0, ..ModelCost::default() };
            settings.model = Arc::new(model);
            settings.limits = limits;
        });
        assert_eq!(env.agent.prompt("go").await, Ok(Outcome::Limit { limit }));
        let messages = env.agent.messages();
        let message = messages.last().unwrap().as_assistant().unwrap();
        assert_eq!(message.stop_reason, StopReason::Aborted);
        let length = message.text().len();
        assert!(length <= most && length + 20 >= most, "{limit}: {length}");
        let line = env.log.line();
        assert!(line.ends_with("ME(a:aborted) TE(0) AE(2)"), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_much_output_is_cancelled() {
    let emitter = FnTool::new(
        Tool::new("emit", "Emits for ever.", json!({"type": "object"})),
        |call| async move {
            loop {
                call.budget.add_output(1000);
                call.updates.send(ToolOutput::text("..."));
                tokio::select! {
                    () = call.cancel.cancelled() => break,
                    () = tokio::time::sleep(Duration::from_millis(10)) => {}
                }
            }
            Err::<ToolOutput, _>(ToolError::new("cancelled"))
        },
    );
    let budget = Budget::new(Limits::default().output_bytes(50_000));
    let shared = budget.clone();
    let env = TestEnv::new(vec![emitter], vec![calls(&[("1", "emit")]), answer()], |settings| {
        settings.budget = Some(shared);
    });
    let limit = Limit::OutputBytes;
    assert_eq!(env.agent.prompt("go").await, Ok(Outcome::Limit { limit }));
    assert_eq!(env.faux.requests().len(), 1);
    assert!((50_001..53_000).contains(&budget.spent().output_bytes), "{:?}", budget.spent());
    assert!(env.log.line().ends_with("TE(1) AE(3)"), "{}", env.log.line());
}

#[tokio::test(start_paused = true)]
async fn a_result_is_charged_once() {
    let spends =
        FnTool::new(Tool::new("spends", "Spends.", json!({"type": "object"})), |call| async move {
            // A part of the usage and of the output is charged while the tool runs.
            call.budget.child(Limits::default()).add_usage(&used(70, 0.5));
            call.budget.add_output(4);
            let mut output = ToolOutput::text("ten bytes.");
            output.usage = Some(used(100, 0.75));
            Ok::<_, ToolError>(output)
        });
    let budget = Budget::new(Limits::default());
    let shared = budget.clone();
    let silent = |reply: Reply| reply.usage(Usage::default());
    let replies = vec![silent(calls(&[("1", "spends")])), silent(answer())];
    let env = TestEnv::new(vec![spends], replies, |settings| settings.budget = Some(shared));
    env.agent.prompt("go").await.unwrap();
    let Spent { turns, tool_calls, tokens, cost, output_bytes, calls_per_tool, .. } =
        budget.spent();
    assert_eq!((turns, tool_calls, tokens), (2, 1, 100));
    assert!((cost - 0.75).abs() < 1e-9);
    assert_eq!(output_bytes, 2 + 10 + 4, "arguments, result, answer");
    assert_eq!(calls_per_tool["spends"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_does_not_suspend_the_time_limit() {
    let two = vec![calls(&[("1", "stuck"), ("2", "echo")]), answer()];
    let env = TestEnv::new(vec![stuck(), echo()], two, |settings| {
        settings.limits = Limits::default().tool_calls(1).wall_time(Duration::from_secs(1));
    });
    let limit = Limit::ToolCalls;
    assert_eq!(env.agent.prompt("go").await, Ok(Outcome::Limit { limit }));
    assert_eq!(env.result("2"), "Not executed: the run has reached its limit of tool calls.");
}

#[tokio::test(start_paused = true)]
async fn a_hook_does_not_outlast_the_time_limit() {
    let env = TestEnv::new(vec![echo()], vec![answer()], |settings| {
        settings.hooks.prepare_request = pi_agent::hook(|_| std::future::pending());
        settings.limits = Limits::default().wall_time(Duration::from_secs(1));
    });
    let limit = Limit::WallTime;
    assert_eq!(env.agent.prompt("go").await, Ok(Outcome::Limit { limit }));
    assert!(env.log.line().ends_with("TE(0) AE(1)"), "{}", env.log.line());
}

#[tokio::test(start_paused = true)]
async fn requests_ask_for_no_more_than_is_left() {
    let budget = Budget::new(Limits::default().tokens(1000));
    let shared = budget.clone();
    let cut = Reply::new().text("cut").stop_reason(StopReason::Length).usage(used(90, 0.0));
    let replies = vec![calls(&[("1", "echo")]).usage(used(900, 0.0)), cut];
    let env = TestEnv::new(vec![echo()], replies, |settings| settings.budget = Some(shared));
    let limit = Limit::Tokens;
    assert_eq!(env.agent.prompt("go").await, Ok(Outcome::Limit { limit }), "the answer was cut");
    let asked: Vec<_> = env.faux.requests().iter().map(|one| one.options.max_tokens).collect();
    assert_eq!(asked, [Some(1000), Some(100)]);
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_shared_by_agents_and_other_requests() {
    let run = Budget::new(Limits::default().turns(5).tokens(10_000));
    let agent = |limits| {
        let faux = Faux::responding(|_| calls(&[("1", "echo")]).usage(used(100, 0.1)));
        let mut settings = RunSettings::new(Arc::new(Faux::model()));
        settings.tools = shared(vec![echo()]);
        settings.budget = Some(run.child(limits));
        Agent::new(Arc::new(faux), settings)
    };
    let limit = Limit::Turns;
    let ended = agent(Limits::default().turns(2)).prompt("go").await;
    assert_eq!(ended, Ok(Outcome::Limit { limit }));
    assert_eq!((run.spent().turns, run.spent().tokens), (2, 200));

    let faux = Faux::responding(|_| answer().usage(used(50, 0.1)));
    let metered = MeteredProvider::new(Arc::new(faux.clone()), run.clone());
    let request = || {
        let messages = std::iter::once(Message::user("review")).collect();
        let context = Context { messages, ..Context::default() };
        Request::new(Arc::new(Faux::model()), context, StreamOptions::default())
    };
    complete(&metered, request(), CancelToken::new()).await;
    assert_eq!((run.spent().turns, run.spent().tokens), (3, 250));

    assert_eq!(agent(Limits::default()).prompt("go").await, Ok(Outcome::Limit { limit }));
    let refused = complete(&metered, request(), CancelToken::new()).await;
    let error = refused.error_message.as_deref().unwrap();
    assert!(error.ends_with("the run has reached its limit: turns"), "{error}");
    assert_eq!(faux.requests().len(), 1);

    // A run that may not send its first request is complete, too.
    let late = agent(Limits::default());
    let log = crate::notation::Log::of(&late);
    assert_eq!(late.prompt("go").await, Ok(Outcome::Limit { limit }));
    assert!(log.line().ends_with("MS(a) ME(a:error) TE(0) AE(2)"), "{}", log.line());

    // A resumed run has what is left.
    let saved = serde_json::to_string(&run.spent()).unwrap();
    let resumed =
        Budget::resumed(Limits::default().turns(6), serde_json::from_str(&saved).unwrap());
    assert_eq!((resumed.take_turn(), resumed.take_turn()), (Ok(()), Err(limit)));
}
