//! The charge of one request while its answer arrives.

use pi_protocol::{AssistantEvent, AssistantMessage, ModelCost, Usage};

use super::{Amount, Budget};

/// Bytes of an answer per token, for answers whose usage is not known yet. Text of any language has
/// fewer, so the estimate is below the real number.
const ESTIMATED_BYTES_PER_TOKEN: u64 = 6;

/// The charge of one request. It is the usage that the provider has reported so far, or the
/// estimate for the text that has arrived, if that is more.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Budget,
    prices: ModelCost,
    charged: Amount,
}

impl Charge {
    /// Creates the charge of a request that is about to be sent.
    pub(crate) fn new(budget: Budget, prices: ModelCost) -> Self {
        Self { budget, prices, charged: Amount::default() }
    }

    /// Charges an event, with the message so far.
    pub(crate) fn event(&mut self, event: &AssistantEvent, message: &AssistantMessage) {
        self.budget.activity();
        let mut bytes = self.charged.bytes;
        if let AssistantEvent::TextDelta { delta, .. }
        | AssistantEvent::ThinkingDelta { delta, .. }
        | AssistantEvent::ToolCallDelta { delta, .. } = event
        {
            bytes += delta.len() as u64;
        }
        self.charge(bytes, &message.usage, event.is_terminal());
    }

    fn charge(&mut self, bytes: u64, usage: &Usage, is_final: bool) {
        let reported = Amount { tokens: usage.total_tokens, cost: usage.cost.total, bytes };
        // Failed answers often come without their usage, and so do all answers of some servers.
        let is_known = is_final && usage.output > 0;
        let charged = if is_known { reported } else { self.estimated(reported) };
        self.budget.replace(self.charged, charged);
        self.charged = charged;
    }

    fn estimated(&self, reported: Amount) -> Amount {
        let mut estimate =
            Usage { output: reported.bytes / ESTIMATED_BYTES_PER_TOKEN, ..Usage::default() };
        estimate.price(&self.prices);
        Amount {
            tokens: reported.tokens.max(estimate.output),
            cost: reported.cost.max(estimate.cost.total),
            bytes: reported.bytes,
        }
    }
}
