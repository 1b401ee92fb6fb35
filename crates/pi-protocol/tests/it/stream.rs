//! The contract of `AssistantStream`, with correct and with faulty sources.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use pi_protocol::{
    AssistantEvent, AssistantStream, CancelToken, MessageBuilder, Model, Source, StopReason,
};

/// A source that runs one step per poll, and records when it is dropped.
struct Scripted {
    steps: Vec<Step>,
    dropped: Arc<AtomicBool>,
}

impl Source for Scripted {
    fn poll(&mut self, _cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        if self.steps.is_empty() { Poll::Pending } else { self.steps.remove(0)(out) }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

type Step = Box<dyn FnOnce(&mut MessageBuilder) -> Poll<()> + Send>;

fn step(act: impl FnOnce(&mut MessageBuilder) + Send + 'static) -> Step {
    Box::new(move |out| {
        act(out);
        Poll::Ready(())
    })
}

fn stream(steps: Vec<Step>, cancel: CancelToken) -> (AssistantStream, Arc<AtomicBool>) {
    let dropped = Arc::new(AtomicBool::new(false));
    let source = Scripted { steps, dropped: Arc::clone(&dropped) };
    (AssistantStream::new(&Model::default(), source, cancel), dropped)
}

fn next(stream: &mut AssistantStream) -> Option<AssistantEvent> {
    stream.next().now_or_never().expect("the stream should not wait here")
}

fn all(mut stream: AssistantStream) -> (Vec<AssistantEvent>, AssistantStream) {
    let events = std::iter::from_fn(|| next(&mut stream)).collect();
    (events, stream)
}

#[test]
fn the_message_is_readable_while_it_streams() {
    let steps = vec![
        step(|out| {
            let index = out.text_start();
            out.delta(index, "Hel");
        }),
        step(|out| out.delta(0, "lo")),
        step(|out| out.finish(StopReason::Stop)),
    ];
    let (mut stream, _) = stream(steps, CancelToken::new());
    assert_eq!(stream.message().stop_reason, StopReason::Pending);
    assert_eq!(next(&mut stream), Some(AssistantEvent::Start));
    assert_eq!(next(&mut stream), Some(AssistantEvent::TextStart { content_index: 0 }));
    next(&mut stream);
    assert_eq!(stream.message().text(), "Hel");
    next(&mut stream);
    assert_eq!(stream.message().text(), "Hello");
    assert!(stream.finished().is_none());
    // The block that was left open is ended before the terminal event.
    assert_eq!(next(&mut stream), Some(AssistantEvent::TextEnd { content_index: 0 }));
    assert_eq!(next(&mut stream), Some(AssistantEvent::Done { reason: StopReason::Stop }));
    assert_eq!(next(&mut stream), None);
    let message = stream.finished().unwrap();
    assert_eq!((message.text().as_str(), message.duration_ms.is_some()), ("Hello", true));
}

#[test]
fn there_is_exactly_one_terminal_event() {
    let late: Vec<Step> = vec![step(|out| {
        out.start();
        out.finish(StopReason::Length);
        out.fail(StopReason::Error, "too late");
        out.finish(StopReason::Stop);
        let index = out.text_start();
        out.delta(index, "too late");
    })];
    let (events, stream) = all(stream(late, CancelToken::new()).0);
    assert_eq!(
        events,
        [AssistantEvent::Start, AssistantEvent::Done { reason: StopReason::Length }]
    );
    assert_eq!(stream.message().error_message, None);
}

#[test]
fn a_source_without_a_terminal_event_is_an_error() {
    let silent: Vec<Step> = vec![step(MessageBuilder::start), step(|_| {})];
    let (events, stream) = all(stream(silent, CancelToken::new()).0);
    assert_eq!(
        events,
        [AssistantEvent::Start, AssistantEvent::Error { reason: StopReason::Error }]
    );
    assert!(
        stream.message().error_message.as_deref().unwrap().contains("without a terminal event")
    );
}

#[test]
fn the_source_is_dropped_with_the_terminal_event() {
    let steps = vec![step(|out| out.fail(StopReason::Error, "boom"))];
    let (mut stream, dropped) = stream(steps, CancelToken::new());
    next(&mut stream);
    assert!(dropped.load(Ordering::SeqCst));
}

#[test]
fn cancellation_drops_the_source_without_a_poll() {
    let cancel = CancelToken::new();
    let steps = vec![step(|out| {
        let index = out.text_start();
        out.delta(index, "part");
    })];
    let (mut stream, dropped) = stream(steps, cancel.clone());
    assert_eq!(next(&mut stream), Some(AssistantEvent::Start));
    cancel.cancel();
    assert!(dropped.load(Ordering::SeqCst), "at the moment of cancellation");
    let (events, stream) = all(stream);
    // Events that had arrived are still delivered, and open blocks end.
    assert_eq!(
        events,
        [
            AssistantEvent::TextStart { content_index: 0 },
            AssistantEvent::TextDelta { content_index: 0, delta: "part".into() },
            AssistantEvent::TextEnd { content_index: 0 },
            AssistantEvent::Error { reason: StopReason::Aborted },
        ]
    );
    let message = stream.finished().unwrap();
    assert_eq!(message.error_message.as_deref(), Some("Request was aborted"));
    assert_eq!(message.text(), "part");
}

#[test]
fn cancellation_during_a_poll_does_not_deadlock() {
    let cancel = CancelToken::new();
    let inside = cancel.clone();
    let steps: Vec<Step> = vec![Box::new(move |out| {
        out.start();
        inside.cancel();
        Poll::Pending
    })];
    let (events, _) = all(stream(steps, cancel).0);
    assert_eq!(events.last(), Some(&AssistantEvent::Error { reason: StopReason::Aborted }));
}

#[test]
fn cancellation_after_the_end_has_no_effect() {
    let cancel = CancelToken::new();
    let (events, stream) =
        all(stream(vec![step(|out| out.finish(StopReason::Stop))], cancel.clone()).0);
    cancel.cancel();
    assert_eq!(events.last(), Some(&AssistantEvent::Done { reason: StopReason::Stop }));
    assert_eq!(stream.message().stop_reason, StopReason::Stop);
}

#[test]
fn tool_arguments_are_previewed_and_then_parsed_strictly() {
    let steps = vec![
        step(|out| {
            out.tool_call_start("c1", "read");
            out.delta(0, r#"{"path":"a.t"#);
        }),
        step(|out| {
            out.delta(0, r#"xt"}"#);
            out.end(0);
            out.tool_call_start("c2", "read");
            out.delta(1, r#"{"path": nope"#);
            out.finish(StopReason::ToolUse);
        }),
    ];
    let (mut stream, _) = stream(steps, CancelToken::new());
    for _ in 0..3 {
        next(&mut stream);
    }
    let shown = stream.message().tool_calls().next().unwrap().arguments.clone();
    assert_eq!(shown["path"], "a.t");
    let (_, stream) = all(stream);
    let message = stream.finished().unwrap();
    let calls: Vec<_> = message.tool_calls().collect();
    assert_eq!(calls[0].arguments["path"], "a.txt");
    assert!(calls[1].arguments.is_empty());
    assert!(calls[1].arguments_error.as_deref().unwrap().ends_with("{\"path\": nope"));
    let json = serde_json::to_string(&*message).unwrap();
    assert!(!json.contains("preview") && !json.contains("partial"), "no internal fields: {json}");
}

#[test]
fn a_failure_before_the_request_is_one_event() {
    let (events, stream) = all(AssistantStream::failed(&Model::default(), "no key"));
    assert_eq!(events, [AssistantEvent::Error { reason: StopReason::Error }]);
    assert_eq!(stream.message().error_message.as_deref(), Some("no key"));
}
