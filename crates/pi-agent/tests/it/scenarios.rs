//! The scenarios of the specification, by number, in its notation.
//!
//! Number 3 (updates before `start`) cannot be: a stream of ours begins with its `start`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{
    Agent, AgentError, AgentEvent, AgentMessage, ExecutionMode, FnTool, HookError, NextTurn,
    OutputChange, Permission, QueueMode, RunChange, RunError, RunSettings, ToolError, ToolOutput,
    TurnDecision, agent_loop, agent_loop_continue, hook,
};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, History, Message, Model, Provider, Request,
    StopReason, ThinkingLevel, Tool, UserBlock,
};
use serde_json::{Map, json};

use crate::notation::{Log, show};
use crate::stage::{Counter, Stage, after, answer, calls, echo, failing, named, shared, user};

const ANSWER: &str = "AS TS M(u) MS(a) ME(a) TE(0) AE(2)";
const ONE_CALL: &str =
    "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS MS(a) ME(a) TE(0) AE(4)";

fn stage(tools: Vec<FnTool>, replies: Vec<Reply>) -> Stage {
    Stage::new(tools, replies, |_| {})
}

fn terminating() -> FnTool {
    named("end", |_| ToolOutput { terminate: true, ..ToolOutput::text("bye") })
}

/// Prints a table of runs, checks it, and lists every one that differs.
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

/// The part of a line from the first execution to the end of the turn.
fn batch(line: &str) -> String {
    let from = line.find("XS").unwrap_or(0);
    let to = line[from..].find("TE(").map_or(line.len(), |at| from + at + 5);
    line[from..to].to_owned()
}

#[tokio::test(start_paused = true)]
async fn answers_and_calls() {
    let mut rows = vec![(1, ANSWER, stage(vec![], vec![answer()]).prompt().await)];

    let updates = stage(vec![], vec![Reply::new().text("ab").chunks_of(1)]);
    updates.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((2, "AS TS M(u) MS(a) MU*4 ME(a) TE(0) AE(2)", updates.log.line_with_updates()));

    let two = stage(vec![], vec![answer()]);
    two.agent.prompt_messages(vec![user("u1"), user("u2")]).await.unwrap();
    rows.push((4, "AS TS M(u1) M(u2) MS(a) ME(a) TE(0) AE(3)", two.log.line()));

    let one = || vec![calls(&[("1", "echo")]), answer()];
    rows.push((5, ONE_CALL, stage(vec![echo()], one()).prompt().await));

    let chatty = FnTool::new(Tool::new("echo", "", json!({"type": "object"})), |call| async move {
        call.updates.send(ToolOutput::text("one"));
        call.updates.send(ToolOutput::text("two"));
        Ok(ToolOutput::text("three"))
    });
    rows.push((
        6,
        "XS(1) XU(1) XU(1) XE(1,ok) M(t:1) TE(1)",
        batch(&stage(vec![chatty], one()).prompt().await),
    ));

    let late = FnTool::new(Tool::new("echo", "", json!({"type": "object"})), |call| async move {
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            call.updates.send(ToolOutput::text("too late"));
        });
        Ok(ToolOutput::text("done"))
    });
    rows.push((7, ONE_CALL, stage(vec![late], one()).prompt().await));

    let both = || vec![calls(&[("A", "slow"), ("B", "fast")]), answer()];
    let tools = || vec![after("slow", 90), after("fast", 10)];
    rows.push((
        8,
        "XS(A) XS(B) XE(B,ok) XE(A,ok) M(t:A) M(t:B) TE(2)",
        batch(&stage(tools(), both()).prompt().await),
    ));
    let in_order = "XS(A) XE(A,ok) M(t:A) XS(B) XE(B,ok) M(t:B) TE(2)";
    let sequential = Stage::new(tools(), both(), |s| s.tool_execution = ExecutionMode::Sequential);
    rows.push((9, in_order, batch(&sequential.prompt().await)));
    let mixed = vec![after("slow", 90), after("fast", 10).sequential()];
    rows.push((10, in_order, batch(&stage(mixed, both()).prompt().await)));

    let unknown = stage(vec![echo()], vec![calls(&[("A", "nope"), ("B", "echo")]), answer()]);
    unknown.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((
        11,
        "XS(A) XE(A,err) XS(B) XE(B,ok) M(t:A) M(t:B) TE(2)",
        batch(&unknown.log.line()),
    ));
    assert_eq!(unknown.result("A"), "Tool nope not found");

    let strict = named("strict", |_| ToolOutput::text("x"));
    let invalid = Reply::new().raw_tool_call("A", "slow", "{}").raw_tool_call(
        "B",
        "strict",
        r#"{"value":{}}"#,
    );
    let invalid = stage(vec![after("slow", 50), strict], vec![invalid, answer()]);
    rows.push((
        12,
        "XS(A) XS(B) XE(B,err) XE(A,ok) M(t:A) M(t:B) TE(2)",
        batch(&invalid.prompt().await),
    ));
    check(&rows);
}

fn blocking(permission: Permission) -> impl FnOnce(&mut RunSettings) {
    move |settings| {
        settings.hooks.before_tool_call = hook(move |_| {
            let permission = permission.clone();
            async move { Ok(permission) }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_around_calls() {
    let one = || vec![calls(&[("1", "echo")]), answer()];
    let mut rows = Vec::new();
    let refused = "AS TS M(u) MS(a) ME(a) XS(1) XE(1,err) M(t:1) TE(1) TS MS(a) ME(a) TE(0) AE(4)";
    let blocked = Stage::new(vec![echo()], one(), blocking(Permission::block("no")));
    blocked.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((13, refused, blocked.log.line()));
    assert_eq!(blocked.result("1"), "no");
    let silent = Stage::new(
        vec![echo()],
        one(),
        blocking(Permission { block: true, ..Permission::default() }),
    );
    silent.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((14, refused, silent.log.line()));
    assert_eq!(silent.result("1"), "Tool execution was blocked");
    let ended = "AS TS M(u) MS(a) ME(a) XS(1) XE(1,err) M(t:1) TE(1) AE(3)";
    let end = Permission { terminate: true, ..Permission::block("no") };
    rows.push((15, ended, Stage::new(vec![echo()], one(), blocking(end)).prompt().await));

    let two_ends = vec![calls(&[("1", "end"), ("2", "end")]), answer()];
    rows.push((
        16,
        "AS TS M(u) MS(a) ME(a) XS(1) XS(2) XE(1,ok) XE(2,ok) M(t:1) M(t:2) TE(2) AE(4)",
        stage(vec![terminating()], two_ends).prompt().await,
    ));
    let one_end =
        stage(vec![terminating(), echo()], vec![calls(&[("1", "end"), ("2", "echo")]), answer()]);
    one_end.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert_eq!(one_end.faux.requests().len(), 2, "17");
    let queued = stage(vec![terminating()], vec![calls(&[("1", "end")]), answer(), answer()]);
    let steering = queued.agent.clone();
    queued
        .agent
        .subscribe(move |event, _| {
            if matches!(event, AgentEvent::ToolExecutionStart { .. }) {
                steering.steer(Message::user("s1"));
            }
        })
        .forever();
    rows.push((
        18,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(s1) MS(a) ME(a) TE(0) AE(5)",
        queued.prompt().await,
    ));
    let follow = stage(vec![terminating()], vec![calls(&[("1", "end")]), answer()]);
    follow.agent.follow_up(Message::user("f"));
    rows.push((
        19,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(f) MS(a) ME(a) TE(0) AE(5)",
        follow.prompt().await,
    ));

    let after_hook = |change: OutputChange| {
        move |settings: &mut RunSettings| {
            settings.hooks.after_tool_call = hook(move |_| {
                let change = change.clone();
                async move { Ok(change) }
            });
        }
    };
    let ends = Stage::new(
        vec![echo()],
        one(),
        after_hook(OutputChange { terminate: Some(true), ..OutputChange::default() }),
    );
    rows.push((
        20,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) AE(3)",
        ends.prompt().await,
    ));
    let throws = Stage::new(vec![echo()], one(), |settings| {
        settings.hooks.after_tool_call = hook(|_| async { Err(HookError("x".into())) });
    });
    throws.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((21, refused, throws.log.line()));
    assert_eq!(throws.result("1"), "x");

    let structured = named("echo", |_| ToolOutput {
        details: Some(json!({"d": 1})),
        structured_content: Some(json!([1])),
        ..ToolOutput::text("old")
    });
    let results = Arc::new(Mutex::new(Vec::new()));
    let replaced = Stage::new(
        vec![structured],
        one(),
        after_hook(OutputChange {
            content: Some(vec![UserBlock::text("new")]),
            ..OutputChange::default()
        }),
    );
    let seen = Arc::clone(&results);
    replaced
        .agent
        .subscribe(move |event, _| {
            if let AgentEvent::ToolExecutionEnd { result, .. } = event {
                seen.lock().unwrap().push(result.clone());
            }
        })
        .forever();
    replaced.agent.prompt_messages(vec![user("u")]).await.unwrap();
    let result = results.lock().unwrap()[0].clone();
    assert_eq!(
        (result.structured_content.clone(), result.details.clone()),
        (None, Some(json!({"d": 1}))),
        "22"
    );
    assert_eq!(replaced.result("1"), "new", "22");

    let soft = named("echo", |_| ToolOutput {
        is_error: true,
        details: Some(json!(7)),
        ..ToolOutput::text("hm")
    });
    rows.push((23, refused, stage(vec![soft], one()).prompt().await));
    let boom = stage(vec![failing("boom")], vec![calls(&[("1", "fails")]), answer()]);
    boom.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((24, refused, boom.log.line()));
    assert_eq!(boom.result("1"), "boom");
    let empty = named("echo", |_| ToolOutput::default());
    rows.push((25, ONE_CALL, stage(vec![empty], one()).prompt().await));
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn arguments_on_their_way() {
    let received = Arc::new(Mutex::new(Vec::new()));
    let recording = || {
        let received = Arc::clone(&received);
        named("echo", move |args| {
            received.lock().unwrap().push(args.clone());
            ToolOutput::text("ok")
        })
    };
    let call = || vec![Reply::new().raw_tool_call("1", "echo", r#"{"value":"a"}"#), answer()];
    let mut rows = Vec::new();

    let mutated = Stage::new(vec![recording()], call(), |settings| {
        settings.hooks.before_tool_call = hook(|question: pi_agent::BeforeToolCall| async move {
            let mut args = question.args;
            args.insert("value".into(), json!(123));
            Ok(Permission { args: Some(args), ..Permission::allow() })
        });
    });
    rows.push((26, ONE_CALL, mutated.prompt().await));
    assert_eq!(
        received.lock().unwrap().pop(),
        Some(json!({"value": 123})),
        "26: not checked again"
    );

    let legacy = recording().prepare(|raw| {
        let mut args = Map::new();
        args.insert("value".into(), raw.get("old").cloned().unwrap_or_default());
        Ok(Some(args))
    });
    let old_shape = Reply::new().raw_tool_call("1", "echo", r#"{"old":"b"}"#);
    let prepared = stage(vec![legacy], vec![old_shape, answer()]);
    prepared.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((27, ONE_CALL, prepared.log.line()));
    assert_eq!(received.lock().unwrap().pop(), Some(json!({"value": "b"})), "27");
    let messages = prepared.agent.messages();
    let in_transcript = messages.iter().find_map(AgentMessage::as_assistant).unwrap();
    assert_eq!(
        in_transcript.tool_calls().next().unwrap().arguments["old"],
        "b",
        "27: raw in the transcript"
    );

    let hooked = Counter::default();
    let counted = hooked.clone();
    let broken = Reply::new().raw_tool_call("1", "echo", "{\"value\":");
    let unreadable = Stage::new(vec![recording()], vec![broken, answer()], move |settings| {
        settings.hooks.before_tool_call = hook(move |_| {
            counted.count();
            async { Ok(Permission::allow()) }
        });
    });
    unreadable.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert!(unreadable.result("1").starts_with("Invalid arguments for tool \"echo\": "), "28");
    assert_eq!((hooked.get(), received.lock().unwrap().len()), (0, 0), "28: neither hook nor tool");

    let cut = calls(&[("1", "echo"), ("2", "echo")]).stop_reason(StopReason::Length);
    let cut = stage(vec![recording()], vec![cut, answer()]);
    cut.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((29, "AS TS M(u) MS(a) ME(a) XS(1) XE(1,err) M(t:1) XS(2) XE(2,err) M(t:2) TE(2) TS MS(a) ME(a) TE(0) AE(5)", cut.log.line()));
    assert!(cut.result("1").contains("hit the output token limit"), "29");
    assert!(received.lock().unwrap().is_empty(), "29: nothing runs");
    rows.push((
        30,
        ANSWER,
        stage(vec![], vec![answer().stop_reason(StopReason::Length)]).prompt().await,
    ));
    let stop = calls(&[("1", "echo")]).stop_reason(StopReason::Stop);
    rows.push((31, ONE_CALL, stage(vec![echo()], vec![stop, answer()]).prompt().await));
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_model() {
    let mut rows = Vec::new();
    let failed = stage(vec![], vec![Reply::new().text("so").fail("boom"), answer()]);
    failed.agent.follow_up(Message::user("f"));
    failed.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((32, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(2)", failed.log.line()));
    assert!(failed.agent.has_queued(), "32: the follow-up stays queued");
    assert_eq!(failed.agent.error().as_deref(), Some("boom"));

    struct NoStart;
    impl Provider for NoStart {
        fn stream(&self, request: Request, _cancel: CancelToken) -> AssistantStream {
            AssistantStream::failed(&request.model, "no key")
        }
    }
    let agent = Agent::new(Arc::new(NoStart), RunSettings::new(Arc::new(Faux::model())));
    let log = Log::of(&agent);
    agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((33, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(2)", log.line()));

    let later = stage(vec![echo()], vec![calls(&[("1", "echo")]), Reply::new().fail("boom")]);
    rows.push((
        34,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS MS(a) ME(a:error) TE(0) AE(4)",
        later.prompt().await,
    ));
    rows.push((
        35,
        "AS TS M(u) MS(a) ME(a:aborted) TE(0) AE(2)",
        stage(vec![], vec![Reply::new().text("so").aborted()]).prompt().await,
    ));
    check(&rows);
}

/// Steers or follows up as soon as the first event of a kind is heard.
fn on_first(stage: &Stage, event: &'static str, act: impl Fn(&Agent) + Send + Sync + 'static) {
    let agent = stage.agent.clone();
    let done = Counter::default();
    stage
        .agent
        .subscribe(move |heard, _| {
            if show(heard).starts_with(event) && done.count() == 0 {
                act(&agent);
            }
        })
        .forever();
}

#[tokio::test(start_paused = true)]
async fn queues() {
    let mut rows = Vec::new();
    let answers = |count: usize| (0..count).map(|_| answer()).collect::<Vec<_>>();
    let before = stage(vec![], answers(2));
    before.agent.steer(Message::user("s1"));
    before.agent.steer(Message::user("s2"));
    rows.push((
        36,
        "AS TS M(u) M(s1) MS(a) ME(a) TE(0) TS M(s2) MS(a) ME(a) TE(0) AE(5)",
        before.prompt().await,
    ));
    let all = stage(vec![], answers(1));
    all.agent.set_queue_modes(QueueMode::All, QueueMode::All);
    all.agent.steer(Message::user("s1"));
    all.agent.steer(Message::user("s2"));
    rows.push((37, "AS TS M(u) M(s1) M(s2) MS(a) ME(a) TE(0) AE(4)", all.prompt().await));

    let busy =
        Stage::new(vec![echo()], vec![calls(&[("1", "echo"), ("2", "echo")]), answer()], |s| {
            s.tool_execution = ExecutionMode::Sequential;
        });
    on_first(&busy, "XS(1", |agent| agent.steer(Message::user("s1")));
    rows.push((38, "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) XS(2) XE(2,ok) M(t:2) TE(2) TS M(s1) MS(a) ME(a) TE(0) AE(6)", busy.prompt().await));

    let follow = stage(vec![], answers(2));
    on_first(&follow, "MS(a", |agent| agent.follow_up(Message::user("f")));
    rows.push((
        39,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(f) MS(a) ME(a) TE(0) AE(4)",
        follow.prompt().await,
    ));
    let both = stage(vec![], answers(3));
    on_first(&both, "MS(a", |agent| {
        agent.follow_up(Message::user("f"));
        agent.steer(Message::user("s1"));
    });
    rows.push((
        40,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(s1) MS(a) ME(a) TE(0) TS M(f) MS(a) ME(a) TE(0) AE(6)",
        both.prompt().await,
    ));
    let two = |mode| {
        let two = stage(vec![], answers(3));
        two.agent.set_queue_modes(QueueMode::OneAtATime, mode);
        two.agent.follow_up(Message::user("f1"));
        two.agent.follow_up(Message::user("f2"));
        two
    };
    rows.push((
        41,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(f1) MS(a) ME(a) TE(0) TS M(f2) MS(a) ME(a) TE(0) AE(6)",
        two(QueueMode::OneAtATime).prompt().await,
    ));
    rows.push((
        42,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(f1) M(f2) MS(a) ME(a) TE(0) AE(5)",
        two(QueueMode::All).prompt().await,
    ));
    check(&rows);
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

#[tokio::test(start_paused = true)]
async fn hooks_around_turns() {
    use TurnDecision::{Continue, End};
    let mut rows = Vec::new();
    let one = || vec![calls(&[("1", "echo")]), answer()];
    let ended = Stage::new(vec![], vec![answer()], deciding(&[End]));
    on_first(&ended, "MS(a", |agent| agent.steer(Message::user("s1")));
    ended.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((43, ANSWER, ended.log.line()));
    assert!(ended.agent.has_queued(), "43");
    rows.push((
        44,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) AE(3)",
        Stage::new(vec![echo()], one(), deciding(&[End])).prompt().await,
    ));
    let once_more = Stage::new(vec![], vec![answer(), answer()], deciding(&[Continue]));
    rows.push((
        45,
        "AS TS M(u) MS(a) ME(a) TE(0) TS MS(a) ME(a) TE(0) AE(3)",
        once_more.prompt().await,
    ));
    rows.push((
        46,
        ONE_CALL,
        Stage::new(vec![echo()], one(), deciding(&[Continue])).prompt().await,
    ));
    let follow = Stage::new(vec![], vec![answer(), answer()], deciding(&[Continue]));
    follow.agent.follow_up(Message::user("f"));
    rows.push((
        47,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(f) MS(a) ME(a) TE(0) AE(4)",
        follow.prompt().await,
    ));
    let failed =
        Stage::new(vec![], vec![Reply::new().fail("boom"), answer()], deciding(&[Continue]));
    rows.push((48, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(2)", failed.prompt().await));

    let prepared = Stage::new(vec![echo()], one(), |settings| {
        settings.hooks.prepare_next_turn =
            hook(|_| async { Ok(NextTurn { messages: vec![user("m")], ..NextTurn::default() }) });
    });
    rows.push((
        49,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(m) MS(a) ME(a) TE(0) AE(5)",
        prepared.prompt().await,
    ));

    // A slow preparation, during which the user steers.
    let slow = |first_queued: bool| {
        let holder: Arc<Mutex<Option<Agent>>> = Arc::default();
        let agent = Arc::clone(&holder);
        let slow = Stage::new(
            vec![echo()],
            vec![calls(&[("1", "echo")]), answer(), answer()],
            move |settings| {
                settings.hooks.prepare_next_turn = hook(move |_| {
                    let agent = agent.lock().unwrap().take();
                    async move {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        if let Some(agent) = agent {
                            agent.steer(Message::user(if first_queued { "s2" } else { "s1" }));
                        }
                        Ok(NextTurn::default())
                    }
                });
            },
        );
        *holder.lock().unwrap() = Some(slow.agent.clone());
        if first_queued {
            on_first(&slow, "XS(1", |agent| agent.steer(Message::user("s1")));
        }
        slow
    };
    rows.push((
        50,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(s1) MS(a) ME(a) TE(0) AE(5)",
        slow(false).prompt().await,
    ));
    rows.push((51, "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(s1) MS(a) ME(a) TE(0) TS M(s2) MS(a) ME(a) TE(0) AE(7)", slow(true).prompt().await));

    let other = Stage::new(vec![echo()], one(), |settings| {
        settings.hooks.prepare_request = hook(|_| async {
            let model = Model { id: "other".to_owned(), ..Faux::model() };
            Ok(RunChange {
                model: Some(Arc::new(model)),
                thinking_level: Some(ThinkingLevel::Low),
                ..RunChange::default()
            })
        });
    });
    other.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert!(other.faux.requests().iter().all(|request| request.model.id == "other"), "52");
    check(&rows);
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

#[tokio::test(start_paused = true)]
async fn continuing() {
    let mut rows = Vec::new();
    let from = |messages: Vec<AgentMessage>, replies: usize| {
        let stage = stage(vec![], (0..replies).map(|_| answer()).collect());
        stage.agent.set_messages(messages);
        stage
    };
    let from_user = from(vec![user("u")], 1);
    from_user.agent.continue_run().await.unwrap();
    rows.push((53, "AS TS MS(a) ME(a) TE(0) AE(1)", from_user.log.line()));
    let from_result = from(vec![user("u"), tool_result("1")], 1);
    from_result.agent.steer(Message::user("s1"));
    from_result.agent.continue_run().await.unwrap();
    rows.push((54, "AS TS M(s1) MS(a) ME(a) TE(0) AE(2)", from_result.log.line()));
    let steered = from(vec![user("u"), assistant("a")], 2);
    steered.agent.steer(Message::user("s1"));
    steered.agent.steer(Message::user("s2"));
    steered.agent.continue_run().await.unwrap();
    rows.push((
        55,
        "AS TS M(s1) MS(a) ME(a) TE(0) TS M(s2) MS(a) ME(a) TE(0) AE(4)",
        steered.log.line(),
    ));
    let followed = from(vec![user("u"), assistant("a")], 1);
    followed.agent.follow_up(Message::user("f1"));
    followed.agent.continue_run().await.unwrap();
    rows.push((56, "AS TS M(f1) MS(a) ME(a) TE(0) AE(2)", followed.log.line()));
    let nothing = from(vec![user("u"), assistant("a")], 0);
    assert_eq!(nothing.agent.continue_run().await, Err(AgentError::AssistantLast), "57");
    assert_eq!(nothing.log.line(), "", "57: no events");
    assert!(!nothing.agent.is_running(), "57: and it is idle again");
    let empty = from(vec![], 0);
    empty.agent.steer(Message::user("s1"));
    assert_eq!(empty.agent.continue_run().await, Err(AgentError::NothingToContinue), "58");
    assert!(empty.agent.has_queued(), "58: queues unchanged");
    assert_eq!(
        AgentError::AssistantLast.to_string(),
        "Cannot continue from message role: assistant"
    );

    let running = stage(vec![], vec![Reply::new().hang()]);
    let agent = running.agent.clone();
    let task = tokio::spawn(async move { agent.prompt("u").await });
    while running.log.entries().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.agent.prompt("again").await, Err(AgentError::BusyPrompt), "59");
    assert_eq!(running.agent.reset(), Err(AgentError::BusyReset), "59");
    running.agent.abort();
    assert_eq!(task.await.unwrap(), Ok(pi_agent::Outcome::Aborted), "59: the run is unaffected");
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn things_that_break() {
    struct Panics;
    impl Provider for Panics {
        fn stream(&self, _request: Request, _cancel: CancelToken) -> AssistantStream {
            panic!("no provider")
        }
    }
    let mut rows = Vec::new();
    let agent = Agent::new(Arc::new(Panics), RunSettings::new(Arc::new(Faux::model())));
    let log = Log::of(&agent);
    let outcome = agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((60, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(1)", log.line()));
    assert!(matches!(outcome, pi_agent::Outcome::Failed { .. }), "60");
    assert_eq!(agent.error().as_deref(), Some("panicked: no provider"), "60");

    let listened = stage(vec![], vec![answer()]);
    listened
        .agent
        .subscribe_async(|event, _| async move {
            if show(&event) == "ME(u)" { Err(RunError("deaf".into())) } else { Ok(()) }
        })
        .forever();
    listened.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((61, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(1)", listened.log.line()));
    assert_eq!(listened.agent.error().as_deref(), Some("deaf"), "61");

    let slow = stage(vec![], vec![answer()]);
    let (agent, seen) = (slow.agent.clone(), Arc::new(Mutex::new(Vec::new())));
    let (inside, noted) = (slow.agent.clone(), Arc::clone(&seen));
    slow.agent
        .subscribe_async(move |event, _| {
            let (agent, noted) = (inside.clone(), Arc::clone(&noted));
            async move {
                if matches!(event, AgentEvent::AgentEnd { .. }) {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    noted.lock().unwrap().push(agent.is_running());
                }
                Ok(())
            }
        })
        .forever();
    let started = tokio::time::Instant::now();
    agent.prompt("u").await.unwrap();
    agent.wait_for_idle().await;
    assert_eq!(started.elapsed(), Duration::from_millis(100), "62: prompt waits for listeners");
    assert_eq!(*seen.lock().unwrap(), [true], "62: and it is running until then");

    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn panics_stay_where_they_belong() {
    let one = || vec![calls(&[("1", "echo")]), answer()];
    let tool = stage(vec![named("echo", |_| panic!("oh no"))], one());
    assert_eq!(tool.agent.prompt("u").await, Ok(pi_agent::Outcome::Completed));
    assert_eq!(tool.result("1"), "panicked: oh no");

    let before = Stage::new(vec![echo()], one(), |settings| {
        settings.hooks.before_tool_call = hook(|_| async { panic!("in a hook") });
    });
    assert_eq!(before.agent.prompt("u").await, Ok(pi_agent::Outcome::Completed));
    assert_eq!(before.result("1"), "panicked: in a hook");
    let after = Stage::new(vec![echo()], one(), |settings| {
        settings.hooks.after_tool_call = hook(|_| async { panic!("in a hook") });
    });
    assert_eq!(after.agent.prompt("u").await, Ok(pi_agent::Outcome::Completed));
    assert_eq!(after.result("1"), "panicked: in a hook");

    let failed = |error: &str| Ok(pi_agent::Outcome::Failed { error: error.to_owned() });
    let finish = Stage::new(vec![], vec![answer()], |settings| {
        settings.hooks.finish_turn = hook(|_| async { panic!("at the end") });
    });
    assert_eq!(finish.agent.prompt("u").await, failed("panicked: at the end"));
    let tail = "MS(a) ME(a:error) TE(0) AE(1)";
    assert!(finish.log.line().ends_with(tail), "{}", finish.log.line());

    let listener = stage(vec![], vec![answer(), answer()]);
    let subscription = listener.agent.subscribe(|event, _| {
        assert!(show(event) != "ME(a)", "cannot bear it");
    });
    let outcome = listener.agent.prompt("u").await;
    assert!(matches!(outcome, Ok(pi_agent::Outcome::Failed { .. })), "{outcome:?}");
    assert!(listener.log.line().ends_with(tail), "{}", listener.log.line());
    drop(subscription);
    assert_eq!(listener.agent.prompt("again").await, Ok(pi_agent::Outcome::Completed));
}

#[tokio::test(start_paused = true)]
async fn aborting() {
    let mut rows = Vec::new();
    let in_order =
        Stage::new(vec![echo()], vec![calls(&[("1", "echo"), ("2", "echo")]), answer()], |s| {
            s.tool_execution = ExecutionMode::Sequential;
        });
    on_first(&in_order, "XE(1", Agent::abort);
    rows.push((
        63,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS MS(a) ME(a:aborted) TE(0) AE(4)",
        in_order.prompt().await,
    ));

    let holder: Arc<Mutex<Option<Agent>>> = Arc::default();
    let agent = Arc::clone(&holder);
    let three = vec![calls(&[("1", "echo"), ("2", "echo"), ("3", "echo")]), answer()];
    let preparing = Stage::new(vec![echo()], three, move |settings| {
        settings.hooks.before_tool_call = hook(move |question: pi_agent::BeforeToolCall| {
            if question.tool_call.id == "2" {
                agent.lock().unwrap().as_ref().unwrap().abort();
            }
            async { Ok(Permission::allow()) }
        });
    });
    *holder.lock().unwrap() = Some(preparing.agent.clone());
    preparing.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((64, "AS TS M(u) MS(a) ME(a) XS(1) XS(2) XE(2,err) XE(1,err) M(t:1) M(t:2) TE(2) TS MS(a) ME(a:aborted) TE(0) AE(5)", preparing.log.line()));
    assert_eq!(preparing.result("1"), "Operation aborted", "64");
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn declaring_tools() {
    let mut rows = Vec::new();
    let other = |description: &str| {
        let declaration = Tool::new("echo", description, json!({"type": "object"}));
        FnTool::new(declaration, |_| async { Ok::<_, ToolError>(ToolOutput::text("x")) })
    };
    let changed = |tools: Vec<FnTool>| {
        let changed = stage(vec![echo(), after("b", 1)], vec![answer(), answer()]);
        changed.agent.configure(move |settings| settings.tools = shared(tools));
        changed
    };
    rows.push((
        65,
        "AS TS M(s{+new -b}) M(u) MS(a) ME(a) TE(0) AE(3)",
        changed(vec![echo(), after("new", 1)]).prompt().await,
    ));
    rows.push((66, ANSWER, changed(vec![after("b", 1), echo()]).prompt().await));
    rows.push((
        67,
        "AS TS M(s{+echo -echo -b}) M(u) MS(a) ME(a) TE(0) AE(3)",
        changed(vec![other("changed")]).prompt().await,
    ));
    let bogus = stage(vec![echo()], vec![answer()]);
    let system: AgentMessage = serde_json::from_value(json!({
        "role": "system", "content": "x", "toolsAdded": [{"name": "bogus"}], "timestamp": 0,
    }))
    .unwrap();
    bogus.agent.prompt_messages(vec![system, user("u")]).await.unwrap();
    rows.push((68, "AS TS M(s{}) M(u) MS(a) ME(a) TE(0) AE(3)", bogus.log.line()));

    let faux = Faux::responding(|_| answer());
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = shared(vec![echo()]);
    let log = Log::default();
    let mut stream = agent_loop(
        Arc::new(faux.clone()),
        settings.clone(),
        &History::new(),
        vec![user("u")],
        CancelToken::new(),
    );
    while let Some(event) = stream.next().await {
        log.hear(&event);
    }
    rows.push((69, "AS TS M(s{+echo}) M(u) MS(a) ME(a) TE(0) AE(3)", log.line()));
    assert!(
        agent_loop_continue(Arc::new(faux), settings, &History::new(), CancelToken::new()).is_err()
    );
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn what_reaches_the_model() {
    let last_two = Stage::new(vec![], vec![answer()], |settings| {
        settings.hooks.transform_context = hook(|view: pi_agent::ContextView| async move {
            let skip = view.messages.len().saturating_sub(2);
            Ok(view.messages.iter().skip(skip).cloned().collect())
        });
    });
    last_two.agent.set_messages([user("1"), assistant("2"), user("3"), assistant("4")]);
    last_two.agent.prompt("5").await.unwrap();
    assert_eq!(last_two.faux.requests()[0].context.messages.len(), 2, "70");
    assert_eq!(last_two.agent.messages().len(), 6, "70: the transcript keeps all");

    let custom = stage(vec![], vec![answer()]);
    let note: AgentMessage =
        serde_json::from_value(json!({"role": "note", "text": "x", "n": 1})).unwrap();
    custom.agent.prompt_messages(vec![note.clone(), user("u")]).await.unwrap();
    assert_eq!(custom.log.line(), "AS TS M(c) M(u) MS(a) ME(a) TE(0) AE(3)", "71");
    assert!(custom.agent.messages().iter().any(|message| *message == note), "71");
    let sent = serde_json::to_value(&custom.faux.requests()[0].context.messages).unwrap();
    assert!(!sent.to_string().contains("note"), "71: {sent}");

    let keys = Stage::new(vec![echo()], vec![calls(&[("1", "echo")]), answer()], |settings| {
        let turn = Counter::default();
        settings.options.api_key = Some("configured".to_owned().into());
        settings.hooks.get_api_key = hook(move |provider: String| {
            let key = (turn.count() == 0).then(|| format!("{provider}-key").into());
            async move { Ok(key) }
        });
    });
    keys.agent.prompt("u").await.unwrap();
    let used: Vec<String> = keys
        .faux
        .requests()
        .iter()
        .map(|request| {
            use secrecy::ExposeSecret as _;
            request.options.api_key.as_ref().unwrap().expose_secret().to_owned()
        })
        .collect();
    assert_eq!(used, ["faux-key", "configured"], "72");
}
