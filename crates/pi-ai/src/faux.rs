//! A scripted model for tests and demonstrations.
//!
//! [`Faux`] answers from a queue of [`Reply`]s or from a closure over the request, through the
//! same [`AssistantStream`] as any real model: in chunks, with pauses, errors in the middle of an
//! answer, streams that never end, and a simulated prompt cache. It needs no network and no key.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use pi_ai::faux::{Faux, Reply};
//! use pi_ai::{CancelToken, Context, complete};
//!
//! let model = Faux::new();
//! model.push(Reply::new().thinking("A greeting.").text("Hello!"));
//! let answer = complete(&model, model.request(Context::new().user("Hi")), CancelToken::new()).await;
//! assert_eq!(answer.text(), "Hello!");
//! assert_eq!(model.requests().len(), 1);
//! # }
//! ```

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll};
use std::time::Duration;

use pi_base::lock;
use pi_protocol::{
    AssistantStream, CacheRetention, CancelToken, Context, InputKind, MessageBuilder, Model,
    Provider, Request, Source, StopReason, StreamOptions, Usage,
};
use serde_json::Value;
use tokio::time::Sleep;

use crate::estimate;

/// A scripted model. Clones share the script and the record of requests.
#[derive(Clone, Default)]
pub struct Faux {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    queue: VecDeque<Reply>,
    respond: Option<Responder>,
    requests: Vec<Request>,
    /// The last prompt of each session, as the simulated cache.
    cached: HashMap<String, String>,
}

type Responder = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// A scripted answer, built block by block.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    blocks: Vec<Block>,
    chunk: Option<usize>,
    delay: Duration,
    ending: Ending,
    usage: Option<Usage>,
}

#[derive(Debug, Clone)]
enum Block {
    Text(String),
    Thinking(String),
    ToolCall { id: String, name: String, arguments: String },
}

#[derive(Debug, Clone, Default)]
enum Ending {
    /// `ToolUse` if there are tool calls, else `Stop`.
    #[default]
    Natural,
    Stop(StopReason),
    Fail(StopReason, String),
    /// No end until the request is cancelled.
    Hang,
}

impl Reply {
    /// Creates an empty answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text block.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Adds a thinking block.
    #[must_use]
    pub fn thinking(mut self, thinking: impl Into<String>) -> Self {
        self.blocks.push(Block::Thinking(thinking.into()));
        self
    }

    /// Adds a tool call; its id is `call_1`, `call_2` and so on within the answer.
    #[must_use]
    pub fn tool_call(self, name: impl Into<String>, arguments: &Value) -> Self {
        let id = format!("call_{}", self.calls() + 1);
        self.raw_tool_call(id, name, arguments.to_string())
    }

    /// Adds a tool call with this id and argument text, which need not be JSON.
    #[must_use]
    pub fn raw_tool_call(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        let (id, name, arguments) = (id.into(), name.into(), arguments.into());
        self.blocks.push(Block::ToolCall { id, name, arguments });
        self
    }

    /// Sends deltas of this many characters. The default is one delta per block.
    #[must_use]
    pub fn chunks_of(mut self, characters: usize) -> Self {
        self.chunk = Some(characters.max(1));
        self
    }

    /// Waits before each delta.
    #[must_use]
    pub fn wait_between(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Ends with this reason instead of `Stop` or `ToolUse`.
    #[must_use]
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.ending = Ending::Stop(reason);
        self
    }

    /// Fails with this error after the blocks.
    #[must_use]
    pub fn fail(mut self, error: impl Into<String>) -> Self {
        self.ending = Ending::Fail(StopReason::Error, error.into());
        self
    }

    /// Ends as aborted after the blocks.
    #[must_use]
    pub fn aborted(mut self) -> Self {
        self.ending = Ending::Fail(StopReason::Aborted, "Request was aborted".to_owned());
        self
    }

    /// Does not end after the blocks, until the request is cancelled.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.ending = Ending::Hang;
        self
    }

    /// Reports this usage instead of an estimate.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    fn calls(&self) -> usize {
        self.blocks.iter().filter(|block| matches!(block, Block::ToolCall { .. })).count()
    }

    fn length(&self) -> usize {
        self.blocks.iter().map(|block| block.text_of().chars().count()).sum()
    }
}

impl Block {
    fn text_of(&self) -> &str {
        match self {
            Self::Text(text) | Self::Thinking(text) => text,
            Self::ToolCall { arguments, .. } => arguments,
        }
    }
}

impl Faux {
    /// Creates a model without a script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a model that answers with `respond` if its queue is empty.
    pub fn responding(respond: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let faux = Self::new();
        lock(&faux.shared).respond = Some(Arc::new(respond));
        faux
    }

    /// Queues an answer. With an empty queue and no closure, a request fails.
    pub fn push(&self, reply: Reply) {
        lock(&self.shared).queue.push_back(reply);
    }

    /// Returns the number of queued answers.
    pub fn pending(&self) -> usize {
        lock(&self.shared).queue.len()
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared).requests.clone()
    }

    /// Returns the record of this model.
    pub fn model() -> Model {
        Model {
            id: "faux-1".to_owned(),
            name: "Faux (scripted)".to_owned(),
            api: "faux".to_owned(),
            provider: "faux".to_owned(),
            reasoning: true,
            input: vec![InputKind::Text, InputKind::Image],
            context_window: 128_000,
            max_tokens: 16_384,
            ..Model::default()
        }
    }

    /// Creates a request to this model with default options.
    pub fn request(&self, context: Context) -> Request {
        Request::new(Arc::new(Self::model()), context, StreamOptions::default())
    }
}

impl Provider for Faux {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let (queued, respond) = {
            let mut shared = lock(&self.shared);
            shared.requests.push(request.clone());
            (shared.queue.pop_front(), shared.respond.clone())
        };
        // The closure runs without the lock, so that it can use this model.
        let reply = queued.or_else(|| respond.map(|respond| respond(&request)));
        let reply = reply.unwrap_or_else(|| {
            Reply::new().fail("The scripted model has no answer left for this request")
        });
        let usage =
            reply.usage.clone().unwrap_or_else(|| lock(&self.shared).usage(&request, &reply));
        AssistantStream::new(&request.model, Script::new(reply, usage), cancel)
    }
}

impl Shared {
    /// Estimates the tokens. The common prefix with the last prompt of the session counts as cached.
    fn usage(&mut self, request: &Request, reply: &Reply) -> Usage {
        let messages = request.context.clone().normalize();
        let mut usage = Usage { output: tokens(reply.length()), ..Usage::default() };
        let options = &request.options;
        match &options.session_id {
            Some(session) if options.cache_retention != Some(CacheRetention::None) => {
                let prompt = serde_json::to_string(&messages).unwrap_or_default();
                let before = self.cached.insert(session.clone(), prompt.clone());
                let before = before.unwrap_or_default();
                let shared = prompt.chars().zip(before.chars()).take_while(|(a, b)| a == b).count();
                usage.cache_read = tokens(shared);
                usage.cache_write = tokens(prompt.chars().count()).saturating_sub(usage.cache_read);
            }
            _ => usage.input = estimate::context_tokens(&messages),
        }
        usage.sum_total();
        usage.price(&request.model.cost);
        usage
    }
}

fn tokens(characters: usize) -> u64 {
    (characters as u64).div_ceil(4)
}

impl std::fmt::Debug for Faux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faux").field("pending", &self.pending()).finish_non_exhaustive()
    }
}

/// A step of a scripted answer.
enum Step {
    Begin(Block),
    Delta(String),
    EndBlock,
    Finish(Ending),
}

struct Script {
    steps: VecDeque<Step>,
    usage: Usage,
    has_calls: bool,
    open: usize,
    delay: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Script {
    fn new(reply: Reply, usage: Usage) -> Self {
        let has_calls = reply.calls() > 0;
        let mut steps = VecDeque::new();
        for block in reply.blocks {
            let text = block.text_of().to_owned();
            steps.push_back(Step::Begin(block));
            match reply.chunk {
                Some(size) => {
                    let characters: Vec<char> = text.chars().collect();
                    steps.extend(characters.chunks(size).map(|c| Step::Delta(c.iter().collect())));
                }
                None if text.is_empty() => {}
                None => steps.push_back(Step::Delta(text)),
            }
            steps.push_back(Step::EndBlock);
        }
        steps.push_back(Step::Finish(reply.ending));
        Self { steps, usage, has_calls, open: 0, delay: reply.delay, timer: None }
    }
}

impl Source for Script {
    fn poll(&mut self, cx: &mut task::Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        if let Some(timer) = &mut self.timer {
            task::ready!(timer.as_mut().poll(cx));
            self.timer = None;
        }
        out.start();
        match self.steps.pop_front() {
            Some(Step::Begin(block)) => {
                self.open = match block {
                    Block::Text(_) => out.text_start(),
                    Block::Thinking(_) => out.thinking_start(),
                    Block::ToolCall { id, name, .. } => out.tool_call_start(id, name),
                };
            }
            Some(Step::Delta(delta)) => out.delta(self.open, &delta),
            Some(Step::EndBlock) => out.end(self.open),
            Some(Step::Finish(ending)) => {
                out.message_mut().usage = self.usage.clone();
                match ending {
                    Ending::Natural if self.has_calls => out.finish(StopReason::ToolUse),
                    Ending::Natural => out.finish(StopReason::Stop),
                    Ending::Stop(reason) => out.finish(reason),
                    Ending::Fail(reason, error) => out.fail(reason, error),
                    Ending::Hang => {}
                }
            }
            // Only a script that hangs is polled after its end; cancellation wakes the task.
            None => return Poll::Pending,
        }
        if matches!(self.steps.front(), Some(Step::Delta(_))) && !self.delay.is_zero() {
            self.timer = Some(Box::pin(tokio::time::sleep(self.delay)));
        }
        if out.has_events() { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::{AssistantEvent, complete};
    use serde_json::json;

    use super::*;

    async fn events(faux: &Faux) -> (Vec<AssistantEvent>, Arc<pi_protocol::AssistantMessage>) {
        let request = faux.request(Context::new().user("hi"));
        let mut stream = faux.stream(request, CancelToken::new());
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        (events, stream.finished().unwrap())
    }

    #[tokio::test]
    async fn a_reply_becomes_events_and_a_message() {
        let faux = Faux::new();
        faux.push(
            Reply::new()
                .thinking("hm")
                .text("héllo")
                .tool_call("read", &json!({"path": "a"}))
                .chunks_of(3),
        );
        let (events, message) = events(&faux).await;
        let deltas: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                AssistantEvent::TextDelta { delta, .. } => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(deltas, ["hél", "lo"]);
        assert_eq!(message.stop_reason, StopReason::ToolUse);
        let call = message.tool_calls().next().unwrap();
        assert_eq!((call.id.as_str(), &call.arguments["path"]), ("call_1", &json!("a")));
        assert_eq!(events.last(), Some(&AssistantEvent::Done { reason: StopReason::ToolUse }));
    }

    #[tokio::test]
    async fn a_reply_can_fail_and_an_empty_queue_fails() {
        let faux = Faux::new();
        faux.push(Reply::new().text("so f").fail("boom"));
        let (_, message) = events(&faux).await;
        assert_eq!(
            (message.text().as_str(), message.error_message.as_deref()),
            ("so f", Some("boom"))
        );
        let (_, message) = events(&faux).await;
        assert_eq!(message.stop_reason, StopReason::Error);
        assert!(message.error_message.as_deref().unwrap().contains("no answer left"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_can_pause_and_hang_until_cancelled() {
        let faux = Faux::responding(|_| {
            Reply::new().text("abc").chunks_of(1).wait_between(Duration::from_secs(1)).hang()
        });
        let cancel = CancelToken::new();
        let mut stream = faux.stream(faux.request(Context::new()), cancel.clone());
        let started = tokio::time::Instant::now();
        while stream.message().text() != "abc" {
            stream.next().await.unwrap();
        }
        assert_eq!(started.elapsed(), Duration::from_secs(3));
        tokio::spawn(async move { cancel.cancel() });
        let message = stream.result().await;
        assert_eq!((message.text().as_str(), &message.stop_reason), ("abc", &StopReason::Aborted));
    }

    #[tokio::test]
    async fn each_session_has_a_simulated_prompt_cache() {
        let faux = Faux::responding(|_| Reply::new().text("ok"));
        let mut request = faux.request(Context::new().user("a long enough prompt to be counted"));
        request.options.session_id = Some("s".to_owned());
        let ask = |request: &Request| complete(&faux, request.clone(), CancelToken::new());
        let first = ask(&request).await.usage.clone();
        let second = ask(&request).await.usage.clone();
        assert_eq!((first.cache_read, second.cache_write), (0, 0));
        assert_eq!(first.cache_write, second.cache_read);
        request.options.cache_retention = Some(CacheRetention::None);
        assert!(ask(&request).await.usage.input > 0);
    }
}
