//! Requests: declared tools, messages and API keys.

use super::*;

#[tokio::test(start_paused = true)]
async fn changed_tools_are_declared() {
    let mut rows = Vec::new();
    let other = |description: &str| {
        let declaration = Tool::new("echo", description, json!({"type": "object"}));
        FnTool::new(declaration, |_| async { Ok::<_, ToolError>(ToolOutput::text("x")) })
    };
    let changed = |tools: Vec<FnTool>| {
        let changed = env(vec![echo(), after("b", 1)], vec![answer(), answer()]);
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
    let bogus = env(vec![echo()], vec![answer()]);
    let system: AgentMessage = serde_json::from_value(json!({
        "role": "system", "content": "x", "toolsAdded": [{"name": "bogus"}], "timestamp": 0,
    }))
    .unwrap();
    bogus.agent.prompt_messages(vec![system, user("u")]).await.unwrap();
    rows.push((68, "AS TS M(s{}) M(u) MS(a) ME(a) TE(0) AE(3)", bogus.log.line()));

    let undeclared = env(vec![echo()], vec![answer()]);
    undeclared.agent.set_messages([]);
    rows.push((69, "AS TS M(s{+echo}) M(u) MS(a) ME(a) TE(0) AE(3)", undeclared.prompt().await));
    check(&rows);
}

#[tokio::test(start_paused = true)]
async fn hooks_determine_messages_and_keys() {
    let last_two = TestEnv::new(vec![], vec![answer()], |settings| {
        settings.hooks.transform_context = hook(|view: pi_agent::ContextView| async move {
            let skip = view.messages.len().saturating_sub(2);
            Ok(view.messages.iter().skip(skip).cloned().collect())
        });
    });
    last_two.agent.set_messages([user("1"), assistant("2"), user("3"), assistant("4")]);
    last_two.agent.prompt("5").await.unwrap();
    assert_eq!(last_two.faux.requests()[0].context.messages.len(), 2, "70");
    assert_eq!(last_two.agent.messages().len(), 6, "70: the transcript keeps all");

    let custom = env(vec![], vec![answer()]);
    let note: AgentMessage =
        serde_json::from_value(json!({"role": "note", "text": "x", "n": 1})).unwrap();
    custom.agent.prompt_messages(vec![note.clone(), user("u")]).await.unwrap();
    assert_eq!(custom.log.line(), "AS TS M(c) M(u) MS(a) ME(a) TE(0) AE(3)", "71");
    assert!(custom.agent.messages().iter().any(|message| *message == note), "71");
    let sent = serde_json::to_value(&custom.faux.requests()[0].context.messages).unwrap();
    assert!(!sent.to_string().contains("note"), "71: {sent}");

    let keys = TestEnv::new(vec![echo()], vec![calls(&[("1", "echo")]), answer()], |settings| {
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
