//! Calls of modern clients that wait for answers, each under a secret that only its client knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use pi_jsonrpc::Error;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::call::{Call, Identity};
use super::context::Ask;

/// The most parked calls. The oldest one is cancelled for a new one.
const LIMIT: usize = 64;

/// The time that a call waits for its client.
const WAIT: Duration = Duration::from_secs(30 * 60);

const UNKNOWN: &str = "`requestState` is unknown, expired or of another request; repeat the \
    request without it";

/// Parked calls. Each is cancelled when its client does not come back in time.
#[derive(Debug, Default)]
pub(super) struct Parked(Arc<Calls>);

type Calls = Mutex<HashMap<String, Waiting>>;

#[derive(Debug)]
struct Waiting {
    call: Call,
    ask: Ask,
    since: Instant,
    _timer: Timer,
}

/// The timer that cancels a call, until it is dropped.
#[derive(Debug)]
struct Timer(AbortHandle);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Parked {
    /// Parks a call. Returns the state that the client must send back.
    pub(super) fn park(&self, call: Call, ask: Ask) -> String {
        let state = Uuid::new_v4().simple().to_string();
        let (calls, key) = (Arc::downgrade(&self.0), state.clone());
        let timer = tokio::spawn(async move {
            tokio::time::sleep(WAIT).await;
            // Dropping the call cancels it.
            calls.upgrade().and_then(|calls| lock(&calls).remove(&key));
        });
        let timer = Timer(timer.abort_handle());
        let waiting = Waiting { call, ask, since: Instant::now(), _timer: timer };
        let mut calls = lock(&self.0);
        if calls.len() >= LIMIT {
            let oldest = calls.iter().min_by_key(|(_, one)| one.since).map(|(key, _)| key.clone());
            oldest.and_then(|key| calls.remove(&key));
        }
        calls.insert(state.clone(), waiting);
        state
    }

    /// Returns the call with this state, which is used up by it.
    pub(super) fn resume(&self, state: &str, identity: &Identity) -> Result<(Call, Ask), Error> {
        let mut calls = lock(&self.0);
        let is_known = calls.get(state).is_some_and(|one| one.call.identity == *identity);
        match is_known.then(|| calls.remove(state)).flatten() {
            Some(Waiting { call, ask, .. }) => Ok((call, ask)),
            None => Err(Error::invalid_params(UNKNOWN)),
        }
    }
}
