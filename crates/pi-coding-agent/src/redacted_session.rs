//! Copies of sessions without secrets.

use pi_guard::secrets::Secrets;
use pi_session::{Session, SessionError};
use serde_json::Value;

/// Returns a copy of a session in which the secrets are redacted; `None` if it contains none.
pub fn redacted_session(
    session: &Session,
    secrets: &Secrets,
) -> Result<Option<Session>, SessionError> {
    session.map_lines(|line| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            let found = secrets.redact_json(&mut value);
            found.then(|| value.to_string())
        }
        Err(_) => match secrets.redact(line) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(masked) => Some(masked),
        },
    })
}
