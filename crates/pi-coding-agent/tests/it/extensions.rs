//! Extensions: events, questions, containment, dialogs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{BoxFuture, OutputChange};
use pi_ai::faux::Reply;
use pi_coding_agent::extension::{
    BeforeCompact, Boundary, Compaction, CompactionText, Context, ContextMessages, Dialog,
    DialogAnswer, DialogOptions, Extension, ExtensionError, Extensions, Handlers, Input,
    InputAction, MessageEnd, Question, QuestionKind, ReplacedMessage, ToolCall, ToolDecision,
    ToolResult, TurnEnd, Ui, UserBash,
};
use pi_coding_agent::session::{
    BashOptions, CompactionReason, Disposition, ModelSource, PromptOptions, SessionEvent,
    ShutdownReason, StartReason,
};
use pi_protocol::{AgentMessage, CancelToken, EntryBody, Message, ThinkingLevel, UserBlock};
use serde_json::{Value, json};

use crate::test_session::TestSession;

/// The 41 events of the TypeScript pi 1.5.0.
const EVENTS: [&str; 41] = [
    "project_trust",
    "resources_discover",
    "session_start",
    "session_info_changed",
    "session_before_switch",
    "session_before_fork",
    "session_before_compact",
    "session_compact",
    "session_compact_failed",
    "session_before_tree",
    "session_tree",
    "session_shutdown",
    "mcp_servers_change",
    "context",
    "context_with_system",
    "before_provider_headers",
    "before_provider_request",
    "after_provider_response",
    "provider_stream_event",
    "cache_warming_decision",
    "before_agent_start",
    "agent_start",
    "agent_end",
    "agent_settled",
    "turn_start",
    "turn_end",
    "agent_before_settle",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "tool_call",
    "tool_result",
    "model_select",
    "thinking_level_select",
    "ui_prompt_start",
    "ui_prompt_end",
    "user_bash",
    "input",
];

async fn with_extensions(extensions: Vec<Arc<dyn Extension>>) -> TestSession {
    let (extensions, failures) = Extensions::load(extensions).await;
    assert_eq!(failures, []);
    TestSession::with(|parts| parts.extensions = extensions)
}

/// Collects the failures that a session reports, as `path event: error`.
fn failures(test: &TestSession) -> Arc<Mutex<Vec<String>>> {
    let failures: Arc<Mutex<Vec<String>>> = Arc::default();
    let collected = Arc::clone(&failures);
    test.session
        .subscribe(move |event| {
            if let SessionEvent::ExtensionError { extension_path, event, error } = event {
                collected.lock().unwrap().push(format!("{extension_path} {event}: {error}"));
            }
        })
        .forever();
    failures
}

fn tool_texts(test: &TestSession) -> Vec<String> {
    let messages = test.session.messages();
    let texts = messages.iter().filter_map(|message| match message {
        AgentMessage::Llm(Message::ToolResult(result)) => {
            let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
            Some(texts.join(""))
        }
        _ => None,
    });
    texts.collect()
}

#[test]
fn every_event_of_pi_is_an_event_or_a_question() {
    let mut names: BTreeSet<&str> = QuestionKind::ALL.iter().map(|kind| kind.name()).collect();
    // Ours: hooks and guardrails see the expanded prompt.
    assert!(names.remove("before_prompt"));
    let model = Arc::new(pi_ai::faux::Faux::model());
    let samples = [
        SessionEvent::SessionStart { reason: StartReason::New, previous_session_file: None },
        SessionEvent::SessionShutdown { reason: ShutdownReason::Quit, target_session_file: None },
        SessionEvent::SessionInfoChanged { name: None },
        SessionEvent::SessionTree {
            new_leaf_id: None,
            old_leaf_id: None,
            summary_entry: None,
            from_extension: None,
        },
        SessionEvent::McpServersChange { servers: Vec::new() },
        SessionEvent::ModelSelect { model, previous_model: None, source: ModelSource::Set },
        SessionEvent::ThinkingLevelChanged {
            level: ThinkingLevel::High,
            previous_level: ThinkingLevel::Off,
        },
        SessionEvent::AfterProviderResponse { status: 200, headers: Default::default() },
        SessionEvent::ProviderStreamEvent {
            provider: "p".to_owned(),
            api: "a".to_owned(),
            model: "m".to_owned(),
            data: Value::Null,
        },
        SessionEvent::UiPromptStart { reason: "ui_prompt", kind: "select", title: None },
        SessionEvent::UiPromptEnd { reason: "ui_prompt", kind: "select", title: None },
        compaction_end(),
    ];
    for event in samples {
        let (name, payload) = event.extension_event().unwrap();
        assert_eq!(payload["type"], name);
        names.insert(name);
    }
    // The events of the loop are checked by `events_have_complete_payloads`, the compaction by
    // `a_summary_of_an_extension_is_used`.
    names.extend([
        "session_compact",
        "agent_start",
        "agent_end",
        "agent_settled",
        "turn_start",
        "message_start",
        "message_update",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
    ]);
    assert_eq!(names, EVENTS.into_iter().collect());
}

/// A failed compaction. A successful one is checked by the session tests.
fn compaction_end() -> SessionEvent {
    SessionEvent::CompactionEnd {
        reason: CompactionReason::Manual,
        result: None,
        aborted: false,
        will_retry: false,
        error_message: Some("no".to_owned()),
        entry: None,
        from_extension: false,
    }
}

#[tokio::test]
async fn events_have_complete_payloads() {
    let received: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let sink = Arc::clone(&received);
    let observer = Handlers::new("test:observer").with_progress().on_event(move |event, _| {
        if let Some((name, payload)) = event.extension_event() {
            sink.lock().unwrap().push((name.to_owned(), payload));
        }
        std::future::ready(Ok(()))
    });
    let test = with_extensions(vec![Arc::new(observer)]).await;
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "echo hi"})));
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    let received = received.lock().unwrap();
    let of = |name: &str| -> Vec<&Value> {
        received.iter().filter(|(other, _)| other == name).map(|(_, payload)| payload).collect()
    };
    let turns: Vec<&Value> = of("turn_start").iter().map(|turn| &turn["turnIndex"]).collect();
    assert_eq!(turns, [&json!(0), &json!(1)]);
    assert!(of("turn_start")[0]["timestamp"].as_f64().unwrap() > 0.0);
    assert_eq!(of("agent_end")[0]["messages"].as_array().unwrap().len(), 5);
    assert!(of("agent_end")[0].get("willRetry").is_none());
    assert_eq!(of("agent_settled")[0]["aborted"], false);
    assert_eq!(of("tool_execution_start")[0]["args"], json!({"command": "echo hi"}));
    assert_eq!(of("tool_execution_end")[0]["isError"], false);
    let deltas: Vec<&str> = of("message_update")
        .iter()
        .filter_map(|update| update["assistantMessageEvent"]["type"].as_str())
        .collect();
    assert!(deltas.contains(&"toolcall_end") && deltas.contains(&"text_delta"), "{deltas:?}");
    for name in ["agent_start", "message_start", "tool_execution_end"] {
        assert!(!of(name).is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_panics_and_endless_waits_stay_in_their_call() {
    let failing = Handlers::new("test:failing")
        .on(|_: Input, _| async { Err::<InputAction, _>(ExtensionError::new("no input")) })
        .on_event(|event, _| async move {
            match event {
                SessionEvent::AgentStart => Err(ExtensionError::new("no start")),
                _ => Ok(()),
            }
        });
    let panicking = Handlers::new("test:panicking").on(|_: Input, _| async {
        assert!(!true.then_some(true).unwrap(), "on purpose");
        Ok(InputAction::Continue)
    });
    let waiting = Handlers::new("test:waiting")
        .on(|_: Input, _| std::future::pending::<Result<InputAction, ExtensionError>>());
    let working = Handlers::new("test:working").on(|input: Input, _| async move {
        Ok(InputAction::Transform { text: format!("{}!", input.text), images: None })
    });
    let test = with_extensions(vec![
        Arc::new(failing),
        Arc::new(panicking),
        Arc::new(waiting),
        Arc::new(working),
    ])
    .await;
    let failures = failures(&test);
    test.model.push(Reply::new().text("Yes."));
    let disposition = test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    assert_eq!(disposition, Disposition::Started);
    assert_eq!(test.session.user_messages().unwrap()[0].text, "Go!");
    assert_eq!(
        *failures.lock().unwrap(),
        [
            "test:failing input: no input",
            "test:panicking input: panicked: on purpose",
            "test:waiting input: no answer within 60 s",
            "test:failing agent_start: no start",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_fails_blocks_a_tool_call_and_a_command() {
    let failing = Handlers::new("test:failing")
        .on(|call: ToolCall, _| async move {
            assert_eq!(call.effects.runs, ["echo hi"]);
            Err::<ToolDecision, _>(ExtensionError::new("the gate is broken"))
        })
        .on(|_: UserBash, _| {
            std::future::ready(Err::<_, _>(ExtensionError::new("no commands today")))
        });
    let test = with_extensions(vec![Arc::new(failing)]).await;
    let failures = failures(&test);
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "echo hi"})));
    test.model.push(Reply::new().text("Blocked."));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    assert_eq!(tool_texts(&test), ["the gate is broken"]);
    assert_eq!(*failures.lock().unwrap(), [] as [String; 0], "the model sees the failure");
    let error = test.session.execute_bash("echo", BashOptions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "no commands today");
    assert_eq!(*failures.lock().unwrap(), ["test:failing user_bash: no commands today"]);
}

#[tokio::test]
async fn answers_are_merged_in_load_order() {
    let text = |message: &AgentMessage| serde_json::to_string(message).unwrap();
    let first = Handlers::new("test:first")
        .on(|result: ToolResult, _| async move {
            assert!(!result.is_error);
            let mut change = OutputChange::default();
            change.content = Some(vec![UserBlock::text("first")]);
            change.details = Some(json!({"from": "first"}));
            Ok(change)
        })
        .on(move |end: MessageEnd, _| async move {
            let replaced = match &end.message {
                // Another role is refused and reported.
                AgentMessage::Llm(Message::User(_)) => Some(Message::system("no").into()),
                _ => None,
            };
            Ok(ReplacedMessage(replaced))
        });
    let second = Handlers::new("test:second")
        .on(|result: ToolResult, _| async move {
            assert_eq!(result.result.content[0].as_text(), Some("first"));
            let mut change = OutputChange::default();
            change.content = Some(vec![UserBlock::text("second")]);
            Ok(change)
        })
        .on(move |context: Context, _| async move {
            assert!(context.messages.iter().all(|message| message.role() != "system"));
            let kept: Vec<AgentMessage> = context
                .messages
                .iter()
                .filter(|message| !text(message).contains("secret"))
                .cloned()
                .collect();
            Ok(ContextMessages::from(kept))
        })
        .on(|end: TurnEnd, _| async move {
            let mut boundary = Boundary::default();
            if end.0.turn_index == Some(0) {
                assert!(end.0.message_entry_id.is_some());
                assert_eq!(end.0.tool_result_entry_ids.len(), 1);
                boundary.entries = Some(vec![EntryBody::Custom {
                    custom_type: "test".to_owned(),
                    data: Some(json!(1)),
                }]);
            } else {
                // Messages cannot be appended this way: the whole answer is refused.
                boundary.entries = Some(vec![EntryBody::Message(Message::user("x").into())]);
                boundary.continues = Some(true);
            }
            Ok(boundary)
        });
    let test = with_extensions(vec![Arc::new(first), Arc::new(second)]).await;
    let failures = failures(&test);
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "true"})));
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("the secret is out", PromptOptions::default()).await.unwrap();
    assert_eq!(tool_texts(&test), ["second"]);
    let requests = test.model.requests();
    let users = requests[0].context.messages.iter().filter(|m| matches!(m, Message::User(_)));
    assert_eq!(users.count(), 0, "the prompt was filtered out of the request");
    assert_eq!(test.entries().iter().filter(|kind| *kind == "custom").count(), 1);
    let failures = failures.lock().unwrap();
    assert_eq!(
        failures[0],
        "test:first message_end: message_end handlers must return a message with the same role"
    );
    assert!(failures[1].contains("turn_end: Invalid boundary entries: "), "{failures:?}");
    assert_eq!(failures.len(), 2, "{failures:?}");
}

/// A user who answers dialogs after some time, or never.
struct SlowUser(Option<Duration>);

impl Ui for SlowUser {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(&self, _: Dialog, _: Option<Duration>) -> BoxFuture<'_, Option<DialogAnswer>> {
        Box::pin(async {
            match self.0 {
                Some(delay) => tokio::time::sleep(delay).await,
                None => std::future::pending().await,
            }
            Some(DialogAnswer::Confirmed(true))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn time_in_a_dialog_does_not_count_and_the_dialog_is_announced() {
    let asking = Handlers::new("test:asking").on(|_: ToolCall, context| async move {
        if context.ui().confirm("Run it?", "echo").await {
            return Ok(ToolDecision::allow());
        }
        Ok(ToolDecision::block("no"))
    });
    let (extensions, _) = Extensions::load(vec![Arc::new(asking)]).await;
    let test = TestSession::with(|parts| {
        parts.extensions = extensions;
        parts.ui = Arc::new(SlowUser(Some(Duration::from_secs(600))));
    });
    let prompts: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&prompts);
    test.session
        .subscribe(move |event| match event {
            SessionEvent::UiPromptStart { kind, title, .. } => {
                sink.lock().unwrap().push(format!("start {kind} {title:?}"));
            }
            SessionEvent::UiPromptEnd { kind, .. } => {
                sink.lock().unwrap().push(format!("end {kind}"));
            }
            _ => {}
        })
        .forever();
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "echo hi"})));
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    assert_eq!(tool_texts(&test), ["hi\n"]);
    assert_eq!(*prompts.lock().unwrap(), ["start confirm Some(\"Run it?\")", "end confirm"]);
}

#[tokio::test(start_paused = true)]
async fn dialogs_end_by_time_out_and_cancellation() {
    let test = TestSession::with(|parts| parts.ui = Arc::new(SlowUser(None)));
    let ui = test.session.extension_context().ui().clone();
    let dialog = || Dialog::Input { title: "Name".to_owned(), placeholder: None };
    let options =
        DialogOptions { timeout: Some(Duration::from_secs(5)), ..DialogOptions::default() };
    assert_eq!(ui.dialog(dialog(), options).await, None);
    let cancel = CancelToken::new();
    let options = DialogOptions { cancel: Some(cancel.clone()), ..DialogOptions::default() };
    let cancelling = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(ui.dialog(dialog(), options.clone()), cancelling);
    assert_eq!(answer, None);
    assert_eq!(ui.dialog(dialog(), options).await, None, "cancelled before it was shown");
}

#[tokio::test]
async fn a_summary_of_an_extension_is_used() {
    let received: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = Arc::clone(&received);
    let extension = Handlers::new("test:summary")
        .on(|question: BeforeCompact, _| async move {
            assert_eq!(question.reason, CompactionReason::Manual);
            assert_eq!(question.instructions.as_deref(), Some("briefly"));
            let payload = Question::from(question.clone()).payload();
            assert_eq!(payload["type"], "session_before_compact");
            assert!(payload["branchEntries"].as_array().unwrap().len() > 3);
            let files = json!({"read": [], "written": [], "edited": []});
            assert_eq!(payload["preparation"]["fileOps"], files);
            Ok(Compaction::Summary(Box::new(CompactionText {
                summary: "all of it".to_owned(),
                first_kept_entry_id: question.preparation.first_kept.clone(),
                tokens_before: question.preparation.tokens_before,
                ..CompactionText::default()
            })))
        })
        .on_event(move |event, _| {
            if let Some(("session_compact", payload)) = event.extension_event() {
                sink.lock().unwrap().push(payload);
            }
            std::future::ready(Ok(()))
        });
    let (extensions, _) = Extensions::load(vec![Arc::new(extension)]).await;
    let test = TestSession::with(|parts| {
        crate::session::small_window(parts);
        parts.extensions = extensions;
    });
    test.model.push(Reply::new().text("word ".repeat(2_000)));
    test.session.prompt(&"hello ".repeat(500), PromptOptions::default()).await.unwrap();
    test.model.push(Reply::new().text("two"));
    test.session.prompt("say two", PromptOptions::default()).await.unwrap();
    let result = test.session.compact(Some("briefly")).await.unwrap();
    assert_eq!(result.summary, "all of it");
    let received = received.lock().unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0]["fromExtension"], true);
    assert_eq!(received[0]["compactionEntry"]["summary"], "all of it");
}
