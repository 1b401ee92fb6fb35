//! Hooks around tool calls and turns.

use super::*;

#[tokio::test(start_paused = true)]
async fn hooks_block_calls_and_change_results() {
    let one = || vec![calls(&[("1", "echo")]), answer()];
    let mut rows = Vec::new();
    let refused = "AS TS M(u) MS(a) ME(a) XS(1) XE(1,err) M(t:1) TE(1) TS MS(a) ME(a) TE(0) AE(4)";
    let blocked = TestEnv::new(vec![echo()], one(), blocking(Permission::block("no")));
    blocked.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((13, refused, blocked.log.line()));
    assert_eq!(blocked.result("1"), "no");
    let silent = TestEnv::new(
        vec![echo()],
        one(),
        blocking(Permission::Block { reason: None, terminate: false }),
    );
    silent.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((14, refused, silent.log.line()));
    assert_eq!(silent.result("1"), "Tool execution was blocked");
    let ended = "AS TS M(u) MS(a) ME(a) XS(1) XE(1,err) M(t:1) TE(1) AE(3)";
    let end = Permission::Block { reason: Some("no".to_owned()), terminate: true };
    rows.push((15, ended, TestEnv::new(vec![echo()], one(), blocking(end)).prompt().await));

    let two_ends = vec![calls(&[("1", "end"), ("2", "end")]), answer()];
    rows.push((
        16,
        "AS TS M(u) MS(a) ME(a) XS(1) XS(2) XE(1,ok) XE(2,ok) M(t:1) M(t:2) TE(2) AE(4)",
        env(vec![terminating()], two_ends).prompt().await,
    ));
    let one_end =
        env(vec![terminating(), echo()], vec![calls(&[("1", "end"), ("2", "echo")]), answer()]);
    one_end.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert_eq!(one_end.faux.requests().len(), 2, "17");
    let queued = env(vec![terminating()], vec![calls(&[("1", "end")]), answer(), answer()]);
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
    let follow = env(vec![terminating()], vec![calls(&[("1", "end")]), answer()]);
    follow.agent.follow_up(Message::user("f"));
    rows.push((
        19,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(f) MS(a) ME(a) TE(0) AE(5)",
        follow.prompt().await,
    ));

    fn after_hook(set: fn(&mut OutputChange)) -> impl FnOnce(&mut RunSettings) {
        move |settings| {
            settings.hooks.after_tool_call = hook(move |_| async move {
                let mut change = OutputChange::default();
                set(&mut change);
                Ok(change)
            });
        }
    }
    let ends =
        TestEnv::new(vec![echo()], one(), after_hook(|change| change.terminate = Some(true)));
    rows.push((
        20,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) AE(3)",
        ends.prompt().await,
    ));
    let throws = TestEnv::new(vec![echo()], one(), |settings| {
        settings.hooks.after_tool_call = hook(|_| async { Err(HookError::new("x")) });
    });
    throws.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((21, refused, throws.log.line()));
    assert_eq!(throws.result("1"), "x");

    let structured = named("echo", |_| {
        ToolOutput::text("old").with_details(json!({"d": 1})).with_structured_content(json!([1]))
    });
    let results = Arc::new(Mutex::new(Vec::new()));
    let replaced = TestEnv::new(
        vec![structured],
        one(),
        after_hook(|change| change.content = Some(vec![UserBlock::text("new")])),
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

    let soft = named("echo", |_| ToolOutput::text("hm").with_details(json!(7)).with_is_error(true));
    rows.push((23, refused, env(vec![soft], one()).prompt().await));
    let boom = env(vec![failing("boom")], vec![calls(&[("1", "fails")]), answer()]);
    boom.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((24, refused, boom.log.line()));
    assert_eq!(boom.result("1"), "boom");
    let empty = named("echo", |_| ToolOutput::default());
    rows.push((25, ONE_CALL, env(vec![empty], one()).prompt().await));
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn hooks_end_and_prolong_runs() {
    use TurnDecision::{Continue, End};
    let mut rows = Vec::new();
    let one = || vec![calls(&[("1", "echo")]), answer()];
    let ended = TestEnv::new(vec![], vec![answer()], deciding(&[End]));
    on_first(&ended, "MS(a", |agent| agent.steer(Message::user("s1")));
    ended.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((43, ANSWER, ended.log.line()));
    assert!(ended.agent.has_queued(), "43");
    rows.push((
        44,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) AE(3)",
        TestEnv::new(vec![echo()], one(), deciding(&[End])).prompt().await,
    ));
    let once_more = TestEnv::new(vec![], vec![answer(), answer()], deciding(&[Continue]));
    rows.push((
        45,
        "AS TS M(u) MS(a) ME(a) TE(0) TS MS(a) ME(a) TE(0) AE(3)",
        once_more.prompt().await,
    ));
    rows.push((
        46,
        ONE_CALL,
        TestEnv::new(vec![echo()], one(), deciding(&[Continue])).prompt().await,
    ));
    let follow = TestEnv::new(vec![], vec![answer(), answer()], deciding(&[Continue]));
    follow.agent.follow_up(Message::user("f"));
    rows.push((
        47,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(f) MS(a) ME(a) TE(0) AE(4)",
        follow.prompt().await,
    ));
    let failed =
        TestEnv::new(vec![], vec![Reply::new().fail("boom"), answer()], deciding(&[Continue]));
    rows.push((48, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(2)", failed.prompt().await));

    let prepared = TestEnv::new(vec![echo()], one(), |settings| {
        settings.hooks.prepare_next_turn = hook(|_| async {
            let mut next = NextTurn::default();
            next.messages = vec![user("m")];
            Ok(next)
        });
    });
    rows.push((
        49,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS M(m) MS(a) ME(a) TE(0) AE(5)",
        prepared.prompt().await,
    ));

    // The user steers during a slow preparation.
    let slow = |first_queued: bool| {
        let holder: Arc<Mutex<Option<Agent>>> = Arc::default();
        let agent = Arc::clone(&holder);
        let slow = TestEnv::new(
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

    let other = TestEnv::new(vec![echo()], one(), |settings| {
        settings.hooks.prepare_request = hook(|_| async {
            let model = Model { id: "other".to_owned(), ..Faux::model() };
            let mut change = RunChange::default();
            change.model = Some(Arc::new(model));
            change.thinking_level = Some(ThinkingLevel::Low);
            Ok(change)
        });
    });
    other.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert!(other.faux.requests().iter().all(|request| request.model.id == "other"), "52");
    check(&rows);
}
