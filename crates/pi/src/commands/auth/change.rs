//! `pi auth set` and `pi auth remove`: keys of the user's own, kept in `auth.json`.
//!
//! A key is read from stdin: arguments are seen by everybody on the machine and stay in the
//! shell's history.

use std::io::{IsTerminal as _, Read as _};

use pi_coding_agent::config::StoredCredential;

use super::{Done, Failure, open};
use crate::exit::{note, print};
use crate::flags::parse::Given;
use crate::flags::suggest;

/// No key is longer.
const LONGEST: u64 = 64 * 1024;

pub(in crate::commands) fn set(given: &Given) -> Done {
    let credentials = open()?;
    let name = given.word(0).unwrap_or_default();
    let Some(provider) = credentials.known(name) else {
        let models = credentials.registry.models();
        let hint = suggest::nearest(name, models.providers());
        let hint = hint.map_or_else(
            || "add it to models.json first".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        return Err(Failure::Usage(format!("There is no provider \"{name}\"; {hint}")));
    };
    let key = literal(&read_key(&provider)?);
    let mut edit = credentials.store.edit()?;
    let credential = match edit.get(&provider)? {
        Some(StoredCredential::ApiKey { env, extra, .. }) => {
            StoredCredential::ApiKey { key: Some(key), env, extra }
        }
        // It cannot be had again without its user.
        Some(StoredCredential::Oauth { .. }) => {
            return Err(Failure::Failed(format!(
                "there is a login for {provider}; to use a key instead, first run: \
                 pi auth remove {provider}"
            )));
        }
        None => StoredCredential::api_key(key),
    };
    edit.set(&provider, &credential)?;
    let path = credentials.store.path().display();
    Ok(print(&format!("stored a key for {provider} in {path}\n")))
}

pub(in crate::commands) fn remove(given: &Given) -> Done {
    let credentials = open()?;
    let provider = given.word(0).unwrap_or_default();
    if !credentials.store.remove(provider)? {
        return Err(Failure::Failed(format!(
            "nothing is stored for \"{provider}\"; see `pi auth list`"
        )));
    }
    if credentials.registry.credential_source(provider).is_some() {
        note(&format!("{provider} still has a credential elsewhere; see `pi auth list`"));
    }
    Ok(print(&format!("removed the credential of {provider}\n")))
}

fn read_key(provider: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::Usage(format!(
            "the key is read from a pipe, so that it is not shown; for example: \
             read -rs KEY && printf %s \"$KEY\" | pi auth set {provider}"
        )));
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::Failed(format!("cannot read the key: {error}")))?;
    // What was read is not repeated: it may be most of a secret.
    let wrong = |problem: &str| {
        Err(Failure::Usage(format!("standard input {problem}; nothing was stored")))
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => wrong("has no key"),
        Ok(text) if text.trim().contains(|c: char| c.is_control() || c.is_whitespace()) => {
            wrong("has more than a key, which is one word")
        }
        Ok(text) if text.len() as u64 <= LONGEST => Ok(text.trim().to_owned()),
        Ok(_) => wrong("has more than any key"),
        Err(_) => wrong("is not text"),
    }
}

/// The key as it is written down: what would be a variable or a command stands for itself.
fn literal(key: &str) -> String {
    let escaped = key.replace('$', "$$");
    if escaped.starts_with('!') { format!("${escaped}") } else { escaped }
}
