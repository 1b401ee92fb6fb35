//! The budget of a session: one for each prompt.
//!
//! It covers everything that works for the prompt: all runs of the loop, retries and successors,
//! summaries, reviews of approvals, kept caches and the requests of extensions. The loop charges its
//! requests itself; all others go through a metered provider.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use pi_agent::{Budget, Limit, Limits, MeteredProvider};
use pi_protocol::{AssistantStream, CancelToken, Provider, Request};

use super::{AgentSession, lock};

/// The budget in force. Clones are the same meter.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The budget that the session shares with others.
    shared: Option<Budget>,
    /// The budget of the prompt that is being worked on.
    prompt: Option<Budget>,
    /// The budget of the last prompt.
    last: Option<Budget>,
    /// The next prompt continues the budget of the last one.
    continues: bool,
}

impl Meter {
    /// Creates the meter of a session that works within a budget.
    pub fn new(shared: Option<Budget>) -> Self {
        Self(Arc::new(Mutex::new(State { shared, ..State::default() })))
    }

    /// Begins the budget of a prompt.
    pub(super) fn begin(&self, limits: Limits) -> Budget {
        let mut state = lock(&self.0);
        let earlier = state.last.take();
        let continues = std::mem::take(&mut state.continues);
        let budget = match (earlier, &state.shared) {
            (Some(earlier), _) if continues => earlier,
            (_, Some(shared)) => shared.child(limits),
            (_, None) => Budget::new(limits),
        };
        state.prompt = Some(budget.clone());
        budget
    }

    /// Ends the budget of the prompt.
    pub(super) fn end(&self) {
        let mut state = lock(&self.0);
        state.last = state.prompt.take();
    }

    /// Returns the budget that requests are charged to.
    pub(super) fn budget(&self) -> Option<Budget> {
        let state = lock(&self.0);
        state.prompt.clone().or_else(|| state.shared.clone())
    }

    /// Returns a provider whose requests are charged to the budget in force.
    pub(crate) fn provider(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(SessionProvider { provider, meter: self.clone() })
    }
}

struct SessionProvider {
    provider: Arc<dyn Provider>,
    meter: Meter,
}

impl Provider for SessionProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let provider = Arc::clone(&self.provider);
        match self.meter.budget() {
            Some(budget) => MeteredProvider::new(provider, budget).stream(request, cancel),
            None => provider.stream(request, cancel),
        }
    }
}

impl AgentSession {
    /// Returns the budget in force: that of the prompt, else the one shared with others.
    pub fn budget(&self) -> Option<Budget> {
        self.0.meter.budget()
    }

    /// Charges the next prompt to the budget of the last one, which it repeats or repairs.
    pub fn continue_budget(&self) {
        lock(&self.0.meter.0).continues = true;
    }

    /// Returns the limit that forbids another request.
    pub(super) fn limit_reached(&self) -> Option<Limit> {
        self.0.meter.budget()?.before_request()
    }

    /// Cancels a pause and a summary as soon as a time limit has passed. The loop enforces its time
    /// limits itself.
    pub(super) async fn enforce_time(&self, budget: &Budget) -> Infallible {
        loop {
            match budget.next_deadline() {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
            if budget.overdue().is_some() {
                self.0.activity.cancel_retry();
                self.0.activity.cancel_summary();
                return std::future::pending().await;
            }
        }
    }
}
