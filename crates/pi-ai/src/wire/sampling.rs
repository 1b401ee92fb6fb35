//! Extra body fields from the model record and the request.

use serde_json::{Map, Value};

use crate::wire::Call;
use pi_protocol::ThinkingLevel;

/// Merges sampling parameters into a complete body: those of the model, of its thinking level and of
/// the request.
pub(crate) fn apply(call: &Call, body: &mut Map<String, Value>) {
    let level = call.thinking().unwrap_or(ThinkingLevel::Off);
    let by_level = call.model.sampling_params_by_thinking_level.get(&level);
    let layers = std::iter::once(&call.model.sampling_params)
        .chain(by_level)
        .chain([&call.options.sampling_params]);
    for layer in layers {
        for (name, value) in layer {
            body.insert(name.clone(), value.clone());
        }
    }
}
