//! The table of requests that may get progress.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use pi_base::lock;
use pi_jsonrpc::Id;
use tokio::sync::Notify;

use crate::protocol::Progress;

type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Requests that may get progress, by their id, which is their token.
#[derive(Default)]
pub(crate) struct ProgressTable(Mutex<HashMap<Id, Waiting>>);

#[derive(Clone)]
struct Waiting {
    on_progress: Option<OnProgress>,
    alive: Arc<Notify>,
}

/// A request; it leaves the table with this value.
pub(crate) struct Watched {
    table: Arc<ProgressTable>,
    id: OnceLock<Id>,
    waiting: Waiting,
}

impl ProgressTable {
    /// Prepares a request.
    pub(crate) fn watch(self: &Arc<Self>, on_progress: Option<OnProgress>) -> Watched {
        let waiting = Waiting { on_progress, alive: Arc::default() };
        Watched { table: Arc::clone(self), id: OnceLock::new(), waiting }
    }

    /// Delivers progress to its request, if it is open.
    pub(crate) fn deliver(&self, progress: Progress) {
        let id = match Id::from_value(&progress.progress_token) {
            // Our ids are numbers; some programs return them as texts.
            Some(Id::Text(text)) => text.parse().ok().map(Id::Number),
            id => id,
        };
        let waiting = {
            let table = lock(&self.0);
            id.and_then(|id| table.get(&id).cloned())
        };
        let Some(waiting) = waiting else { return };
        waiting.alive.notify_one();
        if let Some(on_progress) = waiting.on_progress {
            on_progress(progress);
        }
    }
}

impl Watched {
    /// Enters the table: the request gets its id.
    pub(crate) fn start(&self, id: &Id) {
        if self.id.set(id.clone()).is_ok() {
            let mut table = lock(&self.table.0);
            table.insert(id.clone(), self.waiting.clone());
        }
    }

    /// Returns the id, if the request was sent.
    pub(crate) fn id(&self) -> Option<&Id> {
        self.id.get()
    }

    /// Waits for progress.
    pub(crate) async fn alive(&self) {
        self.waiting.alive.notified().await;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(id) = self.id.get() {
            lock(&self.table.0).remove(id);
        }
    }
}

impl fmt::Debug for ProgressTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressTable")
    }
}
