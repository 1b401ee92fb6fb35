//! The account in the token of a ChatGPT sign-in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Name of the claim with the facts about the account. JSON pointers write `/` as `~1`.
const ACCOUNT_ID: &str = "/https:~1~1api.openai.com~1auth/chatgpt_account_id";

/// Reads the account id from a token, which is a JWT. Its signature is for the server to check.
pub(super) fn account_id(token: &str) -> Option<String> {
    let payload = token.split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('='));
    let claims: Value = serde_json::from_slice(&payload.ok()?).ok()?;
    let account = claims.pointer(ACCOUNT_ID)?.as_str()?;
    (!account.is_empty()).then(|| account.to_owned())
}
