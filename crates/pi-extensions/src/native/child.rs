//! Programs that JavaScript starts: `node:child_process`.
//!
//! JavaScript pulls: it asks for the next output of a program, and for its end, and receives
//! promises. Output that it does not ask for stays in the pipe, so that a program that writes
//! without end waits.

mod options;
pub(crate) mod running;
mod sync;
mod table;

use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::host::Host;
use crate::value::{Bytes, Json};
use options::SpawnOptions;
use running::Running;
pub(crate) use table::Children;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    // Returns `[id, pid]`.
    object.set(
        "spawn",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, options: Object<'js>| {
            let options = SpawnOptions::from_js(&ctx, &state, &options)?;
            let started = options.launch(&state).and_then(|prepared| prepared.start());
            let running = started.map_err(|error| error.throw(&ctx))?;
            let pid = running.pid();
            let id = state.children.add(state.number(), running);
            rquickjs::Result::Ok(vec![id as f64, f64::from(pid)])
        })?,
    )?;
    let state = host.clone();
    // Returns `{ pid, status, signal, stdout, stderr, error }`.
    object.set(
        "spawnSync",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, options: Object<'js>| {
            let options = SpawnOptions::from_js(&ctx, &state, &options)?;
            let prepared = options.launch(&state).map_err(|error| error.throw(&ctx))?;
            let finished = state.block(|| sync::run(prepared));
            finished.map_err(|error| error.throw(&ctx))?.into_object(&ctx)
        })?,
    )?;
    install_streams(ctx, host, &object)?;
    let state = host.clone();
    // Resolves to `[code, signal]`.
    object.set(
        "wait",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u64| {
            let running = find(&ctx, &state, id)?;
            state.promise(&ctx, async move {
                let (code, signal) = running.wait().await;
                Ok(Json(serde_json::json!([code, signal])))
            })
        })?,
    )?;
    let state = host.clone();
    // Returns true if the program was running.
    object.set(
        "kill",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u64, signal: i32| {
            let Some(running) = state.children.get(id) else { return Ok(false) };
            running.kill(signal).map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let state = host.clone();
    object.set("release", Function::new(ctx.clone(), move |id: u64| state.children.remove(id))?)?;
    Ok(object)
}

fn install_streams<'js>(ctx: &Ctx<'js>, host: &Host, object: &Object<'js>) -> rquickjs::Result<()> {
    let state = host.clone();
    // Resolves to the next bytes of stream 1 or 2; to nothing at its end.
    object.set(
        "read",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u64, stream: u32| {
            let running = find(&ctx, &state, id)?;
            state.promise(&ctx, async move { Ok(running.read(stream).await?.map(Bytes)) })
        })?,
    )?;
    let state = host.clone();
    object.set(
        "write",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u64, bytes: Bytes| {
            let running = find(&ctx, &state, id)?;
            state.promise(&ctx, async move { running.write(&bytes.0).await })
        })?,
    )?;
    let state = host.clone();
    // Closes stream 0, 1 or 2; a waiting read ends.
    object.set(
        "close",
        Function::new(ctx.clone(), move |id: u64, stream: u32| {
            if let Some(running) = state.children.get(id) {
                running.close(stream);
            }
        })?,
    )
}

fn find(ctx: &Ctx<'_>, host: &Host, id: u64) -> rquickjs::Result<Running> {
    let gone = || NativeError::new("the process is closed").with("code", "EBADF").throw(ctx);
    host.children.get(id).ok_or_else(gone)
}
