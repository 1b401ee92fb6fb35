//! The login of a user with `gcloud`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fields::Fields;
use crate::cloud::exchange::Ask;
use crate::cloud::token::Token;
use crate::cloud::{SourceError, Surroundings};

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";

/// Returns a token of the type `authorized_user`.
pub(super) async fn token(
    surroundings: &Surroundings,
    fields: Fields<'_>,
) -> Result<Token, SourceError> {
    let url = match fields.optional("token_uri") {
        Some(_) => fields.url("token_uri")?,
        None => TOKEN_URL,
    };
    let secret = fields.required("client_secret")?;
    let refresh = fields.required("refresh_token")?;
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", fields.required("client_id")?),
        ("client_secret", secret),
        ("refresh_token", refresh),
    ];
    let ask = Ask::form(url, &form).secret(secret).secret(refresh);
    let reply = ask.send(surroundings).await?;
    let expired = matches!(reply.status, 400 | 401);
    Token::read(&reply).map_err(|error| if expired { sign_in(&error) } else { error })
}

/// Returns a token of the type `external_account_authorized_user`, a user of a workforce pool.
pub(super) async fn external(
    surroundings: &Surroundings,
    fields: Fields<'_>,
) -> Result<Token, SourceError> {
    let refresh = fields.required("refresh_token")?;
    let (id, secret) = (fields.required("client_id")?, fields.required("client_secret")?);
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    let basic = STANDARD.encode(format!("{id}:{secret}"));
    let ask = Ask::form(fields.url("token_url")?, &form)
        .header("authorization", format!("Basic {basic}"))
        .secret(basic)
        .secret(secret)
        .secret(refresh);
    let reply = ask.send(surroundings).await?;
    let expired = matches!(reply.status, 400 | 401);
    Token::read(&reply).map_err(|error| if expired { sign_in(&error) } else { error })
}

fn sign_in(error: &SourceError) -> SourceError {
    SourceError::new(format!(
        "the login has expired ({error}); run `gcloud auth application-default login`"
    ))
}
