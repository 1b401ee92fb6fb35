//! Models: the catalog, keys in the environment, classification of failures, partial JSON.

mod options;
mod stream;

use std::cell::RefCell;

use pi_ai::{AssistantMessage, catalog, providers};
use pi_protocol::{PartialJson, json as partial};
use serde_json::{Map, Value, json};

use crate::error::NativeError;
use crate::host::{Call, Natives, Thrown, function};
pub(super) use stream::FUNCTIONS as STREAMS;

pub(super) const FUNCTIONS: Natives = &[
    ("providers", |call| {
        call.reply(catalog::providers().map(str::to_owned).collect::<Vec<String>>())
    }),
    ("models", |call| {
        let provider = call.text(0)?;
        call.reply(catalog::models(&provider).map(|model| json!(model)).collect::<Value>())
    }),
    ("findModel", |call| {
        let found = catalog::find(&call.text(0)?, &call.text(1)?);
        call.reply(found.map(|model| json!(model)))
    }),
    ("keyVariables", |call| {
        let info = providers::provider(&call.text(0)?);
        let names = info.into_iter().flat_map(|info| info.key_env.iter());
        call.reply(names.map(|name| (*name).to_owned()).collect::<Vec<String>>())
    }),
    ("variable", |call| call.reply(call.host.process.variable(&call.text(0)?))),
    ("isContextOverflow", |call| {
        let window = call.optional_number(1)?.filter(|window| *window > 0.0);
        let window = window.map(|window| window as u64);
        call.reply(pi_ai::is_context_overflow(&read_message(call)?, window))
    }),
    ("isRetryable", |call| call.reply(pi_ai::is_retryable(&read_message(call)?))),
    ("isRecoverableLength", |call| {
        let requested = call.number(1)? as u64;
        call.reply(pi_ai::is_recoverable_length(&read_message(call)?, requested))
    }),
    ("repairJson", |call| call.reply(partial::repair(&call.text(0)?).into_owned())),
    ("parsePartial", |call| {
        let mut arguments = Map::new();
        PartialJson::new().push(&call.text(0)?, &mut arguments);
        call.reply(Value::Object(arguments))
    }),
    // A function that takes the next piece of text and returns the value so far.
    ("openPartial", |call| {
        let state = RefCell::new((PartialJson::new(), Map::new()));
        let push = function(call.ctx(), call.host, move |call| {
            let text = call.text(0)?;
            let mut state = state.borrow_mut();
            let (parser, arguments) = &mut *state;
            parser.push(&text, arguments);
            call.reply(Value::Object(arguments.clone()))
        })?;
        Ok(push.into_value())
    }),
];

fn read_message(call: &Call<'_, '_>) -> Result<AssistantMessage, Thrown> {
    let read = serde_json::from_value(call.json(0)?);
    Ok(read.map_err(|error| {
        NativeError::of("TypeError", format!("not an assistant message: {error}"))
    })?)
}
