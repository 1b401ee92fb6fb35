//! `pi demo`: one question, one streamed answer, from a scripted model or a real one.
//!
//! Both go through the same [`Provider`] and the same stream; only the answer goes to stdout.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use pi_ai::faux::{Faux, Reply};
use pi_ai::{
    AssistantEvent, CancelToken, Client, Context, Provider, Request, StopReason, StreamOptions,
};

use crate::exit::{Exit, complain, on_write_error};
use crate::flags::parse::Given;

const SCRIPT: &str = "\
Hello! I am a scripted model: every word of this was written beforehand, and I understand \
nothing. I came through the same stream as a real answer would: request, events, text as it \
arrives. No key was needed, and nothing left this machine.

To hear from a real model, put its key into the environment and name it:

    export ANTHROPIC_API_KEY=...
    pi demo --model anthropic/claude-sonnet-4-5 \"Why is the sky blue?\"

The same works for openai/..., google/..., openrouter/... and the other providers.
";

/// A model named as `PROVIDER/ID`; the id may itself contain slashes.
struct ModelName<'a> {
    provider: &'a str,
    id: &'a str,
}

impl<'a> ModelName<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (provider, id) = text.split_once('/')?;
        (!provider.is_empty() && !id.is_empty()).then_some(Self { provider, id })
    }
}

/// Runs the demo.
pub(crate) fn run(given: &Given) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("could not start: {error}"), Exit::Failed),
    };
    let words = given.words.join(" ");
    let prompt = if words.trim().is_empty() { "Who are you?" } else { &words };
    let context = Context::new().user(prompt);
    let thinking = given.value("thinking").and_then(|level| level.parse().ok());
    let stream_options = StreamOptions { reasoning: thinking, ..StreamOptions::default() };
    match given.value("model").map(|model| ModelName::parse(model).ok_or(model)) {
        Some(Err(model)) => {
            complain(&format!("--model takes PROVIDER/ID, not \"{model}\""), Exit::Usage)
        }
        None => {
            let faux = scripted();
            let request = Request { options: stream_options, ..faux.request(context) };
            runtime.block_on(print_answer(&faux, request))
        }
        Some(Ok(name)) => {
            let client = Client::from_env();
            let model = match client.model(name.provider, name.id) {
                Ok(model) => model,
                Err(error) => {
                    let hint = similar_models(&client, &name);
                    return complain(&format!("{error}{hint}"), Exit::Failed);
                }
            };
            let request = Request { model, context, options: stream_options };
            runtime.block_on(print_answer(&client, request))
        }
    }
}

/// The scripted model. In front of a person it types at a readable pace.
fn scripted() -> Faux {
    let faux = Faux::new();
    let pace = Duration::from_millis(if std::io::stdout().is_terminal() { 12 } else { 0 });
    faux.push(Reply::new().text(SCRIPT).chunks_of(4).wait_between(pace));
    faux
}

/// Prints the answer as it streams.
async fn print_answer(provider: &dyn Provider, request: Request) -> ExitCode {
    let cancel = CancelToken::new();
    let mut stream = provider.stream(request, cancel.clone());
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
    });
    let mut stdout = std::io::stdout().lock();
    let mut ends_with_newline = true;
    while let Some(event) = stream.next().await {
        if let AssistantEvent::TextDelta { delta, .. } = event {
            ends_with_newline = delta.ends_with('\n');
            if let Err(error) = stdout.write_all(delta.as_bytes()).and_then(|()| stdout.flush()) {
                return on_write_error(&error);
            }
        }
    }
    if !ends_with_newline && let Err(error) = stdout.write_all(b"\n") {
        return on_write_error(&error);
    }
    let message = stream.message();
    let error = message.error_message.as_deref().unwrap_or("the request failed");
    match message.stop_reason {
        StopReason::Aborted => complain("interrupted", Exit::Interrupted),
        StopReason::Error => complain(error, Exit::Failed),
        StopReason::Length => complain("the answer was cut at the output limit", Exit::Truncated),
        _ if message.text().is_empty() => complain("the model gave no answer", Exit::Failed),
        _ => Exit::Success.into(),
    }
}

/// A hint naming models that share most with the one asked for.
fn similar_models(client: &Client, name: &ModelName<'_>) -> String {
    let mut models = client.models(name.provider);
    let shared = |id: &str| id.chars().zip(name.id.chars()).take_while(|(a, b)| a == b).count();
    models.sort_by_key(|model| std::cmp::Reverse(shared(&model.id)));
    let ids: Vec<&str> = models.iter().take(5).map(|model| model.id.as_str()).collect();
    if ids.is_empty() { String::new() } else { format!("; it has for example {}", ids.join(", ")) }
}
