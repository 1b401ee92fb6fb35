//! Answers about the project: trust and more resources.

use std::path::PathBuf;

use pi_coding_agent::extension::{DiscoveredResources, TrustDecision};
use serde_json::Value;

use super::{field, is_true};

/// Reads `{ trusted: "yes" | "no" | "undecided", remember? }`.
pub(super) fn trust(result: &Value) -> TrustDecision {
    let remember = is_true(result, "remember");
    match result["trusted"].as_str() {
        Some("yes") => TrustDecision::Trusted { remember },
        Some("no") => TrustDecision::Untrusted { remember },
        _ => TrustDecision::Undecided,
    }
}

/// Reads `{ skillPaths?, promptPaths?, themePaths? }`.
pub(super) fn resources(result: &Value) -> Result<DiscoveredResources, String> {
    let paths = |name| field::<Vec<PathBuf>>(result, name).map(|paths| paths.unwrap_or_default());
    Ok(DiscoveredResources {
        skills: paths("skillPaths")?,
        prompts: paths("promptPaths")?,
        themes: paths("themePaths")?,
    })
}
