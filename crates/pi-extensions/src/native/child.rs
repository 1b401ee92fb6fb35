//! Programs that JavaScript starts: `node:child_process`.
//!
//! JavaScript pulls: it asks for the next output of a program, and for its end, and receives
//! promises. Output that it does not ask for stays in the pipe, so that a program that writes
//! without end waits.

mod options;
pub(crate) mod running;
mod sync;
mod table;

use crate::error::NativeError;
use crate::host::{Call, Natives, Thrown};
use options::SpawnOptions;
use running::Running;
pub(crate) use table::Children;

pub(super) const FUNCTIONS: Natives = &[
    // Returns `[id, pid]`.
    ("spawn", |call| {
        let options = SpawnOptions::from_js(call.ctx(), call.host, &call.object(0)?)?;
        let running = options.launch(call.host)?.start()?;
        let pid = running.pid();
        let id = call.host.area::<Children>().add(call.host.number(), running);
        call.reply(vec![id as f64, f64::from(pid)])
    }),
    // Returns `{ pid, status, signal, stdout, stderr, error }`.
    ("spawnSync", |call| {
        let options = SpawnOptions::from_js(call.ctx(), call.host, &call.object(0)?)?;
        let prepared = options.launch(call.host)?;
        let finished = call.host.block(|| sync::run(prepared))?;
        Ok(finished.into_object(call.ctx())?.into_value())
    }),
    // Resolves to the next bytes of stream 1 or 2; to nothing at its end.
    ("read", |call| {
        let (running, stream) = (find(call)?, call.id(1)?);
        call.promise(async move { Ok(running.read(stream).await?.into()) })
    }),
    ("write", |call| {
        let (running, bytes) = (find(call)?, call.bytes(1)?);
        call.promise(async move { Ok(running.write(&bytes).await?.into()) })
    }),
    // Closes stream 0, 1 or 2; a waiting read ends.
    ("close", |call| {
        if let Some(running) = call.host.area::<Children>().get(call.handle(0)?) {
            running.close(call.id(1)?);
        }
        call.done()
    }),
    // Resolves to `[code, signal]`.
    ("wait", |call| {
        let running = find(call)?;
        call.promise(async move {
            let (code, signal) = running.wait().await;
            Ok(serde_json::json!([code, signal]).into())
        })
    }),
    // Returns true if the program was running.
    ("kill", |call| match call.host.area::<Children>().get(call.handle(0)?) {
        Some(running) => call.reply(running.kill(call.integer(1)?)?),
        None => call.reply(false),
    }),
    ("release", |call| {
        call.host.area::<Children>().remove(call.handle(0)?);
        call.done()
    }),
];

fn find(call: &Call<'_, '_>) -> Result<Running, Thrown> {
    let gone = || NativeError::new("the process is closed").with("code", "EBADF");
    Ok(call.host.area::<Children>().get(call.handle(0)?).ok_or_else(gone)?)
}
