//! Holds conversations with a server that somebody else wrote, and says how each went.
//!
//!     cargo run -p pi-ai --example interop -- PEER URL [JOURNAL-URL]
//!
//! `cargo xtask interop` starts the servers and runs this; see `docs/interop.md`. It is an example
//! of pi-ai and not a part of xtask so that the other tasks need no HTTP client to be built, and
//! because it is just that: the public interface in use. It prints one line of JSON for each
//! conversation and leaves tables and exit codes to its caller.

mod admin;
mod ask;
mod behaviours;
mod faults;
mod journal;
mod peer;
mod talk;
mod talk_switch;

use std::future::Future;
use std::time::Duration;

use serde_json::json;

use peer::{Format, Peer};

/// What a conversation comes to: `Err` says what was wrong with it.
type Outcome = Result<(), String>;

/// No conversation with a scripted server takes longer; one with a real model may.
const PATIENCE: Duration = Duration::from_secs(90);
const PATIENCE_WITH_A_MODEL: Duration = Duration::from_secs(900);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, url, journal) = match arguments.as_slice() {
        [name, url] => (name, url, None),
        [name, url, journal] => (name, url, Some(journal.clone())),
        _ => return Err("usage: interop PEER URL [JOURNAL-URL]".to_owned()),
    };
    let peer = Peer::named(name, url, journal).ok_or_else(|| format!("unknown peer: {name}"))?;
    if name == "dsh" {
        return behaviours::run(&peer).await;
    }
    for format in &peer.formats {
        talk_in(&peer, format).await;
    }
    hold(&peer, None, "switch", talk_switch::switch(&peer)).await;
    Ok(())
}

async fn talk_in(peer: &Peer, format: &Format) {
    let some = Some(format);
    hold(peer, some, "text", talk::text(peer, format)).await;
    hold(peer, some, "tools", talk::tools(peer, format)).await;
    hold(peer, some, "thinking", talk::thinking(peer, format)).await;
    hold(peer, some, "images", talk::images(peer, format)).await;
    hold(peer, some, "usage", talk::usage(peer, format)).await;
    hold(peer, some, "abort", talk::abort(peer, format)).await;
    if peer.name == "aimock" {
        hold(peer, some, "interleaved", talk::interleaved(peer, format)).await;
    }
    if peer.name == "litellm" {
        hold(peer, some, "wrong key", talk::wrong_key(peer, format)).await;
    }
    if peer.name == "llmock" {
        hold(peer, some, "refusals", faults::refusals(peer, format)).await;
        hold(peer, some, "broken streams", faults::broken_streams(peer, format)).await;
        hold(peer, some, "final errors", faults::final_errors(peer, format)).await;
        hold(peer, some, "broken calls", faults::broken_calls(peer, format)).await;
        hold(peer, some, "overflow", faults::overflow(peer, format)).await;
    }
}

/// Holds one conversation, unless the peer does not offer it, and reports it.
async fn hold(
    peer: &Peer,
    format: Option<&Format>,
    conversation: &str,
    talk: impl Future<Output = Outcome>,
) {
    let api = format.map_or("", |format| format.api);
    let label = format.map_or("all in turn".to_owned(), Format::label);
    if let Some(why) = peer.lacks(api, conversation) {
        return report(&label, conversation, "skipped", why);
    }
    let patience = if peer.scripted { PATIENCE } else { PATIENCE_WITH_A_MODEL };
    // Boxed: the futures of whole conversations are large.
    let ended = match tokio::time::timeout(patience, Box::pin(talk)).await {
        Ok(ended) => ended,
        Err(_) => Err(format!("no end after {} s", patience.as_secs())),
    };
    let ended = match (ended, &peer.journal) {
        // Nothing got as far as aimock, as it should be.
        (ended, Some(_)) if conversation == "wrong key" => ended,
        (Ok(()), Some(journal)) => journal::check(journal, peer.numbers_calls(api)).await,
        (Err(why), Some(journal)) => {
            // What is left in the journal must not be held against the next conversation.
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

#[allow(clippy::print_stdout)] // the one thing this program is for
fn report(format: &str, conversation: &str, outcome: &str, why: &str) {
    let row = json!({
        "format": format, "conversation": conversation, "outcome": outcome, "why": why,
    });
    println!("{row}");
}
