//! Failures of models, listeners and hooks, and aborts.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_failing_model_ends_the_run() {
    let mut rows = Vec::new();
    let failed = env(vec![], vec![Reply::new().text("so").fail("boom"), answer()]);
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

    let later = env(vec![echo()], vec![calls(&[("1", "echo")]), Reply::new().fail("boom")]);
    rows.push((
        34,
        "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) TE(1) TS MS(a) ME(a:error) TE(0) AE(4)",
        later.prompt().await,
    ));
    rows.push((
        35,
        "AS TS M(u) MS(a) ME(a:aborted) TE(0) AE(2)",
        env(vec![], vec![Reply::new().text("so").aborted()]).prompt().await,
    ));
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn panicking_providers_and_failing_listeners_end_the_run() {
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

    let listened = env(vec![], vec![answer()]);
    listened
        .agent
        .subscribe_async(|event, _| async move {
            if show(&event) == "ME(u)" { Err(RunError::new("refused")) } else { Ok(()) }
        })
        .forever();
    listened.agent.prompt_messages(vec![user("u")]).await.unwrap();
    rows.push((61, "AS TS M(u) MS(a) ME(a:error) TE(0) AE(1)", listened.log.line()));
    assert_eq!(listened.agent.error().as_deref(), Some("refused"), "61");

    let slow = env(vec![], vec![answer()]);
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
async fn panics_are_contained() {
    let one = || vec![calls(&[("1", "echo")]), answer()];
    let tool = env(vec![named("echo", |_| panic!("oh no"))], one());
    assert_eq!(tool.agent.prompt("u").await, Ok(pi_agent::Outcome::Completed));
    assert_eq!(tool.result("1"), "panicked: oh no");

    let before = TestEnv::new(vec![echo()], one(), |settings| {
        settings.hooks.before_tool_call = hook(|_| async { panic!("in a hook") });
    });
    assert_eq!(before.agent.prompt("u").await, Ok(pi_agent::Outcome::Completed));
    assert_eq!(before.result("1"), "panicked: in a hook");
    let after = TestEnv::new(vec![echo()], one(), |settings| {
        settings.hooks.after_tool_call = hook(|_| async { panic!("in a hook") });
    });
    assert_eq!(after.agent.prompt("u").await, Ok(pi_agent::Outcome::Completed));
    assert_eq!(after.result("1"), "panicked: in a hook");

    let failed = |error: &str| Ok(pi_agent::Outcome::Failed { error: error.to_owned() });
    let finish = TestEnv::new(vec![], vec![answer()], |settings| {
        settings.hooks.finish_turn = hook(|_| async { panic!("at the end") });
    });
    assert_eq!(finish.agent.prompt("u").await, failed("panicked: at the end"));
    let tail = "MS(a) ME(a:error) TE(0) AE(1)";
    assert!(finish.log.line().ends_with(tail), "{}", finish.log.line());

    let listener = env(vec![], vec![answer(), answer()]);
    let subscription = listener.agent.subscribe(|event, _| {
        assert!(show(event) != "ME(a)", "rejected");
    });
    let outcome = listener.agent.prompt("u").await;
    assert!(matches!(outcome, Ok(pi_agent::Outcome::Failed { .. })), "{outcome:?}");
    assert!(listener.log.line().ends_with(tail), "{}", listener.log.line());
    drop(subscription);
    assert_eq!(listener.agent.prompt("again").await, Ok(pi_agent::Outcome::Completed));
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_pending_calls() {
    let mut rows = Vec::new();
    let in_order =
        TestEnv::new(vec![echo()], vec![calls(&[("1", "echo"), ("2", "echo")]), answer()], |s| {
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
    let preparing = TestEnv::new(vec![echo()], three, move |settings| {
        settings.hooks.before_tool_call = hook(move |call: pi_agent::BeforeToolCall| {
            if call.tool_call.id == "2" {
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
