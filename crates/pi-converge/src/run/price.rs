//! The price of the model, which the limit of the cost needs.

use pi_coding_agent::session::AgentSession;
use pi_protocol::{Model, ModelCost};

use super::{Progress, Running};
use crate::contract::Contract;

/// Returns a warning if the contract limits the cost and the model has no price.
pub(crate) fn missing_price(contract: &Contract, model: &Model) -> Option<String> {
    contract.limits.limits().cost?;
    (model.cost == ModelCost::default()).then(|| {
        format!(
            "the limit of the cost has no effect, because {}/{} has no price; set its cost in \
             models.json, or limit the tokens",
            model.provider, model.id
        )
    })
}

impl Running {
    /// Warns if the limit of the cost has no effect.
    pub(super) fn note_price(&mut self, session: &AgentSession) {
        let model = session.model();
        let warning = model.and_then(|model| missing_price(&self.contract, &model));
        let Some(message) = warning else { return };
        self.options.report_progress(&Progress::Warning { message: message.clone() });
        self.note(message);
    }
}
