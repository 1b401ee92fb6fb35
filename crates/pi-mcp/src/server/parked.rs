//! Calls of modern clients that wait for answers, each under a secret that only its client knows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pi_jsonrpc::Error;
use uuid::Uuid;

use super::call::{Call, Identity};
use super::context::Ask;

/// The most parked calls. The oldest one is cancelled for a new one.
const LIMIT: usize = 64;

/// The time that a call waits for its client.
const WAIT: Duration = Duration::from_secs(30 * 60);

const UNKNOWN: &str = "`requestState` is unknown, expired or of another request; repeat the \
    request without it";

/// Parked calls.
#[derive(Debug, Default)]
pub(super) struct Parked(Mutex<HashMap<String, Waiting>>);

#[derive(Debug)]
struct Waiting {
    call: Call,
    ask: Ask,
    since: Instant,
}

impl Parked {
    /// Parks a call. Returns the state that the client must send back.
    pub(super) fn park(&self, call: Call, ask: Ask) -> String {
        let mut waiting = self.lock();
        waiting.retain(|_, one| one.since.elapsed() < WAIT);
        if waiting.len() >= LIMIT {
            let oldest =
                waiting.iter().min_by_key(|(_, one)| one.since).map(|(key, _)| key.clone());
            oldest.and_then(|key| waiting.remove(&key));
        }
        let state = Uuid::new_v4().simple().to_string();
        waiting.insert(state.clone(), Waiting { call, ask, since: Instant::now() });
        state
    }

    /// Returns the call with this state, which is used up by it.
    pub(super) fn resume(&self, state: &str, identity: &Identity) -> Result<(Call, Ask), Error> {
        let mut waiting = self.lock();
        let is_known = waiting
            .get(state)
            .is_some_and(|one| one.since.elapsed() < WAIT && one.call.identity == *identity);
        match is_known.then(|| waiting.remove(state)).flatten() {
            Some(Waiting { call, ask, .. }) => Ok((call, ask)),
            None => Err(Error::invalid_params(UNKNOWN)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
