//! Found credentials, kept until shortly before their end.
//!
//! Requests that need a credential at the same time share one search, and its failure. Failures are
//! not kept: the next request searches again. A search that has begun comes to its end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use pi_base::lock;
use tokio::sync::OnceCell;

use super::{CloudCredential, CloudError, Found, Surroundings, chain};
use crate::Authorization;

/// The time before its end at which a credential is replaced.
const MARGIN: Duration = Duration::from_secs(5 * 60);

/// The time for which a credential without an end is kept. Its file may change.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// A cache of found credentials. Clones share it.
#[derive(Clone, Default)]
pub struct CloudCache {
    searches: Arc<Mutex<HashMap<Key, Arc<OnceCell<Search>>>>>,
}

/// Everything on which the result of a search depends, except for files and servers.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    provider: String,
    /// Has secrets, and is never shown.
    settings: Vec<Option<String>>,
}

/// A finished search.
struct Search {
    result: Result<Found, CloudError>,
    /// The moment from which the result is not used again.
    ends: SystemTime,
}

impl Search {
    async fn run(provider: &str, surroundings: &Surroundings) -> Self {
        let result = chain::find(provider, surroundings).await;
        let ends = match &result {
            Ok(found) => end_of_use(&found.credential),
            Err(_) => SystemTime::UNIX_EPOCH,
        };
        Self { result, ends }
    }
}

impl CloudCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the credential of a provider: a known one, else that of the chain.
    ///
    /// `rejected` is the authorization of a credential that the provider has just refused: it is not
    /// returned again unless the chain still has no other. Needs a runtime of tokio.
    pub async fn find(
        &self,
        provider: &str,
        surroundings: &Surroundings,
        rejected: Option<&Authorization>,
    ) -> Result<Found, CloudError> {
        let search = self.search(Key::new(provider, surroundings), rejected);
        if let Some(finished) = search.get() {
            return finished.result.clone();
        }
        let (provider, surroundings) = (provider.to_owned(), surroundings.clone());
        // A task of its own: a source may have renewed a login when the request is cancelled, and
        // must be able to store it.
        let task = tokio::spawn(async move {
            let finished = search.get_or_init(|| Search::run(&provider, &surroundings)).await;
            finished.result.clone()
        });
        task.await.unwrap_or(Err(CloudError::Interrupted))
    }

    /// Returns the running or usable search for a key, or a new one.
    fn search(&self, key: Key, rejected: Option<&Authorization>) -> Arc<OnceCell<Search>> {
        let mut searches = lock(&self.searches);
        let now = SystemTime::now();
        // Searches with other variables would otherwise stay for the life of the process.
        searches.retain(|_, search| search.get().is_none_or(|search| now < search.ends));
        let usable = |search: &Search| match (&search.result, rejected) {
            (Ok(found), Some(rejected)) => !found.authorization().has_same_secret(rejected),
            (Ok(_), None) => true,
            (Err(_), _) => false,
        };
        match searches.get(&key) {
            Some(search) if search.get().is_none_or(usable) => Arc::clone(search),
            _ => {
                let search = Arc::new(OnceCell::new());
                searches.insert(key, Arc::clone(&search));
                search
            }
        }
    }
}

pi_protocol::debug_fields!(CloudCache);

impl Key {
    fn new(provider: &str, surroundings: &Surroundings) -> Self {
        let variables = chain::variables(provider).iter().map(|name| surroundings.variable(name));
        let home = surroundings.home.as_ref().map(|home| home.to_string_lossy().into_owned());
        let settings = variables.chain([home, surroundings.base_url.clone()]).collect();
        Self { provider: provider.to_owned(), settings }
    }
}

/// Returns the moment from which a credential is searched again. A credential that is handed out
/// shortly before its end is used by the requests that wait for it, and not again.
fn end_of_use(credential: &CloudCredential) -> SystemTime {
    match credential.expires() {
        Some(expires) => expires.checked_sub(MARGIN).unwrap_or(SystemTime::UNIX_EPOCH),
        None => SystemTime::now() + KEPT,
    }
}
