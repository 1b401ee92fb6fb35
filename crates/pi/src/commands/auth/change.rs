//! `pi auth set` and `pi auth logout`: credentials in `auth.json`.
//!
//! A key is read from stdin, hidden if that is a terminal: arguments are visible to all users of the
//! machine and stay in the shell history.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Read as _};

use pi_coding_agent::Environment;
use pi_config::StoredCredential;
use pi_host::credentials::SaveError;
use pi_host::credentials::forms::{self, Answers, FormError};
use pi_models::{CredentialName, CredentialSource, Revocation};
use serde_json::json;

use super::login::{command_words, credential_name, interruptible};
use super::{CommandResult, Credentials, Failure, open, project, success, wait};
use crate::exit::{Exit, hint, note, print};
use crate::flags::parse::CommandArgs;
use crate::flags::suggest;
use crate::logins::terminal::TerminalInteraction;

const SEE_STATUS: &str = "see `pi auth status` for the sources of credentials";

pub(in crate::commands) fn set(args: &CommandArgs) -> CommandResult {
    let project = project::open_silently()?;
    let credentials = Credentials::open(&project);
    let provider = provider_named(&credentials, args.word(0).unwrap_or_default())?;
    let name = credential_name(&provider, args.value("account"))?;
    if !std::io::stdin().is_terminal() {
        let credential = piped(args, &provider)?;
        return stored(&credentials, &name, credential);
    }
    interruptible(|_| async { typed(args, project.environment(), &credentials, &name).await })
}

/// Asks for a credential on the terminal.
async fn typed(
    args: &CommandArgs,
    environment: &Environment,
    credentials: &Credentials,
    name: &CredentialName,
) -> CommandResult {
    let (given, method) = (variables(args)?, args.value("method"));
    let terminal = TerminalInteraction::new(None, true);
    let credential = forms::ask(&name.provider, method, given, environment, &terminal).await?;
    stored(credentials, name, credential)
}

/// Reads a credential from standard input and the options.
fn piped(args: &CommandArgs, provider: &str) -> Result<StoredCredential, Failure> {
    let method = forms::find(provider, args.value("method"))?;
    let variables = variables(args)?;
    let secret = match method.secret {
        Some(_) => Some(read_key()?),
        None => None,
    };
    Ok(forms::credential(provider, method, Answers { secret, variables })?)
}

fn stored(
    credentials: &Credentials,
    name: &CredentialName,
    credential: StoredCredential,
) -> CommandResult {
    let has_key = matches!(credential, StoredCredential::ApiKey { key: Some(_), .. });
    credentials.save(name, credential)?;
    let what = if has_key { "a key" } else { "settings" };
    let path = credentials.store.path().display();
    Ok(print(&format!("stored {what} for {name} in {path}\n")))
}

/// Returns the provider of this name, ignoring case.
pub(super) fn provider_named(credentials: &Credentials, name: &str) -> Result<String, Failure> {
    credentials.known(name).ok_or_else(|| {
        let models = credentials.registry.models();
        let near = suggest::nearest(name, models.providers());
        let hint = near.map_or_else(
            || "add the provider to models.json first".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        Failure::usage(format!("unknown provider \"{name}\"")).hint(hint)
    })
}

/// Returns the variables of `--env`.
pub(super) fn variables(args: &CommandArgs) -> Result<BTreeMap<String, String>, Failure> {
    args.values("env")
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                Ok((name.to_owned(), value.to_owned()))
            }
            // The value may be a secret, so it is not quoted.
            _ => Err(Failure::usage("--env must have the form NAME=VALUE")),
        })
        .collect()
}

pub(in crate::commands) fn logout(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    let word = args.word(0).unwrap_or_default();
    let name = match word.split_once('@') {
        // The name of an entry in auth.json.
        Some((provider, account)) if args.value("account").is_none() => {
            credential_name(provider, Some(account))?
        }
        _ => {
            let provider = credentials.known(word).unwrap_or_else(|| word.to_owned());
            credential_name(&provider, args.value("account"))?
        }
    };
    let done = wait(credentials.registry.logout(&name))??;
    if !done.was_stored {
        let message = format!("no credential is stored for \"{name}\"");
        return Err(Failure::failed(message).hint(SEE_STATUS));
    }
    let revoked = match &done.revocation {
        Revocation::Revoked => Some("revoked"),
        Revocation::Failed(_) => Some("failed"),
        _ => None,
    };
    if args.has("json") {
        let line = json!({ "provider": name.provider, "account": name.account, "removed": true,
            "revocation": revoked });
        print(&format!("{line}\n"));
        return Ok(success());
    }
    if let Revocation::Failed(why) = &done.revocation {
        note(&format!("the tokens of {name} may still be valid: {why}"));
        hint(&format!("revoke the access of pi in your account at {}", name.provider));
    }
    let remaining = credentials.registry.credential_source(&name.provider);
    if remaining.is_some_and(|source| source != CredentialSource::NotNeeded) {
        note(&format!("another credential of {} remains", name.provider));
        hint(SEE_STATUS);
    }
    let and = if revoked == Some("revoked") { " and revoked its tokens" } else { "" };
    Ok(print(&format!("removed the credential of {name}{and}\n")))
}

fn read_key() -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("cannot read the key: {error}"));
    let mut bytes = Vec::new();
    let limit = forms::LONGEST as u64 + 1;
    std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(failed)?;
    let wrong =
        |problem: &str| Failure::usage(format!("standard input {problem}; nothing was stored"));
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))?;
    match forms::check_key(&text) {
        Some(problem) => Err(wrong(problem)),
        None => Ok(text),
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        match &error {
            SaveError::LoginStored(name) => {
                let words = command_words(name);
                let remove = format!("to replace it, first run `pi auth logout {words}`");
                Self::failed(error.to_string()).hint(remove)
            }
            _ => Self::configuration(error.to_string()),
        }
    }
}

impl From<FormError> for Failure {
    fn from(error: FormError) -> Self {
        let message = error.to_string();
        match error {
            FormError::Cancelled => Self::new(message, Exit::Aborted),
            FormError::Missing { variable, .. } => {
                Self::usage(message).hint(format!("add --env {variable}=VALUE"))
            }
            _ => Self::usage(message),
        }
    }
}
