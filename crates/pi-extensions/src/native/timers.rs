//! Timers, posted back as tasks, and requests for the callbacks of `process.nextTick`.

use std::time::Duration;

use crate::host::Natives;

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
