//! `pi auth print-api-key` and `print-bearer-token`: print a secret to stdout, for scripts.

use std::time::Duration;

use pi_models::CredentialSource;
use secrecy::{ExposeSecret as _, SecretString};

use super::check::broken;
use super::{CommandResult, Credentials, Failure, open_account, plain, provider, wait};
use crate::exit::print;
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn api_key(args: &CommandArgs) -> CommandResult {
    let credentials = open_account(args)?;
    let provider = usable(args, &credentials)?;
    match credentials.registry.credential_source(&provider) {
        Some(CredentialSource::Login { .. }) => Err(Failure::failed(format!(
            "Provider \"{provider}\" is configured with OAuth, not an API key"
        ))
        .hint("print its token with `pi auth print-bearer-token`")),
        Some(CredentialSource::NotNeeded) => {
            Err(Failure::failed(format!("Provider \"{provider}\" needs no API key and has none")))
        }
        _ => secret(&wait(credentials.registry.api_key(&provider))??),
    }
}

pub(in crate::commands) fn bearer_token(args: &CommandArgs) -> CommandResult {
    let least = match args.value("min-expiry") {
        Some(text) => duration(text).ok_or_else(|| {
            let message = "--min-expiry must use a duration such as 30m or 1h";
            Failure::usage(message.to_owned())
        })?,
        None => Duration::ZERO,
    };
    let credentials = open_account(args)?;
    let provider = usable(args, &credentials)?;
    match credentials.registry.credential_source(&provider) {
        Some(CredentialSource::Login { .. } | CredentialSource::Cloud(_)) => {
            let token = wait(credentials.registry.bearer_token(&provider, least))??;
            check_expiry(&credentials, &provider, least)?;
            secret(&token)
        }
        _ => Err(Failure::failed(format!(
            "Provider \"{provider}\" is not configured with an OAuth bearer token"
        ))),
    }
}

/// Fails if a login ends too early: one that cannot be renewed, or a service with shorter tokens.
fn check_expiry(credentials: &Credentials, provider: &str, least: Duration) -> Result<(), Failure> {
    let Some(expires) = credentials.registry.auth_status(provider).expires else { return Ok(()) };
    if expires - pi_protocol::now_ms() >= least.as_secs_f64() * 1000.0 || least.is_zero() {
        return Ok(());
    }
    let date = plain::expiry(expires);
    let message =
        format!("the login of {provider} ends at {date}, earlier than --min-expiry requires");
    Err(Failure::failed(message)
        .hint(format!("use a shorter time, or sign in again with `pi auth login {provider}`")))
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

fn secret(secret: &SecretString) -> CommandResult {
    Ok(print(&format!("{}\n", secret.expose_secret())))
}

/// Parses a duration such as `30m`.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}
