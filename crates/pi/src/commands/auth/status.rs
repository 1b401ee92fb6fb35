//! `pi auth status`: the credentials of all providers, never their values.

use std::io::{BufWriter, Write as _};

use pi_base::text;
use pi_config::StoredCredential;
use pi_host::credentials::{self, source_name};
use pi_models::{AuthStatus, CredentialError, CredentialName, CredentialSource, UnusableModel};
use serde_json::{Value, json};

use super::change::provider_named;
use super::{CommandResult, Credentials, Failure, open, plain, success};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn status(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    let mut exit = success();
    for problem in &credentials.problems {
        note(&problem.to_string());
        exit = Exit::Configuration.into();
    }
    let rows = rows(&credentials, &selected(args, &credentials)?)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = rows.iter().map(to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else {
        let width = rows.iter().map(|row| row.name.to_string().chars().count()).max();
        let width = width.unwrap_or_default();
        for row in &rows {
            let name = text::one_line(&row.name.to_string());
            writeln!(out, "{name:width$}  {} {}", row.state.mark(), describe(row))?;
        }
    }
    out.flush()?;
    Ok(exit)
}

/// Returns the providers that the arguments name; all without arguments.
pub(super) fn selected(
    args: &CommandArgs,
    credentials: &Credentials,
) -> Result<Vec<String>, Failure> {
    if args.words.is_empty() {
        let models = credentials.registry.models();
        return Ok(models.providers().map(str::to_owned).collect());
    }
    args.words.iter().map(|name| provider_named(credentials, name)).collect()
}

/// A credential in the table.
pub(super) struct Row {
    pub(super) name: CredentialName,
    pub(super) state: State,
    pub(super) status: Option<AuthStatus>,
    /// The entry of `auth.json` of an account that is not in use.
    unused: Option<StoredCredential>,
}

/// The state of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// There is no credential.
    NotConfigured,
    /// There is a credential, and it cannot be used.
    Invalid,
    /// The credential belongs to an account that is not chosen.
    Unused,
}

impl State {
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Ready => "✓",
            Self::NotConfigured => "•",
            Self::Invalid => "✗",
            Self::Unused => "-",
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotConfigured => "not_configured",
            Self::Invalid => "invalid",
            Self::Unused => "unused",
        }
    }

    pub(super) fn of(status: &AuthStatus) -> Self {
        match &status.problem {
            None => Self::Ready,
            Some(UnusableModel::Credentials(
                CredentialError::Missing { .. } | CredentialError::NotSignedIn { .. },
            )) => Self::NotConfigured,
            Some(_) if status.source.is_none() => Self::NotConfigured,
            Some(_) => Self::Invalid,
        }
    }
}

/// Returns a row for each provider, followed by its other accounts.
fn rows(credentials: &Credentials, providers: &[String]) -> Result<Vec<Row>, Failure> {
    let stored = credentials.store.list()?;
    let mut rows = Vec::new();
    for provider in providers {
        let status = credentials.registry.auth_status(provider);
        let used = status.name.clone();
        let state = State::of(&status);
        rows.push(Row { name: used.clone(), state, status: Some(status), unused: None });
        for entry in &stored {
            let name = match entry.contains('@') {
                true => entry.parse::<CredentialName>().ok(),
                false => Some(CredentialName::new(entry.as_str())),
            };
            if let Some(name) = name.filter(|name| name.provider == *provider && *name != used) {
                let unused = credentials.store.get(entry).ok().flatten();
                rows.push(Row { name, state: State::Unused, status: None, unused });
            }
        }
    }
    Ok(rows)
}

fn describe(row: &Row) -> String {
    if let Some(stored) = &row.unused {
        let what = match stored {
            StoredCredential::ApiKey { .. } => "key",
            StoredCredential::Oauth { .. } => "login",
        };
        return format!("{what} in auth.json, not used; choose it with --account {}", row.name);
    }
    let Some(status) = &row.status else { return String::new() };
    let source = status.source.map(describe_source);
    match (row.state, source, &status.problem) {
        (State::Ready, Some(source), _) => format!("{source}{}", validity(status)),
        (State::Ready, None, _) => "ready".to_owned(),
        (State::NotConfigured, ..) => "not configured".to_owned(),
        (_, Some(source), Some(problem)) => format!("{source}: {problem}"),
        (_, None, Some(problem)) => problem.to_string(),
        (_, Some(source), None) => source,
        (_, None, None) => String::new(),
    }
}

/// Describes the source of a credential.
pub(super) fn describe_source(source: CredentialSource) -> String {
    match source {
        CredentialSource::NotNeeded => "needs no key".to_owned(),
        CredentialSource::Login { .. } => "login in auth.json".to_owned(),
        CredentialSource::Variable(name) => format!("env: {name}"),
        CredentialSource::Cloud(name) => name.to_owned(),
        source => format!("key in {}", source_name(source)),
    }
}

/// Describes the end of a login, with a leading comma.
pub(in crate::commands) fn validity(status: &AuthStatus) -> String {
    let Some(expires) = status.expires else { return String::new() };
    if expires >= credentials::FOREVER {
        return ", does not expire".to_owned();
    }
    let date = plain::expiry(expires);
    match (status.is_renewable, expires <= pi_protocol::now_ms()) {
        (true, true) => format!(", renewed with the next request (ended {date})"),
        (true, false) => format!(", valid until {date}, then renewed"),
        (false, true) => format!(", ended {date}"),
        (false, false) => format!(", valid until {date}"),
    }
}

fn to_json(row: &Row) -> Value {
    let mut object = json!({
        "provider": row.name.provider,
        "account": row.name.account,
        "status": row.state.word(),
    });
    if let Some(status) = &row.status {
        add_status(&mut object, status);
    } else if let Some(stored) = &row.unused {
        let (kind, expires) = match stored {
            StoredCredential::ApiKey { .. } => ("api_key", None),
            StoredCredential::Oauth { expires, .. } => ("oauth", Some(*expires)),
        };
        object["authType"] = kind.into();
        object["source"] = "auth.json".into();
        object["expires"] = expires.into();
    }
    object
}

/// Adds the source, the expiry and the problem of a credential to a JSON object.
pub(super) fn add_status(object: &mut Value, status: &AuthStatus) {
    if let Some(source) = status.source {
        let kind = match source {
            CredentialSource::Login { .. } => "oauth",
            CredentialSource::NotNeeded => "none",
            _ => "api_key",
        };
        object["authType"] = kind.into();
        object["source"] = source_name(source).into();
    }
    if let Some(expires) = status.expires {
        object["expires"] = expires.into();
        object["renewable"] = status.is_renewable.into();
    }
    if let Some(problem) = &status.problem {
        object["problem"] = problem.to_string().into();
    }
}
