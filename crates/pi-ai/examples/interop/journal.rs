//! The journal of aimock, which has every request that arrived. Requests are translated into chat
//! completions, so one check covers all formats.

use serde_json::{Value, json};

use crate::{Outcome, admin};

/// Checks that every request since the last check was answered from the script, and that in its
/// history every call is followed by its result. Clears the journal. With `distinct`, no two calls
/// that wait at the same time may have the same id.
pub(crate) async fn check(origin: &str, distinct: bool) -> Outcome {
    let journal = admin::get(&format!("{origin}/__aimock/journal")).await?;
    clear(origin).await?;
    let entries = journal.as_array().ok_or_else(|| format!("not a journal: {journal}"))?;
    if entries.is_empty() {
        return Err("nothing arrived at aimock".to_owned());
    }
    for entry in entries {
        let status = &entry["response"]["status"];
        if status != 200 {
            return Err(format!("aimock answered {status} to {}", entry["path"]));
        }
        let messages = entry["body"]["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        paired(messages, distinct).map_err(|why| format!("{}: {why}", entry["path"]))?;
    }
    Ok(())
}

/// Clears the journal of aimock.
pub(crate) async fn clear(origin: &str) -> Outcome {
    admin::post(&format!("{origin}/__aimock/reset/journal"), &json!({})).await.map(|_| ())
}

fn paired(messages: &[Value], distinct: bool) -> Outcome {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|call| *call == id) else {
                return Err(format!("a result for {id:?} without a call: {messages:?}"));
            };
            open.remove(place);
            continue;
        }
        // Images of results may follow in a user message, but only after all results. Several
        // calls may be in separate messages: in Responses each is an item of its own.
        if message["role"] != "assistant" && !open.is_empty() {
            return Err(format!("no results for {open:?}: {messages:?}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            if distinct && open.contains(&id) {
                return Err(format!("two calls {id:?}: {messages:?}"));
            }
            open.push(id);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("no results for {open:?}")) }
}
