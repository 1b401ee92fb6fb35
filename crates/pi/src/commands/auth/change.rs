//! `pi auth set` and `pi auth remove`: keys stored in `auth.json`.
//!
//! A key is read from stdin, hidden if that is a terminal: arguments are visible to all users of the
//! machine and stay in the shell history.

use std::io::{IsTerminal as _, Read as _};

use pi_coding_agent::config::StoredCredential;

use super::{CommandResult, Failure, hidden, open};
use crate::exit::{Exit, hint, note, print};
use crate::flags::parse::CommandArgs;
use crate::flags::suggest;

/// Maximum length of a key.
const LONGEST: u64 = 64 * 1024;

const SEE_LIST: &str = "see `pi auth list` for the sources of credentials";

pub(in crate::commands) fn set(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    let name = args.word(0).unwrap_or_default();
    let Some(provider) = credentials.known(name) else {
        let models = credentials.registry.models();
        let hint = suggest::nearest(name, models.providers());
        let hint = hint.map_or_else(
            || "add the provider to models.json first".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        return Err(Failure::usage(format!("unknown provider \"{name}\"")).hint(hint));
    };
    let key = literal(&read_key(&provider)?);
    let mut edit = credentials.store.edit()?;
    let credential = match edit.get(&provider)? {
        Some(StoredCredential::ApiKey { env, extra, .. }) => {
            StoredCredential::ApiKey { key: Some(key), env, extra }
        }
        // Only the user could restore a lost login.
        Some(StoredCredential::Oauth { .. }) => {
            return Err(Failure::failed(format!("a login is stored for {provider}"))
                .hint(format!("to replace it, first run `pi auth remove {provider}`")));
        }
        None => StoredCredential::api_key(key),
    };
    edit.set(&provider, &credential)?;
    let path = credentials.store.path().display();
    Ok(print(&format!("stored a key for {provider} in {path}\n")))
}

pub(in crate::commands) fn remove(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    let provider = args.word(0).unwrap_or_default();
    if !credentials.store.remove(provider)? {
        return Err(
            Failure::failed(format!("no credential is stored for \"{provider}\"")).hint(SEE_LIST)
        );
    }
    if credentials.registry.credential_source(provider).is_some() {
        note(&format!("another credential of {provider} remains"));
        hint(SEE_LIST);
    }
    Ok(print(&format!("removed the credential of {provider}\n")))
}

fn read_key(provider: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let failed = |error: std::io::Error| Failure::failed(format!("cannot read the key: {error}"));
    let mut bytes = Vec::new();
    if stdin.is_terminal() {
        let line = hidden::read_line(&format!("API key of {provider} (not shown): "));
        match line.map_err(failed)? {
            Some(line) => bytes.extend(line.into_bytes()),
            None => return Err(Failure::new("nothing was stored", Exit::Interrupted)),
        }
    } else {
        stdin.lock().take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    // The error does not quote the input, which may be most of a secret.
    let wrong = |problem: &str| {
        Err(Failure::usage(format!("standard input {problem}; nothing was stored")))
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => wrong("contains no key"),
        Ok(text) if text.trim().contains(|c: char| c.is_control() || c.is_whitespace()) => {
            wrong("contains more than one word")
        }
        Ok(text) if text.len() as u64 <= LONGEST => Ok(text.trim().to_owned()),
        Ok(_) => wrong("is longer than any key"),
        Err(_) => wrong("is not valid UTF-8"),
    }
}

/// Escapes a key for `auth.json`, where `$` and `!` introduce a variable or a command.
fn literal(key: &str) -> String {
    let escaped = key.replace('$', "$$");
    if escaped.starts_with('!') { format!("${escaped}") } else { escaped }
}
