//! Answers, tool calls and their arguments.

use super::*;

#[tokio::test(start_paused = true)]
async fn answers_and_calls_emit_events_in_order() {
    let mut rows = vec![(1, ANSWER, env(vec![], vec![answer()]).prompt().await)];

    let updates = env(vec![], vec![Reply::new().text("ab").chunks_of(1)]);
    updates.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((2, "AS TS M(u) MS(a) MU*4 ME(a) TE(0) AE(2)", updates.log.line_with_updates()));

    let two = env(vec![], vec![answer()]);
    two.agent.prompt_messages(vec![user("u1"), user("u2")]).await.unwrap();
    rows.push((4, "AS TS M(u1) M(u2) MS(a) ME(a) TE(0) AE(3)", two.log.line()));

    let one = || vec![calls(&[("1", "echo")]), answer()];
    rows.push((5, ONE_CALL, env(vec![echo()], one()).prompt().await));

    let reporting =
        FnTool::new(Tool::new("echo", "", json!({"type": "object"})), |call| async move {
            call.updates.send(ToolOutput::text("one"));
            call.updates.send(ToolOutput::text("two"));
            Ok(ToolOutput::text("three"))
        });
    rows.push((
        6,
        "XS(1) XU(1) XU(1) XE(1,ok) M(t:1) TE(1)",
        batch(&env(vec![reporting], one()).prompt().await),
    ));

    let late = FnTool::new(Tool::new("echo", "", json!({"type": "object"})), |call| async move {
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            call.updates.send(ToolOutput::text("too late"));
        });
        Ok(ToolOutput::text("done"))
    });
    rows.push((7, ONE_CALL, env(vec![late], one()).prompt().await));

    let both = || vec![calls(&[("A", "slow"), ("B", "fast")]), answer()];
    let tools = || vec![after("slow", 90), after("fast", 10)];
    rows.push((
        8,
        "XS(A) XS(B) XE(B,ok) XE(A,ok) M(t:A) M(t:B) TE(2)",
        batch(&env(tools(), both()).prompt().await),
    ));
    let in_order = "XS(A) XE(A,ok) M(t:A) XS(B) XE(B,ok) M(t:B) TE(2)";
    let sequential =
        TestEnv::new(tools(), both(), |s| s.tool_execution = ExecutionMode::Sequential);
    rows.push((9, in_order, batch(&sequential.prompt().await)));
    let mixed = vec![after("slow", 90), after("fast", 10).sequential()];
    rows.push((10, in_order, batch(&env(mixed, both()).prompt().await)));

    let unknown = env(vec![echo()], vec![calls(&[("A", "nope"), ("B", "echo")]), answer()]);
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
    let invalid = env(vec![after("slow", 50), strict], vec![invalid, answer()]);
    rows.push((
        12,
        "XS(A) XS(B) XE(B,err) XE(A,ok) M(t:A) M(t:B) TE(2)",
        batch(&invalid.prompt().await),
    ));
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn arguments_are_prepared_validated_and_replaced() {
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

    let mutated = TestEnv::new(vec![recording()], call(), |settings| {
        settings.hooks.before_tool_call = hook(|call: pi_agent::BeforeToolCall| async move {
            let mut args = call.args;
            args.insert("value".into(), json!(123));
            Ok(Permission::allow_with(args))
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
    let prepared = env(vec![legacy], vec![old_shape, answer()]);
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
    let unreadable = TestEnv::new(vec![recording()], vec![broken, answer()], move |settings| {
        settings.hooks.before_tool_call = hook(move |_| {
            counted.count();
            async { Ok(Permission::allow()) }
        });
    });
    unreadable.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert!(unreadable.result("1").starts_with("Invalid arguments for tool \"echo\": "), "28");
    assert_eq!((hooked.get(), received.lock().unwrap().len()), (0, 0), "28: neither hook nor tool");

    let cut = calls(&[("1", "echo"), ("2", "echo")]).stop_reason(StopReason::Length);
    let cut = env(vec![recording()], vec![cut, answer()]);
    cut.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((29, "AS TS M(u) MS(a) ME(a) XS(1) XE(1,err) M(t:1) XS(2) XE(2,err) M(t:2) TE(2) TS MS(a) ME(a) TE(0) AE(5)", cut.log.line()));
    assert!(cut.result("1").contains("hit the output token limit"), "29");
    assert!(received.lock().unwrap().is_empty(), "29: nothing runs");
    rows.push((
        30,
        ANSWER,
        env(vec![], vec![answer().stop_reason(StopReason::Length)]).prompt().await,
    ));
    let stop = calls(&[("1", "echo")]).stop_reason(StopReason::Stop);
    rows.push((31, ONE_CALL, env(vec![echo()], vec![stop, answer()]).prompt().await));
    check(&rows);
}
