//! Steering, follow-ups, and runs without a prompt.

use super::*;

#[tokio::test(start_paused = true)]
async fn queued_messages_are_delivered_in_order() {
    let mut rows = Vec::new();
    let answers = |count: usize| (0..count).map(|_| answer()).collect::<Vec<_>>();
    let before = env(vec![], answers(2));
    before.agent.steer(Message::user("s1"));
    before.agent.steer(Message::user("s2"));
    rows.push((
        36,
        "AS TS M(u) M(s1) MS(a) ME(a) TE(0) TS M(s2) MS(a) ME(a) TE(0) AE(5)",
        before.prompt().await,
    ));
    let all = env(vec![], answers(1));
    all.agent.set_queue_modes(QueueMode::All, QueueMode::All);
    all.agent.steer(Message::user("s1"));
    all.agent.steer(Message::user("s2"));
    rows.push((37, "AS TS M(u) M(s1) M(s2) MS(a) ME(a) TE(0) AE(4)", all.prompt().await));

    let busy =
        TestEnv::new(vec![echo()], vec![calls(&[("1", "echo"), ("2", "echo")]), answer()], |s| {
            s.tool_execution = ExecutionMode::Sequential;
        });
    on_first(&busy, "XS(1", |agent| agent.steer(Message::user("s1")));
    rows.push((38, "AS TS M(u) MS(a) ME(a) XS(1) XE(1,ok) M(t:1) XS(2) XE(2,ok) M(t:2) TE(2) TS M(s1) MS(a) ME(a) TE(0) AE(6)", busy.prompt().await));

    let follow = env(vec![], answers(2));
    on_first(&follow, "MS(a", |agent| agent.follow_up(Message::user("f")));
    rows.push((
        39,
        "AS TS M(u) MS(a) ME(a) TE(0) TS M(f) MS(a) ME(a) TE(0) AE(4)",
        follow.prompt().await,
    ));
    let both = env(vec![], answers(3));
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
        let two = env(vec![], answers(3));
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

#[tokio::test(start_paused = true)]
async fn continue_run_starts_from_the_transcript_or_the_queues() {
    let mut rows = Vec::new();
    let from = |messages: Vec<AgentMessage>, replies: usize| {
        let env = env(vec![], (0..replies).map(|_| answer()).collect());
        env.agent.set_messages(messages);
        env
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
    assert!(!nothing.agent.is_running(), "57: the agent is idle again");
    let empty = from(vec![], 0);
    empty.agent.steer(Message::user("s1"));
    assert_eq!(empty.agent.continue_run().await, Err(AgentError::NothingToContinue), "58");
    assert!(empty.agent.has_queued(), "58: queues unchanged");
    assert_eq!(
        AgentError::AssistantLast.to_string(),
        "Cannot continue from message role: assistant"
    );

    let running = env(vec![], vec![Reply::new().hang()]);
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
