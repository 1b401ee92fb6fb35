//! `pi auth print-api-key` and `print-bearer-token`: a secret on stdout, for scripts that ask.

use pi_coding_agent::models::CredentialSource;
use secrecy::ExposeSecret as _;

use super::check::broken;
use super::{Credentials, Done, Failure, credentials, open, provider, wait};
use crate::exit::print;
use crate::flags::parse::Given;

pub(in crate::commands) fn api_key(given: &Given) -> Done {
    let credentials = open()?;
    let provider = usable(given, &credentials)?;
    match credentials.registry.credential_source(&provider) {
        Some(CredentialSource::Login { .. }) => Err(Failure::Failed(format!(
            "Provider \"{provider}\" is configured with OAuth, not an API key; \
             see `pi auth print-bearer-token`"
        ))),
        Some(CredentialSource::NotNeeded) => {
            Err(Failure::Failed(format!("Provider \"{provider}\" needs no API key, and has none")))
        }
        _ => secret(&credentials, &provider),
    }
}

pub(in crate::commands) fn bearer_token(given: &Given) -> Done {
    let least = match given.value("min-expiry") {
        Some(text) => duration(text).ok_or_else(|| {
            let message = "--min-expiry must use a duration such as 30m or 1h";
            Failure::Usage(message.to_owned())
        })?,
        None => 0.0,
    };
    let credentials = open()?;
    let provider = usable(given, &credentials)?;
    let source = credentials.registry.credential_source(&provider);
    let Some(CredentialSource::Login { expires }) = source else {
        let message =
            format!("Provider \"{provider}\" is not configured with an OAuth bearer token");
        return Err(Failure::Failed(message));
    };
    if expires > credentials::now() && expires - credentials::now() < least {
        return Err(Failure::Failed(format!(
            "the login of {provider} ends at {} UTC, which is too early, and this version cannot \
             renew it; log in again",
            credentials::date(expires)
        )));
    }
    secret(&credentials, &provider)
}

/// The provider that is meant, if nothing about it is broken.
fn usable(given: &Given, credentials: &Credentials) -> Result<String, Failure> {
    let provider = provider(given, credentials)?;
    let provider = provider.map_err(|unclear| Failure::Failed(unclear.message()))?;
    match broken(credentials, &provider) {
        Some(problem) => Err(Failure::Configuration(problem)),
        None => Ok(provider),
    }
}

fn secret(credentials: &Credentials, provider: &str) -> Done {
    let secret = wait(credentials.registry.api_key(provider))?;
    let secret = secret.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(print(&format!("{}\n", secret.expose_secret())))
}

/// A duration like `30m`, in milliseconds.
fn duration(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let factor = match unit {
        "ms" => 1.0,
        "s" => 1000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}
