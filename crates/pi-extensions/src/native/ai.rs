//! Models: the catalog, keys in the environment, classification of failures, partial JSON.

mod options;
mod stream;

use std::cell::RefCell;
use std::rc::Rc;

use pi_ai::{AssistantMessage, catalog, providers};
use pi_protocol::{PartialJson, json};
use rquickjs::{Ctx, Function, Object};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::NativeError;
use crate::host::Host;
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    install_catalog(ctx, host, &object)?;
    install_failures(ctx, &object)?;
    install_json(ctx, &object)?;
    stream::install(ctx, host, &object)?;
    Ok(object)
}

fn install_catalog<'js>(ctx: &Ctx<'js>, host: &Host, object: &Object<'js>) -> rquickjs::Result<()> {
    object.set(
        "providers",
        Function::new(ctx.clone(), || {
            catalog::providers().map(str::to_owned).collect::<Vec<String>>()
        })?,
    )?;
    object.set(
        "models",
        Function::new(ctx.clone(), |provider: String| {
            catalog::models(&provider).map(|model| to_json(&model)).collect::<Vec<Json>>()
        })?,
    )?;
    object.set(
        "findModel",
        Function::new(ctx.clone(), |provider: String, id: String| {
            catalog::find(&provider, &id).map(|model| to_json(&model))
        })?,
    )?;
    object.set(
        "keyVariables",
        Function::new(ctx.clone(), |provider: String| {
            let info = providers::provider(&provider);
            let names = info.into_iter().flat_map(|info| info.key_env.iter());
            names.map(|name| (*name).to_owned()).collect::<Vec<String>>()
        })?,
    )?;
    let process = host.clone();
    object.set(
        "variable",
        Function::new(ctx.clone(), move |name: String| process.process.variable(&name))?,
    )
}

fn install_failures<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> rquickjs::Result<()> {
    object.set(
        "isContextOverflow",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, message: Json, window: Option<f64>| {
            let message = read_message(&ctx, message)?;
            let window = window.filter(|window| *window > 0.0).map(|window| window as u64);
            rquickjs::Result::Ok(pi_ai::is_context_overflow(&message, window))
        })?,
    )?;
    object.set(
        "isRetryable",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, message: Json| {
            read_message(&ctx, message).map(|message| pi_ai::is_retryable(&message))
        })?,
    )?;
    object.set(
        "isRecoverableLength",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, message: Json, requested: f64| {
            let message = read_message(&ctx, message)?;
            rquickjs::Result::Ok(pi_ai::is_recoverable_length(&message, requested as u64))
        })?,
    )
}

fn install_json<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> rquickjs::Result<()> {
    object.set(
        "repairJson",
        Function::new(ctx.clone(), |text: String| json::repair(&text).into_owned())?,
    )?;
    object.set(
        "parsePartial",
        Function::new(ctx.clone(), |text: String| {
            let mut arguments = Map::new();
            PartialJson::new().push(&text, &mut arguments);
            Json(Value::Object(arguments))
        })?,
    )?;
    // A function that takes the next piece of text and returns the value so far.
    object.set(
        "openPartial",
        Function::new(ctx.clone(), |ctx: Ctx<'js>| {
            let state = Rc::new(RefCell::new((PartialJson::new(), Map::new())));
            Function::new(ctx, move |text: String| {
                let mut state = state.borrow_mut();
                let (parser, arguments) = &mut *state;
                parser.push(&text, arguments);
                Json(Value::Object(arguments.clone()))
            })
        })?,
    )
}

fn read_message(ctx: &Ctx<'_>, message: Json) -> rquickjs::Result<AssistantMessage> {
    serde_json::from_value(message.0).map_err(|error| {
        let text = format!("not an assistant message: {error}");
        NativeError::of("TypeError", text).throw(ctx)
    })
}

fn to_json(value: &impl Serialize) -> Json {
    Json(serde_json::to_value(value).unwrap_or_default())
}
