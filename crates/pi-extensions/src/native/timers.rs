//! Timers, posted back as tasks, and the callbacks of `process.nextTick`.

use std::time::Duration;

use rquickjs::{Ctx, Function, Object, Value};

use crate::error::ScriptError;
use crate::host::Host;
use crate::report::Report;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let sleeper = host.clone();
    // Calls `fireTimer(kind)` of the entry object after a time.
    object.set(
        "start",
        Function::new(ctx.clone(), move |kind: u32, milliseconds: f64| {
            let poster = sleeper.poster();
            let time = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0);
            let time = time.unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
            tokio::task::spawn_local(async move {
                tokio::time::sleep(time).await;
                poster.post(move |ctx, host| {
                    let kind = Value::new_number(ctx.clone(), f64::from(kind));
                    let fired = host.call_entry(ctx, "fireTimer", vec![kind]);
                    if let Err(error) = fired {
                        report_uncaught(ctx, host, &error);
                    }
                });
            });
        })?,
    )?;
    // Asks for a call of `runTicks` before the next microtask.
    let state = host.clone();
    object.set("requestTicks", Function::new(ctx.clone(), move || state.request_ticks())?)?;
    Ok(object)
}

/// Runs the callbacks of `process.nextTick` and the microtasks, in turns, until none is left.
pub(crate) fn run_ticks(ctx: &Ctx<'_>, host: &Host) {
    loop {
        if host.take_ticks()
            && let Err(error) = host.call_entry(ctx, "runTicks", Vec::new())
        {
            report_uncaught(ctx, host, &error);
        }
        while ctx.execute_pending_job() {}
        if !host.wants_ticks() {
            return;
        }
    }
}

/// Reports an error that was thrown where no caller could catch it.
pub(crate) fn report_uncaught(ctx: &Ctx<'_>, host: &Host, error: &rquickjs::Error) {
    let error = ScriptError::catch(ctx, error);
    let extension = host.owner_of_stack(&error.stack).map(|(_, path)| path.to_string());
    host.report(Report::new(extension, "uncaught", error.stack));
}
