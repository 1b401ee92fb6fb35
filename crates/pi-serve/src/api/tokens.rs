//! `/api/v1/tokens`: lists, adds and revokes tokens.

use std::sync::Arc;

use jiff::SignedDuration;
use pi_web::http::StatusCode;
use pi_web::server::empty;
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

use super::{Answer, ApiError, Call, json};
use crate::entrance::Right;
use crate::entrance::tokens::{NewToken, TokenInfo};

/// The tokens that are valid.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenList {
    /// The tokens, without their values.
    pub tokens: Vec<TokenInfo>,
}

/// A token to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// Name of the token.
    pub name: String,
    /// The most that it permits.
    pub right: Right,
    /// The only session that it reaches. Such a token may only view.
    pub session: Option<String>,
    /// Time after which it ends, such as `2h` or `30d`.
    pub r#for: Option<String>,
}

/// A token that was added.
#[derive(Serialize, JsonSchema)]
pub struct Added {
    /// Value of the token, which is not stored and not shown again.
    pub token: String,
    /// Link that opens the page with the token.
    pub url: String,
}

impl std::fmt::Debug for Added {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Added").finish_non_exhaustive()
    }
}

/// Lists the tokens.
pub(crate) async fn list(call: Call) -> Answer {
    json(StatusCode::OK, &TokenList { tokens: call.state.tokens.list()? })
}

/// Adds a token.
pub(crate) async fn add(call: Call) -> Answer {
    let state = Arc::clone(&call.state);
    let wish: Wish = call.body().await?;
    let life = wish.r#for.as_deref().map(life).transpose()?;
    if let Some(session) = &wish.session {
        if wish.right != Right::View {
            let message = "a token for one session may only view";
            return Err(ApiError::bad_request("invalid_right", message));
        }
        if state.live(session).is_none() {
            state.host.find(session).await?;
        }
    }
    let mut new = NewToken::new(wish.name, wish.right);
    (new.session, new.life) = (wish.session, life);
    let token = state.tokens.add(new)?;
    let url = state.url(token.expose_secret());
    json(StatusCode::CREATED, &Added { token: token.expose_secret().to_owned(), url })
}

/// Revokes a token. Its open connections end.
pub(crate) async fn revoke(call: Call) -> Answer {
    call.state.tokens.revoke(call.param(0)?)?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Reads the time after which a token ends: a number with `s`, `m`, `h` or `d`.
fn life(text: &str) -> Result<SignedDuration, ApiError> {
    parse_life(text).ok_or_else(|| {
        let message = format!("invalid duration {text:?}: expected a number with s, m, h or d");
        ApiError::bad_request("invalid_duration", message)
    })
}

/// Parses a duration such as `90s`, `30m`, `2h` or `7d`.
pub fn parse_life(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let number: u32 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number > 0)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return None,
    };
    Some(SignedDuration::from_secs(i64::from(number) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, seconds) in [("90s", 90), ("30m", 1800), ("2h", 7200), ("7d", 604_800)] {
            assert_eq!(parse_life(text), Some(SignedDuration::from_secs(seconds)), "{text}");
        }
        for text in ["", "h", "2", "0h", "-2h", "2 h", "2w", "1e3s", "99999999999s", "2hä"] {
            assert_eq!(parse_life(text), None, "{text}");
        }
    }
}
