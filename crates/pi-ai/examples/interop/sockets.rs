//! Conversations over WebSockets with a server of the PyPI package `websockets`.
//!
//! The behavior of the server depends on the path; see `xtask/data/interop/socket_server.py`. Each
//! conversation ends with a look at the journal of the server.

use std::sync::Arc;
use std::time::Duration;

use pi_ai::{
    AssistantMessage, Client, Context, Message, Model, StopReason, StreamOptions, Tool, Transport,
    UserBlock,
};
use serde_json::{Value, json};

use crate::{Outcome, admin, report};

const API: &str = "openai-codex-responses";

/// A token of the account `acc-1`.
const TOKEN: &str =
    "h.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTEifX0.s";

/// Runs all conversations.
pub(crate) async fn run(url: &str) -> Result<(), String> {
    let outcomes = [
        ("continuation", continuation(Talk::new(url, "plain")?).await),
        ("forgotten response", forgotten(Talk::new(url, "forgotten")?).await),
        ("connection limit", limit(Talk::new(url, "limit")?).await),
        ("close in mid-stream", midway(Talk::new(url, "midway")?).await),
        ("age limit", age(Talk::new(url, "age")?).await),
        ("pings while waiting", pings(Talk::new(url, "pings")?).await),
        ("abort", abort(Talk::new(url, "hang")?).await),
    ];
    for (conversation, outcome) in outcomes {
        match outcome {
            Ok(()) => report(API, conversation, "ok", ""),
            Err(why) => report(API, conversation, "FAILED", &why),
        }
    }
    Ok(())
}

struct Talk {
    client: Client,
    model: Arc<Model>,
    context: Context,
    journal: String,
}

impl Talk {
    fn new(url: &str, mode: &str) -> Result<Self, String> {
        let model = json!({
            "id": "gpt", "api": API, "provider": "openai-codex", "reasoning": true,
            "baseUrl": format!("{url}/{mode}"),
        });
        let model = serde_json::from_value(model).map_err(|error| error.to_string())?;
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        Ok(Self {
            client: Client::new(|_| None).with_key("openai-codex", TOKEN),
            model: Arc::new(model),
            context: Context::new().system("Be brief.").tool(Tool::new("echo", "Echoes.", schema)),
            journal: format!("{url}/journal/{mode}"),
        })
    }

    fn options() -> StreamOptions {
        let mut options = StreamOptions::default();
        options.session_id = Some("interop".to_owned());
        options.transport = Transport::Auto;
        options
    }

    async fn say(&mut self, text: &str) -> Arc<AssistantMessage> {
        self.context = self.context.clone().user(text);
        self.answer().await
    }

    async fn answer(&mut self) -> Arc<AssistantMessage> {
        let answer = self.client.complete(&self.model, self.context.clone(), Self::options()).await;
        self.context = self.context.clone().message(Message::Assistant(Arc::clone(&answer)));
        answer
    }

    /// Returns the entries of the journal with this member.
    async fn journal(&self, member: &str) -> Result<Vec<Value>, String> {
        let journal = admin::get(&self.journal).await?;
        let entries = journal.as_array().cloned().unwrap_or_default();
        Ok(entries.into_iter().filter(|entry| entry.get(member).is_some()).collect())
    }
}

fn expect(is_met: bool, what: impl Fn() -> String) -> Outcome {
    if is_met { Ok(()) } else { Err(what()) }
}

fn answered(message: &AssistantMessage, text: &str) -> Outcome {
    let is_met = message.stop_reason == StopReason::Stop
        && message.text() == text
        && message.diagnostics.is_empty();
    expect(is_met, || format!("expected {text:?}, not {message:?}"))
}

async fn continuation(mut talk: Talk) -> Outcome {
    let message = talk.say("Call the tool.").await;
    let call = message.tool_calls().next().cloned();
    let call = call.ok_or_else(|| format!("no call: {message:?}"))?;
    expect(call.arguments.get("text") == Some(&json!("grüße")), || format!("{call:?}"))?;
    let result = Message::tool_result(&call, vec![UserBlock::text("grüße")], false);
    talk.context = talk.context.clone().message(result);
    answered(&*talk.answer().await, "Answer 2.")?;
    let last = talk.say("Once more.").await;
    answered(&last, "Answer 3.")?;
    let usage = &last.usage;
    expect((usage.input, usage.cache_read, usage.output) == (6, 4, 3), || format!("{usage:?}"))?;
    let frames = talk.journal("frame").await?;
    let previous: Vec<&Value> =
        frames.iter().map(|frame| &frame["body"]["previous_response_id"]).collect();
    expect(previous == [&Value::Null, &json!("resp_1"), &json!("resp_2")], || {
        format!("previous responses: {previous:?}")
    })?;
    let sizes: Vec<usize> =
        frames.iter().map(|frame| frame["body"]["input"].as_array().map_or(0, Vec::len)).collect();
    expect(sizes == [1, 1, 1], || format!("items of the requests: {sizes:?}"))?;
    let connections = talk.journal("connect").await?;
    expect(connections.len() == 1, || format!("{} connections", connections.len()))?;
    let headers = &connections[0]["headers"];
    expect(headers["openai-beta"] == "responses_websockets=2026-02-06", || headers.to_string())
}

async fn forgotten(mut talk: Talk) -> Outcome {
    talk.say("1").await;
    answered(&*talk.say("2").await, "Answer 3.")?;
    let frames = talk.journal("frame").await?;
    let last = &frames.last().ok_or("no frames")?["body"];
    let whole =
        last["previous_response_id"].is_null() && last["input"].as_array().map(Vec::len) == Some(3);
    expect(frames.len() == 3 && whole, || format!("not sent whole: {last}"))
}

async fn limit(mut talk: Talk) -> Outcome {
    talk.say("1").await;
    answered(&*talk.say("2").await, "Answer 3.")?;
    let connections = talk.journal("connect").await?;
    expect(connections.len() == 2, || format!("{} connections", connections.len()))
}

async fn midway(mut talk: Talk) -> Outcome {
    let failed = talk.say("1").await;
    let text = failed.error_message.clone().unwrap_or_default();
    expect(text.contains("code 1011: internal error") && failed.text() == "Answer 1.", || {
        format!("{failed:?}")
    })?;
    expect(pi_ai::is_retryable(&failed), || format!("not retryable: {text}"))
}

async fn age(mut talk: Talk) -> Outcome {
    answered(&*talk.say("1").await, "Answer 1.")?;
    answered(&*talk.say("2").await, "Answer 2.")?;
    let connections = talk.journal("connect").await?;
    expect(connections.len() == 2, || format!("{} connections", connections.len()))
}

async fn pings(mut talk: Talk) -> Outcome {
    answered(&*talk.say("1").await, "Answer 1.")?;
    // Longer than the server waits for the answer to a ping.
    tokio::time::sleep(Duration::from_secs(1)).await;
    answered(&*talk.say("2").await, "Answer 2.")?;
    let (connections, pongs) = (talk.journal("connect").await?, talk.journal("pong").await?);
    expect(connections.len() == 1, || format!("{} connections", connections.len()))?;
    expect(pongs.len() >= 4, || format!("{} pings were answered", pongs.len()))
}

async fn abort(mut talk: Talk) -> Outcome {
    let context = talk.context.clone().user("1");
    let mut stream = talk.client.stream(&talk.model, context, Talk::options());
    stream.next().await;
    stream.cancel();
    let message = stream.result().await;
    expect(message.stop_reason == StopReason::Aborted, || format!("{message:?}"))?;
    answered(&*talk.say("2").await, "Answer 2.")?;
    let connections = talk.journal("connect").await?;
    expect(connections.len() == 2, || format!("{} connections", connections.len()))
}
