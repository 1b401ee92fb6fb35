//! `pi auth check`: prints one word or one line of JSON, and sets the exit code.

use pi_config::StoredCredential;
use pi_models::{CredentialError, CredentialSource, UnusableModel};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{CommandResult, Credentials, Failure, NoProvider, open_account, provider, wait};
use crate::exit::{Exit, hint, note, print};
use crate::flags::parse::CommandArgs;
use crate::hints::Hint as _;

/// The result of the check.
struct Report {
    status: Status,
    /// The provider, or the text that names none.
    provider: String,
    kind: Option<&'static str>,
    reason: Option<&'static str>,
    secret: Option<SecretString>,
    /// Explanation and hint, for stderr.
    why: Option<(String, Option<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    /// No credential was found.
    NotReady,
    /// The credential cannot be used.
    Invalid,
}

const MISSING: &str = "credentials_not_configured";
const UNAVAILABLE: &str = "credential_not_available";
const BROKEN: &str = "invalid_state";

pub(in crate::commands) fn check(args: &CommandArgs) -> CommandResult {
    let report = inspect(args)?;
    if let Some((why, advice)) = &report.why {
        note(why);
        if let Some(advice) = advice {
            hint(advice);
        }
    }
    let (word, exit) = match report.status {
        Status::Ready => ("ready", Exit::Completed),
        Status::NotReady => ("not_ready", Exit::Failed),
        // The code that scripts expect, although the command line is valid.
        Status::Invalid => ("invalid", Exit::Usage),
    };
    let secret = match &report.secret {
        Some(secret) if args.has("credentials") => Some(secret.expose_secret()),
        _ => None,
    };
    let line = if args.has("json") {
        let fields = [
            ("status", Some(word)),
            ("provider", Some(report.provider.as_str())),
            ("authType", report.kind),
            ("reason", report.reason),
            ("credentials", secret),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let object: Map<String, Value> =
            fields.map(|(name, value)| (name.to_owned(), value.into())).collect();
        Value::Object(object).to_string()
    } else {
        secret.unwrap_or(word).to_owned()
    };
    let printed = print(&format!("{line}\n"));
    Ok(if printed == Exit::Completed.into() { exit.into() } else { printed })
}

/// Checks the credential of the selected provider.
fn inspect(args: &CommandArgs) -> Result<Report, Failure> {
    let credentials = open_account(args)?;
    let not = |status, provider: String, reason, why: String, hint: Option<String>| Report {
        status,
        provider,
        kind: None,
        reason: Some(reason),
        secret: None,
        why: Some((why, hint)),
    };
    let provider = match provider(args, &credentials)? {
        Ok(provider) => provider,
        Err(missing) => {
            let error = missing.error();
            let (why, hint) = (error.to_string(), error.hint());
            return Ok(match missing {
                NoProvider::Provider(name) => {
                    not(Status::NotReady, name, "provider_not_found", why, hint)
                }
                NoProvider::Model { text, .. } => not(Status::Invalid, text, BROKEN, why, hint),
            });
        }
    };
    if let Some(problem) = broken(&credentials, &provider) {
        return Ok(not(Status::Invalid, provider, BROKEN, problem, None));
    }
    let registry = &credentials.registry;
    let source = registry.credential_source(&provider);
    // An unsupported provider stays unusable with any key.
    if let Err(why) = registry.check_provider(&provider) {
        let (why_text, hint) = (why.to_string(), why.hint());
        return Ok(match why {
            UnusableModel::Unsupported { .. } => {
                not(Status::NotReady, provider, "provider_not_supported", why_text, hint)
            }
            UnusableModel::Credentials(CredentialError::Expired { .. }) => {
                not(Status::Invalid, provider, BROKEN, why_text, hint)
            }
            _ => not(Status::NotReady, provider, MISSING, why_text, hint),
        });
    }
    let kind = match source {
        Some(CredentialSource::Login { .. }) => "oauth",
        Some(CredentialSource::NotNeeded) => "none",
        _ => "api_key",
    };
    let ready = |secret: Option<SecretString>, provider: String| Report {
        status: Status::Ready,
        provider,
        kind: Some(kind),
        reason: None,
        secret,
        why: None,
    };
    let name = registry.credential_name(&provider).to_string();
    if args.has("no-refresh")
        && let Ok(Some(StoredCredential::Oauth { access, .. })) = credentials.store.get(&name)
    {
        return Ok(ready(Some(access.into()), provider));
    }
    Ok(match wait(registry.api_key(&provider))? {
        Ok(secret) => ready((kind != "none").then_some(secret), provider),
        // Keys that sign are ready, but cannot be printed.
        Err(error @ CredentialError::NotAKey { .. }) => match args.has("credentials") {
            true => not(Status::NotReady, provider, UNAVAILABLE, error.to_string(), error.hint()),
            false => ready(None, provider),
        },
        Err(
            error @ (CredentialError::Expired { .. }
            | CredentialError::NotRenewed { .. }
            | CredentialError::NotStored { .. }),
        ) => not(Status::Invalid, provider, BROKEN, error.to_string(), error.hint()),
        Err(error) => not(Status::NotReady, provider, MISSING, error.to_string(), error.hint()),
    })
}

/// Returns the problem of a file that configures the provider and cannot be read.
pub(super) fn broken(credentials: &Credentials, provider: &str) -> Option<String> {
    let stored = credentials
        .store
        .get(&credentials.registry.credential_name(provider).to_string())
        .err()
        .map(|error| error.diagnostic());
    let problem = credentials.problems.first().cloned().or(stored);
    problem.map(|problem| problem.to_string())
}
