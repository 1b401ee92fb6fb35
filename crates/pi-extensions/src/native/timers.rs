//! Timers: one native timer per `setTimeout`, posted back as a task.

use std::time::Duration;

use rquickjs::{Ctx, Function, Object, Value};

use crate::error::ScriptError;
use crate::host::Host;
use crate::report::Report;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let sleeper = host.clone();
    // Calls `fire(id)` of the entry object after a time.
    object.set(
        "start",
        Function::new(ctx.clone(), move |id: u32, milliseconds: f64| {
            let poster = sleeper.poster();
            let time = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0);
            let time = time.unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
            tokio::task::spawn_local(async move {
                tokio::time::sleep(time).await;
                poster.post(move |ctx, host| {
                    let id = Value::new_number(ctx.clone(), f64::from(id));
                    let fired = host.call_entry(ctx, "fireTimer", vec![id]);
                    if let Err(error) = fired {
                        report_uncaught(ctx, host, &error);
                    }
                });
            });
        })?,
    )?;
    Ok(object)
}

/// Reports an error that was thrown where no caller could catch it.
pub(crate) fn report_uncaught(ctx: &Ctx<'_>, host: &Host, error: &rquickjs::Error) {
    let error = ScriptError::catch(ctx, error);
    let extension = host.owner_of_stack(&error.stack).map(|(_, path)| path.to_string());
    host.report(Report::new(extension, "uncaught", error.stack));
}
