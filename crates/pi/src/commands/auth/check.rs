//! `pi auth check`: one word, or one line of JSON, and an exit code.

use pi_coding_agent::models::{CredentialError, CredentialSource};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::{Credentials, Done, Failure, Unclear, open, provider, wait};
use crate::exit::{Exit, note, print};
use crate::flags::parse::Given;

/// What is said about a provider.
struct Answer {
    status: Status,
    /// Or the text that should have named one.
    provider: String,
    kind: Option<&'static str>,
    reason: Option<&'static str>,
    secret: Option<SecretString>,
    /// For people.
    why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    /// There is nothing that could be used.
    NotReady,
    /// There is something, and it is broken.
    Invalid,
}

const MISSING: &str = "credentials_not_configured";
const BROKEN: &str = "invalid_state";

pub(in crate::commands) fn check(given: &Given) -> Done {
    let answer = answer(given)?;
    if let Some(why) = &answer.why {
        note(why);
    }
    let (word, exit) = match answer.status {
        Status::Ready => ("ready", Exit::Success),
        Status::NotReady => ("not_ready", Exit::Failed),
        // The number that scripts expect; the command line is in order.
        Status::Invalid => ("invalid", Exit::Usage),
    };
    let secret = answer.secret.as_ref().filter(|_| given.has("credentials"));
    let secret = secret.map(ExposeSecret::expose_secret);
    let line = if given.has("json") {
        let fields = [
            ("status", Some(word)),
            ("provider", Some(answer.provider.as_str())),
            ("authType", answer.kind),
            ("reason", answer.reason),
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

fn answer(given: &Given) -> Result<Answer, Failure> {
    let credentials = open()?;
    let not = |status, provider: String, reason, why: String| Answer {
        status,
        provider,
        kind: None,
        reason: Some(reason),
        secret: None,
        why: Some(why),
    };
    let provider = match provider(given, &credentials)? {
        Ok(provider) => provider,
        Err(unclear) => {
            let why = unclear.message();
            return Ok(match unclear {
                Unclear::Provider(name) => not(Status::NotReady, name, "provider_not_found", why),
                Unclear::Model { text, .. } => not(Status::Invalid, text, BROKEN, why),
            });
        }
    };
    if let Some(problem) = broken(&credentials, &provider) {
        return Ok(not(Status::Invalid, provider, BROKEN, problem));
    }
    let registry = &credentials.registry;
    let source = registry.credential_source(&provider);
    let secret = match wait(registry.api_key(&provider))? {
        Ok(secret) => secret,
        Err(error) => {
            let (status, reason) = match error {
                CredentialError::Expired { .. } => (Status::Invalid, BROKEN),
                _ => (Status::NotReady, MISSING),
            };
            return Ok(not(status, provider, reason, error.to_string()));
        }
    };
    if !registry.models().is_spoken(&provider) {
        let why = format!("this version cannot talk to {provider} yet");
        return Ok(not(Status::NotReady, provider, "provider_not_supported", why));
    }
    if !registry.is_available(&provider) {
        let why = format!("the address of {provider} depends on variables that are not set");
        return Ok(not(Status::NotReady, provider, MISSING, why));
    }
    let kind = match source {
        Some(CredentialSource::Login { .. }) => "oauth",
        Some(CredentialSource::NotNeeded) => "none",
        _ => "api_key",
    };
    let secret = (kind != "none").then_some(secret);
    let (status, kind) = (Status::Ready, Some(kind));
    Ok(Answer { status, provider, kind, reason: None, secret, why: None })
}

/// A file that says something about the provider and cannot be understood.
pub(super) fn broken(credentials: &Credentials, provider: &str) -> Option<String> {
    let stored = credentials.store.get(provider).err().map(|error| error.diagnostic());
    let problem = credentials.problems.first().cloned().or(stored);
    problem.map(|problem| problem.to_string())
}
