//! `pi auth print-api-key` and `print-bearer-token`: print a secret to stdout, for scripts.

use pi_coding_agent::models::CredentialSource;
use secrecy::ExposeSecret as _;

use super::check::broken;
use super::{CommandResult, Credentials, Failure, credentials, open, provider, wait};
use crate::exit::print;
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn api_key(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    let provider = usable(args, &credentials)?;
    match credentials.registry.credential_source(&provider) {
        Some(CredentialSource::Login { .. }) => Err(Failure::failed(format!(
            "Provider \"{provider}\" is configured with OAuth, not an API key"
        ))
        .hint("print its token with `pi auth print-bearer-token`")),
        Some(CredentialSource::NotNeeded) => {
            Err(Failure::failed(format!("Provider \"{provider}\" needs no API key and has none")))
        }
        _ => secret(&credentials, &provider),
    }
}

pub(in crate::commands) fn bearer_token(args: &CommandArgs) -> CommandResult {
    let least = match args.value("min-expiry") {
        Some(text) => duration(text).ok_or_else(|| {
            let message = "--min-expiry must use a duration such as 30m or 1h";
            Failure::usage(message.to_owned())
        })?,
        None => 0.0,
    };
    let credentials = open()?;
    let provider = usable(args, &credentials)?;
    let source = credentials.registry.credential_source(&provider);
    let Some(CredentialSource::Login { expires }) = source else {
        let message =
            format!("Provider \"{provider}\" is not configured with an OAuth bearer token");
        return Err(Failure::failed(message));
    };
    if expires > credentials::now() && expires - credentials::now() < least {
        return Err(Failure::failed(format!(
            "the login of {provider} expires at {}, too early, and this version cannot renew it",
            credentials::date(expires)
        ))
        .hint("log in again"));
    }
    secret(&credentials, &provider)
}

/// Returns the selected provider, unless its configuration is broken.
fn usable(args: &CommandArgs, credentials: &Credentials) -> Result<String, Failure> {
    let provider = provider(args, credentials)?;
    let provider = provider.map_err(|missing| missing.error())?;
    match broken(credentials, &provider) {
        Some(problem) => Err(Failure::configuration(problem)),
        None => Ok(provider),
    }
}

fn secret(credentials: &Credentials, provider: &str) -> CommandResult {
    let secret = wait(credentials.registry.api_key(provider))??;
    Ok(print(&format!("{}\n", secret.expose_secret())))
}

/// Parses a duration such as `30m` into milliseconds.
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
