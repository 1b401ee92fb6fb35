//! `pi auth set` and `pi auth remove`: keys stored in `auth.json`.
//!
//! A key is read from stdin, hidden if that is a terminal: arguments are visible to all users of the
//! machine and stay in the shell history.

use std::io::{IsTerminal as _, Read as _};

use pi_coding_agent::config::StoredCredential;

use super::{CommandResult, Credentials, Failure, hidden, open};
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
    store_key(&credentials, &provider, &read_key(&provider)?)?;
    let path = credentials.store.path().display();
    Ok(print(&format!("stored a key for {provider} in {path}\n")))
}

/// Stores a key, which [`check_key`] has accepted. A stored login is not replaced: only the user
/// could restore it.
pub(crate) fn store_key(
    credentials: &Credentials,
    provider: &str,
    key: &str,
) -> Result<(), Failure> {
    let key = literal(key);
    let mut edit = credentials.store.edit()?;
    let credential = match edit.get(provider)? {
        Some(StoredCredential::ApiKey { env, extra, .. }) => {
            StoredCredential::ApiKey { key: Some(key), env, extra }
        }
        Some(StoredCredential::Oauth { .. }) => {
            return Err(Failure::failed(format!("a login is stored for {provider}"))
                .hint(format!("to replace it, first run `pi auth remove {provider}`")));
        }
        None => StoredCredential::api_key(key),
    };
    edit.set(provider, &credential)?;
    Ok(())
}

/// Returns what is wrong with a text that is meant to be a key. It does not quote the text, which may
/// be most of a secret.
pub(crate) fn check_key(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if text.is_empty() {
        Some("contains no key")
    } else if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        Some("contains more than one word")
    } else if text.len() as u64 > LONGEST {
        Some("is longer than any key")
    } else {
        None
    }
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
    let wrong =
        |problem: &str| Failure::usage(format!("standard input {problem}; nothing was stored"));
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))?;
    match check_key(&text) {
        Some(problem) => Err(wrong(problem)),
        None => Ok(text.trim().to_owned()),
    }
}

/// Escapes a key for `auth.json`, where `$` and `!` introduce a variable or a command.
fn literal(key: &str) -> String {
    let escaped = key.replace('$', "$$");
    if escaped.starts_with('!') { format!("${escaped}") } else { escaped }
}
