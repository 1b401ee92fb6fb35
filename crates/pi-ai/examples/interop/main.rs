//! Runs conversations with third-party servers and reports the outcome of each.
//!
//!     cargo run -p pi-ai --example interop -- PEER URL [JOURNAL-URL]
//!
//! `cargo xtask interop` starts the servers and runs this program; see `docs/interop.md`. It is an
//! example of pi-ai and not a part of xtask, so that the other tasks do not build an HTTP client,
//! and because it uses only the public API. It prints one line of JSON for each conversation; the
//! caller builds tables and sets the exit code.

mod admin;
mod behaviors;
mod conversation;
mod faults;
mod journal;
mod peer;
mod replays;
mod scenarios;
mod sockets;
mod switch;

use std::future::Future;
use std::time::Duration;

use serde_json::json;

use peer::{Format, Peer};

/// The outcome of a conversation; `Err` describes the problem.
type Outcome = Result<(), String>;

/// Time limits of a conversation with a scripted server and with a real model.
const TIME_LIMIT: Duration = Duration::from_secs(90);
const TIME_LIMIT_WITH_A_MODEL: Duration = Duration::from_secs(900);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, url, journal) = match arguments.as_slice() {
        [name, url] => (name, url, None),
        [name, url, journal] => (name, url, Some(journal.clone())),
        _ => return Err("usage: interop PEER URL [JOURNAL-URL]".to_owned()),
    };
    if name == "websockets" {
        return sockets::run(url).await;
    }
    let peer = Peer::named(name, url, journal).ok_or_else(|| format!("unknown peer: {name}"))?;
    match name.as_str() {
        "dsh" => return behaviors::run(&peer).await,
        "bedrock" => return replays::run(&peer).await,
        _ => {}
    }
    for format in &peer.formats {
        run_all(&peer, format).await;
    }
    if peer.formats.len() > 1 {
        run(&peer, None, "switch", switch::switch(&peer)).await;
        run(&peer, None, "switch, all pairs", switch::pairs(&peer)).await;
    }
    Ok(())
}

async fn run_all(peer: &Peer, format: &Format) {
    let some = Some(format);
    run(peer, some, "text", scenarios::text(peer, format)).await;
    run(peer, some, "tools", scenarios::tools(peer, format)).await;
    run(peer, some, "thinking", scenarios::thinking(peer, format)).await;
    run(peer, some, "images", scenarios::images(peer, format)).await;
    run(peer, some, "usage", scenarios::usage(peer, format)).await;
    run(peer, some, "abort", scenarios::abort(peer, format)).await;
    if peer.name == "aimock" {
        run(peer, some, "interleaved", scenarios::interleaved(peer, format)).await;
        run(peer, some, "errors", scenarios::errors(peer, format)).await;
        run(peer, some, "overflow", scenarios::overflow(peer, format)).await;
    }
    if peer.name == "smithy" {
        run(peer, some, "wrong secret", scenarios::wrong_secret(peer, format)).await;
    }
    if peer.name == "litellm" {
        run(peer, some, "wrong key", scenarios::wrong_key(peer, format)).await;
    }
    if peer.name == "llmock" {
        run(peer, some, "refusals", faults::refusals(peer, format)).await;
        run(peer, some, "broken streams", faults::broken_streams(peer, format)).await;
        run(peer, some, "final errors", faults::final_errors(peer, format)).await;
        run(peer, some, "broken calls", faults::broken_calls(peer, format)).await;
        run(peer, some, "overflow", faults::overflow(peer, format)).await;
    }
}

/// Runs a conversation, unless the peer does not support it, and reports the outcome.
async fn run(
    peer: &Peer,
    format: Option<&Format>,
    conversation: &str,
    talk: impl Future<Output = Outcome>,
) {
    let api = format.map_or("", |format| format.api);
    let label = format.map_or("all in turn".to_owned(), Format::label);
    if let Some(why) = peer.unsupported(api, conversation) {
        return report(&label, conversation, "skipped", why);
    }
    let limit = if peer.scripted { TIME_LIMIT } else { TIME_LIMIT_WITH_A_MODEL };
    // Boxed: the futures of whole conversations are large.
    let ended = match tokio::time::timeout(limit, Box::pin(talk)).await {
        Ok(ended) => ended,
        Err(_) => Err(format!("no end after {} s", limit.as_secs())),
    };
    let ended = match (ended, &peer.journal) {
        // As expected, no request reached aimock.
        (ended, Some(_)) if conversation == "wrong key" => ended,
        // The failures are wanted.
        (ended, Some(journal)) if matches!(conversation, "errors" | "overflow") => {
            let _ = journal::clear(journal).await;
            ended
        }
        (Ok(()), Some(journal)) => journal::check(journal, peer.numbers_calls(api)).await,
        (Err(why), Some(journal)) => {
            // The rest of the journal must not count for the next conversation.
            let _ = journal::clear(journal).await;
            Err(why)
        }
        (ended, None) => ended,
    };
    match ended {
        Ok(()) => report(&label, conversation, "ok", ""),
        Err(why) => report(&label, conversation, "FAILED", &why),
    }
}

#[allow(clippy::print_stdout)] // The output of this program.
fn report(format: &str, conversation: &str, outcome: &str, why: &str) {
    let row = json!({
        "format": format, "conversation": conversation, "outcome": outcome, "why": why,
    });
    println!("{row}");
}
