//! `pi auth check`: prints one word or one line of JSON, and sets the exit code.

use pi_coding_agent::models::{CredentialError, CredentialSource, UnusableModel};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{CommandResult, Credentials, Failure, NoProvider, open, provider, wait};
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
        Status::Ready => ("ready", Exit::Success),
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
    Ok(if printed == Exit::Success.into() { exit.into() } else { printed })
}

/// Checks the credential of the selected provider.
fn inspect(args: &CommandArgs) -> Result<Report, Failure> {
    let credentials = open()?;
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
    let secret = wait(registry.api_key(&provider))?;
    if let Err(error @ CredentialError::Expired { .. }) = &secret {
        return Ok(not(Status::Invalid, provider, BROKEN, error.to_string(), error.hint()));
    }
    // An unsupported provider stays unusable with any key.
    if let Err(why) = registry.check_provider(&provider) {
        let reason = match why {
            UnusableModel::Unsupported { .. } => "provider_not_supported",
            _ => MISSING,
        };
        return Ok(not(Status::NotReady, provider, reason, why.to_string(), why.hint()));
    }
    let secret = match secret {
        Ok(secret) => secret,
        Err(error) => {
            let (why, hint) = (error.to_string(), error.hint());
            return Ok(not(Status::NotReady, provider, MISSING, why, hint));
        }
    };
    let kind = match source {
        Some(CredentialSource::Login { .. }) => "oauth",
        Some(CredentialSource::NotNeeded) => "none",
        _ => "api_key",
    };
    let secret = (kind != "none").then_some(secret);
    let (status, kind) = (Status::Ready, Some(kind));
    Ok(Report { status, provider, kind, reason: None, secret, why: None })
}

/// Returns the problem of a file that configures the provider and cannot be read.
pub(super) fn broken(credentials: &Credentials, provider: &str) -> Option<String> {
    let stored = credentials.store.get(provider).err().map(|error| error.diagnostic());
    let problem = credentials.problems.first().cloned().or(stored);
    problem.map(|problem| problem.to_string())
}
