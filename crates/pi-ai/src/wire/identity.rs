//! Headers that identify the client. They are truthful: no other client is impersonated.

use crate::wire::{Call, Headers};

/// Adds the user agent, and the attribution if the provider supports one.
pub(crate) fn add_headers(call: &Call, headers: &mut Headers) {
    let identity = &call.options.identity;
    let user_agent = identity.user_agent.clone().unwrap_or_else(pi_web::user_agent);
    headers.set("User-Agent", user_agent);
    let Some(app) = &identity.attribution else { return };
    let is_at = |provider: &str, host: &str| {
        call.model.provider == provider || call.model.base_url.contains(host)
    };
    if is_at("openrouter", "openrouter.ai") {
        if let Some(url) = &app.url {
            headers.set("HTTP-Referer", url);
        }
        headers.set("X-OpenRouter-Title", &app.name);
        if !app.categories.is_empty() {
            headers.set("X-OpenRouter-Categories", app.categories.join(","));
        }
    } else if is_at("nvidia", "integrate.api.nvidia.com") {
        headers.set("X-BILLING-INVOKE-ORIGIN", capitalized(&app.name));
    } else if is_at("opencode", "opencode.ai") || call.model.provider == "opencode-go" {
        headers.set("x-opencode-client", &app.name);
    }
}

fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
