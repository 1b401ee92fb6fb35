//! Any order of events: no panic, and no line that is wider than the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_agent::ToolOutput;
use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::{BashResult, MessageDelta, SessionEvent};
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, Message, StopReason, ToolCall,
    ToolResultMessage, Usage, UserBlock,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::Transcript;
use super::{lines, load_grammars, options};

/// Texts that are long, wide, hostile or empty.
const TEXTS: &[&str] = &[
    "",
    " ",
    "word word word word word word word word word word word word",
    "```rust\nfn main() {\n\tlet x = 1;\n}\n```\n",
    "| a | b |\n|---|---|\n| a long cell of a table | 日本語の文章 |\n",
    "\u{1b}[31mred\u{1b}]0;title\u{7}\r\n\u{202e}",
    "日本語👩‍👩‍👧‍👦🇩🇪\n\n- list\n    - deeper\n",
    "{\"path\":\"a\",\"content\":\"x\\ny\",\"command\":\"ls\"",
    "unbroken_____________________________________________________________________",
];

const TOOLS: &[&str] = &["bash", "read", "write", "edit", "grep", "find", "ls", "other", ""];

fn text() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TEXTS)
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    (text(), text()).prop_map(|(path, content)| {
        let value = json!({
            "path": path, "content": content, "command": content, "pattern": path,
            "edits": [{ "oldText": path, "newText": content }],
        });
        value.as_object().cloned().unwrap_or_default()
    })
}

fn call() -> impl Strategy<Value = ToolCall> {
    (0..3u8, prop::sample::select(TOOLS), arguments()).prop_map(|(id, name, arguments)| ToolCall {
        id: format!("call {id}"),
        name: name.to_owned(),
        arguments,
        ..ToolCall::default()
    })
}

fn answer() -> impl Strategy<Value = AgentMessage> {
    let reasons = [
        StopReason::Stop,
        StopReason::Length,
        StopReason::Error,
        StopReason::Aborted,
        StopReason::ToolUse,
    ];
    let block = prop_oneof![
        text().prop_map(AssistantBlock::text),
        text().prop_map(AssistantBlock::thinking),
        call().prop_map(AssistantBlock::ToolCall),
    ];
    (prop::collection::vec(block, 0..3), prop::sample::select(reasons.to_vec()), text()).prop_map(
        |(content, stop_reason, error)| {
            let error_message = Some(error.to_owned());
            let message =
                AssistantMessage { content, stop_reason, error_message, ..Default::default() };
            Message::Assistant(Arc::new(message)).into()
        },
    )
}

fn delta() -> impl Strategy<Value = MessageDelta> {
    let content_index = 0..3usize;
    prop_oneof![
        (content_index.clone(), text()).prop_map(|(content_index, delta)| {
            MessageDelta::TextDelta { content_index, delta: delta.to_owned() }
        }),
        (content_index.clone(), text()).prop_map(|(content_index, text)| {
            MessageDelta::TextEnd { content_index, content: Some(text.to_owned()) }
        }),
        (content_index.clone(), text()).prop_map(|(content_index, delta)| {
            MessageDelta::ThinkingDelta { content_index, delta: delta.to_owned() }
        }),
        (content_index.clone(), text()).prop_map(|(content_index, text)| {
            MessageDelta::ThinkingEnd { content_index, content: Some(text.to_owned()) }
        }),
        (content_index.clone(), call()).prop_map(|(content_index, call)| {
            MessageDelta::ToolCallStart {
                content_index,
                id: Some(call.id),
                tool_name: Some(call.name),
            }
        }),
        (content_index.clone(), text()).prop_map(|(content_index, delta)| {
            MessageDelta::ToolCallDelta { content_index, delta: delta.to_owned() }
        }),
        (content_index, call()).prop_map(|(content_index, call)| MessageDelta::ToolCallEnd {
            content_index,
            tool_call: Some(Box::new(AssistantBlock::ToolCall(call))),
        }),
    ]
}

fn output() -> impl Strategy<Value = Arc<ToolOutput>> {
    text().prop_map(|text| {
        let details = json!({ "diff": text, "truncation": { "truncated": true } });
        let mut output = ToolOutput::text(text).with_details(details);
        output.content.push(UserBlock::image("AAAA", "image/png"));
        Arc::new(output)
    })
}

fn event() -> impl Strategy<Value = SessionEvent> {
    let result = (call(), text(), any::<bool>()).prop_map(|(call, text, is_error)| {
        let message = ToolResultMessage {
            tool_call_id: call.id,
            tool_name: call.name,
            content: vec![UserBlock::text(text)],
            is_error,
            ..ToolResultMessage::default()
        };
        AgentMessage::from(Message::ToolResult(Arc::new(message)))
    });
    let message =
        prop_oneof![answer(), text().prop_map(|text| Message::user(text).into()), result,];
    let streamed = delta().prop_map(|assistant_message_event| SessionEvent::MessageUpdate {
        message: None,
        usage: Usage::default(),
        assistant_message_event,
    });
    let ended = message.prop_map(|message| SessionEvent::MessageEnd { message });
    let other = prop_oneof![
        answer().prop_map(|message| SessionEvent::MessageStart { message }),
        call().prop_map(|call| SessionEvent::ToolExecutionStart {
            tool_call_id: call.id,
            tool_name: call.name,
            args: Arc::new(call.arguments),
            parent_tool_call_id: None,
        }),
        (call(), output()).prop_map(|(call, partial_result)| SessionEvent::ToolExecutionUpdate {
            tool_call_id: call.id,
            tool_name: call.name,
            args: Arc::default(),
            partial_result,
            parent_tool_call_id: None,
        }),
        (call(), output(), any::<bool>()).prop_map(|(call, result, is_error)| {
            SessionEvent::ToolExecutionEnd {
                tool_call_id: call.id,
                tool_name: call.name,
                result,
                is_error,
                duration_ms: Some(1234),
                parent_tool_call_id: None,
            }
        }),
        Just(SessionEvent::AgentStart),
        Just(SessionEvent::AgentEnd { messages: Arc::new([]), will_retry: false }),
        Just(SessionEvent::AgentSettled { aborted: false }),
        Just(SessionEvent::AutoRetryStart {
            attempt: 1,
            max_attempts: 3,
            delay_ms: 1,
            error_message: String::new(),
        }),
        any::<bool>().prop_map(|success| SessionEvent::AutoRetryEnd {
            success,
            attempt: 1,
            final_error: None,
        }),
        text().prop_map(|delta| SessionEvent::BashExecutionUpdate {
            id: Some("1".to_owned()),
            delta: delta.to_owned(),
        }),
    ];
    prop_oneof![10 => streamed, 4 => ended, 10 => other]
}

/// Steps beside the events of the session.
#[derive(Debug, Clone)]
enum Step {
    Event(Box<SessionEvent>),
    Status,
    Notice(&'static str),
    ShellStart(&'static str),
    ShellEnd(&'static str),
    Expanded(bool),
    HideThinking(bool),
    Tick(u64),
    Click(usize),
    Draw(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => event().prop_map(|event| Step::Event(Box::new(event))),
        1 => Just(Step::Status),
        1 => text().prop_map(Step::Notice),
        1 => text().prop_map(Step::ShellStart),
        1 => text().prop_map(Step::ShellEnd),
        1 => any::<bool>().prop_map(Step::Expanded),
        1 => any::<bool>().prop_map(Step::HideThinking),
        1 => (0..100_000u64).prop_map(Step::Tick),
        1 => (0..60usize).prop_map(Step::Click),
        3 => prop::sample::select(vec![0, 1, 2, 3, 5, 20, 80]).prop_map(Step::Draw),
    ]
}

fn check(transcript: &mut Transcript, width: usize) {
    for line in lines(transcript, width) {
        assert!(line.width() <= width, "{} > {width}: {line:?}", line.width());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_order_of_events(steps in prop::collection::vec(step(), 0..60)) {
        load_grammars();
        let mut transcript = Transcript::new(options());
        let start = Instant::now();
        for step in steps {
            match step {
                Step::Event(event) => transcript.on_event(&event),
                Step::Status => transcript.status("status".to_owned()),
                Step::Notice(text) => {
                    transcript.notice(NotifyKind::Error, text.to_owned(), Some(text.to_owned()));
                }
                Step::ShellStart(text) => transcript.shell_started("1", text, false),
                Step::ShellEnd(text) => {
                    let result = BashResult { output: text.to_owned(), ..BashResult::default() };
                    transcript.shell_ended("1", &Ok(result));
                }
                Step::Expanded(expanded) => transcript.set_expanded(expanded),
                Step::HideThinking(hide) => transcript.set_hide_thinking(hide),
                Step::Tick(ms) => drop(transcript.tick(start + Duration::from_millis(ms))),
                Step::Click(row) => {
                    if let Some((id, line)) = transcript.blocks().at_row(row) {
                        transcript.toggle(id, line);
                    }
                }
                Step::Draw(width) => check(&mut transcript, width),
            }
        }
        for width in [0, 1, 2, 4, 40, 80] {
            check(&mut transcript, width);
        }
        // Drawn from the same state again, nothing is different.
        let once = lines(&mut transcript, 40);
        prop_assert!(once == lines(&mut transcript, 40));
    }
}
