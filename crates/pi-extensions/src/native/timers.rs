//! Timers, posted back as tasks, and the callbacks of `process.nextTick`.

use std::time::Duration;

use rquickjs::Ctx;

use crate::error::ScriptError;
use crate::host::Host;
use crate::native::Natives;
use crate::report::Report;

pub(super) const FUNCTIONS: Natives = &[
    // Calls `fireTimer(kind)` of the entry object after a time.
    ("start", |call| {
        let (kind, milliseconds, poster) = (call.id(0)?, call.number(1)?, call.host.poster());
        let time = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0);
        let time = time.unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
        tokio::task::spawn_local(async move {
            tokio::time::sleep(time).await;
            poster.post_call("fireTimer", vec![kind.into()]);
        });
        call.done()
    }),
    // Asks for a call of `runTicks` before the next microtask.
    ("requestTicks", |call| {
        call.host.request_ticks();
        call.done()
    }),
];

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
