//! A provider whose requests are charged to a budget: for requests outside of the loop, such as
//! summaries and reviews.

use std::sync::Arc;

use pi_protocol::{AssistantStream, CancelToken, Provider, Request};

use super::{Budget, Charge};

/// Charges each request to a budget, and refuses requests that its limits forbid.
pub struct MeteredProvider {
    provider: Arc<dyn Provider>,
    budget: Budget,
}

impl MeteredProvider {
    /// Creates a provider that sends requests through `provider`.
    pub fn new(provider: Arc<dyn Provider>, budget: Budget) -> Self {
        Self { provider, budget }
    }
}

impl Provider for MeteredProvider {
    fn stream(&self, mut request: Request, cancel: CancelToken) -> AssistantStream {
        if let Err(limit) = self.budget.take_turn() {
            let error = format!("the request was not sent: the run has reached its limit: {limit}");
            return AssistantStream::failed(&request.model, error);
        }
        self.budget.limit_output(&mut request);
        let mut charge = Charge::new(self.budget.clone(), request.model.cost.clone());
        let stream = self.provider.stream(request, cancel);
        let (budget, cancel) = (self.budget.clone(), stream.cancel_token());
        stream.observed(move |event, message| {
            charge.event(event, message);
            if !event.is_terminal() && budget.exceeded().is_some() {
                cancel.cancel();
            }
        })
    }
}

pi_protocol::debug_fields!(MeteredProvider, budget);
