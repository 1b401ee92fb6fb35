//! Variables that are part of a provider's address, and whether they are set.

use crate::credentials::Source;
use crate::definitions::Models;

/// A part of an address: one of these variables must be set.
type Part = &'static [&'static str];

/// Returns the parts of a provider's address that the user has to supply.
fn parts(provider: &str, source: &Source, models: &Models) -> &'static [Part] {
    match provider {
        "cloudflare-workers-ai" => &[&["CLOUDFLARE_ACCOUNT_ID"]],
        "cloudflare-ai-gateway" => &[&["CLOUDFLARE_ACCOUNT_ID"], &["CLOUDFLARE_GATEWAY_ID"]],
        "azure" if !models.has_base_url(provider) => {
            &[&["AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_RESOURCE_NAME"]]
        }
        // With an API key the address has neither project nor location. The project may come with
        // the credentials.
        "google-vertex" if matches!(source, Source::Cloud { .. }) => &[&["GOOGLE_CLOUD_LOCATION"]],
        _ => &[],
    }
}

/// Returns the variables that the provider's address needs and that are not set. Alternatives are
/// one text.
pub(crate) fn missing_variables(
    provider: &str,
    source: &Source,
    models: &Models,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let is_set = |name: &&str| lookup(name).is_some_and(|value| !value.is_empty());
    let parts = parts(provider, source, models).iter();
    parts.filter(|part| !part.iter().any(is_set)).map(|part| part.join(" or ")).collect()
}
