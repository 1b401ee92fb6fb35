//! Changes at a server, coalesced: a storm of notices costs one reaction at a time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::{Changed, Inbox};

/// The most changes that wait; a server has no reason to announce more resources.
const MAX_PENDING: usize = 1_000;
/// Time for which notices are collected.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest time for which notices are collected, while they do not stop.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Changes that were announced and not delivered yet.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pending: Mutex<BTreeSet<Changed>>,
    wake: Notify,
}

impl Changes {
    /// Takes note of a change.
    pub(crate) fn note(&self, changed: Changed) {
        let mut pending = lock(&self.pending);
        // Changes of lists have few values, and none is lost because of many resources.
        if !matches!(changed, Changed::Resource(_)) || pending.len() < MAX_PENDING {
            pending.insert(changed);
            self.wake.notify_one();
        }
    }

    fn take(&self) -> BTreeSet<Changed> {
        std::mem::take(&mut *lock(&self.pending))
    }
}

/// Delivers changes until the client ends.
pub(crate) async fn deliver_changes(inbox: Arc<Inbox>) {
    let stopped = inbox.stopped().cancelled();
    tokio::select! {
        () = stopped => {}
        () = deliver_all(&inbox) => {}
    }
}

async fn deliver_all(inbox: &Inbox) {
    let Inbox { changes, handler, .. } = inbox;
    loop {
        changes.wake.notified().await;
        let mut pause = FIRST_PAUSE;
        // Notices that come soon after the last reaction are a storm: it is collected for longer
        // and longer.
        loop {
            sleep(pause).await;
            for changed in changes.take() {
                handler.changed(changed).await;
            }
            if timeout(pause, changes.wake.notified()).await.is_err() {
                break;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
