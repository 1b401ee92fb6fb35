//! The text of an HTTP failure, with a hint for the limits of a subscription.

use crate::wire::{Call, HttpFailure};

/// Returns the error text of `failure`.
pub(super) fn text(call: &Call, failure: &HttpFailure) -> String {
    let provider = match call.model.provider.as_str() {
        "openai" => "OpenAI",
        other => other,
    };
    let text = failure.openai_style(Some(&format!("{provider} API error")));
    match failure.error_field("code").as_deref().and_then(hint) {
        Some(hint) => format!("{text}\n{hint}"),
        None => text,
    }
}

/// Returns a hint for the limits of a ChatGPT subscription.
fn hint(code: &str) -> Option<&'static str> {
    match code {
        "subscription_sharing_usage_limit_exceeded" => {
            Some("Check your ChatGPT usage: https://chatgpt.com/settings/usage")
        }
        "subscription_sharing_workplace_individual_usage_limit_exceeded" => Some(
            "You've reached your ChatGPT workspace's usage limit. Ask your workspace admin to \
             increase it at admin.openai.com → Workspace → Usage limits.",
        ),
        "subscription_sharing_usage_unavailable" => {
            Some("ChatGPT could not check the usage of your plan. Try again in a few minutes.")
        }
        "subscription_sharing_user_not_eligible" => Some(
            "This ChatGPT account cannot use its plan outside ChatGPT. Use another account or an API \
             key.",
        ),
        "subscription_sharing_invalid_user" => {
            Some("ChatGPT does not accept this sign-in any more. Sign in again.")
        }
        "subscription_sharing_route_not_supported" => {
            Some("A ChatGPT plan cannot be used for this API. Use an API key.")
        }
        "subscription_sharing_unsupported_capability" => Some(
            "A ChatGPT plan does not include a feature of this request. Use another model or an API \
             key.",
        ),
        _ => None,
    }
}
