//! Redaction of the keys of this process in messages, reports and exports.

use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::OnceLock;

use pi_guard::secrets::{Secrets, environment_secrets};
use pi_models::configured_secrets;

use crate::environment;

static OWN: OnceLock<Secrets> = OnceLock::new();

/// Returns the secrets of the environment, the user's files and the command line. They are
/// collected on first use, since most commands print no message.
pub(crate) fn own() -> &'static Secrets {
    OWN.get_or_init(|| {
        let environment = environment::read();
        let configured = environment.map(|environment| configured_secrets(&environment));
        Secrets::new(
            configured
                .unwrap_or_default()
                .into_iter()
                .chain(api_key_arguments(std::env::args_os())),
        )
    })
}

/// Redacts the secrets in a text.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    own().redact_known(text)
}

/// Redacts the secrets in a crash report, without reading files.
pub(crate) fn redacted_in_crash(text: &str) -> String {
    if let Some(own) = OWN.get() {
        return own.redact(text).into_owned();
    }
    let text_of = |value: OsString| value.into_string().ok();
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((text_of(name)?, text_of(value)?)))
        .collect();
    let own =
        environment_secrets(&variables).into_iter().chain(api_key_arguments(std::env::args_os()));
    Secrets::new(own).redact(text).into_owned()
}

/// Returns the API keys on a command line.
fn api_key_arguments(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let joined = words.iter().filter_map(|word| word.strip_prefix("--api-key="));
    let after = words.windows(2).filter(|pair| pair[0] == "--api-key").map(|pair| &*pair[1]);
    joined.chain(after).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_keys_on_the_command_line_are_found() {
        let words = ["pi", "--api-key", "one", "-p", "--api-key=two", "x", "--api-key"];
        assert_eq!(api_key_arguments(words.map(OsString::from).into_iter()), ["two", "one"]);
    }
}
