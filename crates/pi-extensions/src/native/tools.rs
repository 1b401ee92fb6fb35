//! The built-in tools for JavaScript: an extension starts a call and pulls what happens in it.
//!
//! Extensions may replace the access of a tool to files and commands by functions of their own
//! (`operations`): those become events that JavaScript answers.

mod call;
mod executor;
mod operations;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::AgentTool;
use pi_tools::{BashSettings, Host as LocalExecutor, Workspace, toolset};
use rquickjs::{Ctx, Function, Object};
use serde_json::{Value, json};

use self::call::{Call, Settings};
use crate::error::NativeError;
use crate::host::Host;
use crate::value::{Bytes, Json};

/// Running calls by number.
type Calls = Arc<Mutex<BTreeMap<u32, Arc<Call>>>>;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set(
        "declaration",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, name: String| {
            declaration(&name).map(Json).map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let calls: Calls = Arc::default();
    // The settings own the files with long output, which must outlive the calls.
    let bash = BashSettings::default();
    let (starter, table) = (host.clone(), Arc::clone(&calls));
    object.set(
        "start",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, name: String, settings: Json, arguments: Json| {
                let started = Settings::read(settings.0).and_then(|settings| {
                    Call::start(&starter, bash.clone(), &name, settings, arguments.0)
                });
                let call = started.map_err(|error| error.throw(&ctx))?;
                let number = u32::try_from(starter.number()).unwrap_or(u32::MAX);
                lock(&table).insert(number, Arc::new(call));
                rquickjs::Result::Ok(number)
            },
        )?,
    )?;
    install_running(ctx, host, &object, &calls)?;
    Ok(object)
}

fn install_running<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
    calls: &Calls,
) -> rquickjs::Result<()> {
    let (reader, table) = (host.clone(), Arc::clone(calls));
    object.set(
        "next",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, number: u32| {
            let call = lock(&table).get(&number).cloned();
            reader.promise(&ctx, async move {
                let event = match call {
                    Some(call) => call.next().await,
                    None => None,
                };
                Ok(Json(event.unwrap_or(Value::Null)))
            })
        })?,
    )?;
    let table = Arc::clone(calls);
    object.set(
        "cancel",
        Function::new(ctx.clone(), move |number: u32| {
            if let Some(call) = lock(&table).get(&number) {
                call.cancel();
            }
        })?,
    )?;
    let table = Arc::clone(calls);
    object.set(
        "close",
        Function::new(ctx.clone(), move |number: u32| {
            if let Some(call) = lock(&table).remove(&number) {
                call.cancel();
            }
        })?,
    )?;
    let table = Arc::clone(calls);
    object.set(
        "answer",
        Function::new(
            ctx.clone(),
            move |number: u32, operation: u32, bytes: Option<Bytes>, value: Json| {
                if let Some(call) = lock(&table).get(&number) {
                    call.operations.answer(operation, bytes.map(|bytes| bytes.0), value.0);
                }
            },
        )?,
    )?;
    let table = Arc::clone(calls);
    object.set(
        "refuse",
        Function::new(
            ctx.clone(),
            move |number: u32, operation: u32, code: String, text: String| {
                if let Some(call) = lock(&table).get(&number) {
                    call.operations.refuse(operation, &code, text);
                }
            },
        )?,
    )?;
    let table = Arc::clone(calls);
    object.set(
        "data",
        Function::new(ctx.clone(), move |number: u32, operation: u32, bytes: Bytes| {
            if let Some(call) = lock(&table).get(&number) {
                call.operations.data(operation, bytes.0);
            }
        })?,
    )
}

/// Returns what the model and the system prompt get to know about a built-in tool.
fn declaration(name: &str) -> Result<Value, NativeError> {
    let workspace = Workspace::new(Arc::new(LocalExecutor::default()), "/".into(), None);
    let tool = built(&Arc::new(workspace), name)?;
    let declaration = tool.declaration();
    Ok(json!({
        "name": declaration.name,
        "label": tool.label(),
        "description": declaration.description,
        "parameters": declaration.parameters,
        "constrainedSampling": declaration.constrained_sampling,
        "promptSnippet": tool.prompt_snippet(),
        "promptGuidelines": tool.prompt_guidelines(),
    }))
}

fn built(workspace: &Arc<Workspace>, name: &str) -> Result<Arc<dyn AgentTool>, NativeError> {
    let tool = toolset::find_builtin(name).and_then(|builtin| builtin.build(workspace));
    tool.ok_or_else(|| NativeError::new(format!("no built-in tool {name}")))
}

fn lock(calls: &Calls) -> std::sync::MutexGuard<'_, BTreeMap<u32, Arc<Call>>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
