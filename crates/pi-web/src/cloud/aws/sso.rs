//! IAM Identity Center: the keys of a role for the token of `aws sso login`.
//!
//! The cached token belongs to the AWS tools. A renewed one is written back, as they do: the server
//! may have revoked the old refresh token, and the tools would need a new login.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ring::digest;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::region;
use crate::aws::AwsKeys;
use crate::cloud::exchange::{self, Ask};
use crate::cloud::{SourceError, Surroundings, timestamp};

/// The time before its end at which a token is renewed.
const MARGIN: Duration = Duration::from_secs(5 * 60);

/// A role of a user of IAM Identity Center.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SsoRole {
    pub(super) profile: String,
    /// The name of the `sso-session` section; older profiles have none.
    pub(super) session: Option<String>,
    pub(super) start_url: String,
    pub(super) region: String,
    pub(super) account_id: String,
    pub(super) role_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    role_credentials: RoleCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    /// Milliseconds since 1970.
    expiration: u64,
}

impl SsoRole {
    /// Returns the keys of the role.
    pub(super) async fn keys(&self, surroundings: &Surroundings) -> Result<AwsKeys, SourceError> {
        let token = self.token(surroundings).await?;
        let base = region::endpoint(surroundings, region::SSO, &self.region);
        let query =
            exchange::form(&[("role_name", &self.role_name), ("account_id", &self.account_id)]);
        let ask = Ask::get(format!("{base}/federation/credentials?{query}"));
        let ask = ask.header("x-amz-sso_bearer_token", token.expose_secret());
        let reply = ask.secret(token.expose_secret()).send(surroundings).await?;
        if reply.status == 401 {
            return Err(self.sign_in(&format!("{}", reply.refusal())));
        }
        let keys = reply.json::<Answer>()?.role_credentials;
        Ok(AwsKeys {
            access_key_id: keys.access_key_id,
            secret_access_key: SecretString::from(keys.secret_access_key),
            session_token: Some(SecretString::from(keys.session_token)),
            expires: timestamp::from_seconds(keys.expiration / 1000),
        })
    }

    /// Returns the cached token, renewed if necessary.
    async fn token(&self, surroundings: &Surroundings) -> Result<SecretString, SourceError> {
        let path = self.cache_file(surroundings)?;
        let Some(text) = surroundings.read_if_exists(&path)? else {
            return Err(self.sign_in("there is no login"));
        };
        let Ok(cached) = serde_json::from_str::<Map<String, Value>>(&text) else {
            return Err(self.sign_in(&format!("{} cannot be read", path.display())));
        };
        let text = |name: &str| cached.get(name).and_then(Value::as_str);
        let expires = text("expiresAt").and_then(timestamp::parse);
        let now = SystemTime::now();
        let token = text("accessToken").map(SecretString::from);
        if let (Some(token), Some(expires)) = (token, expires)
            && now < expires
        {
            // An unsuccessful renewal does not matter yet.
            let is_fresh = now + MARGIN < expires;
            return match if is_fresh {
                None
            } else {
                self.renew(surroundings, &cached, &path).await.ok()
            } {
                Some(renewed) => Ok(renewed),
                None => Ok(token),
            };
        }
        self.renew(surroundings, &cached, &path).await
    }

    async fn renew(
        &self,
        surroundings: &Surroundings,
        cached: &Map<String, Value>,
        path: &Path,
    ) -> Result<SecretString, SourceError> {
        let text = |name: &str| cached.get(name).and_then(Value::as_str);
        let registration = text("registrationExpiresAt").and_then(timestamp::parse);
        let is_registered = registration.is_none_or(|end| SystemTime::now() < end);
        let (Some(id), Some(secret), Some(refresh), true) =
            (text("clientId"), text("clientSecret"), text("refreshToken"), is_registered)
        else {
            return Err(self.sign_in("the login has expired"));
        };
        let base = region::endpoint(surroundings, region::SSO_OIDC, &self.region);
        let body = json!({
            "clientId": id,
            "clientSecret": secret,
            "grantType": "refresh_token",
            "refreshToken": refresh,
        });
        let ask = Ask::json(format!("{base}/token"), &body).secret(secret).secret(refresh);
        let reply = ask.send(surroundings).await?;
        if matches!(reply.status, 400 | 401 | 403) {
            return Err(self.sign_in(&format!("the login has expired ({})", reply.refusal())));
        }
        let answer: Renewed = reply.json()?;
        let mut renewed = cached.clone();
        renewed.insert("accessToken".to_owned(), answer.access_token.clone().into());
        let expires = timestamp::format(timestamp::after(answer.expires_in));
        renewed.insert("expiresAt".to_owned(), expires.into());
        if let Some(refresh) = answer.refresh_token {
            renewed.insert("refreshToken".to_owned(), refresh.into());
        }
        write(path, &Value::Object(renewed).to_string()).map_err(|error| {
            SourceError::new(format!(
                "the renewed login cannot be written to {}: {error}",
                path.display()
            ))
        })?;
        Ok(SecretString::from(answer.access_token))
    }

    /// Returns the file of the cached token, whose name is a hash.
    fn cache_file(&self, surroundings: &Surroundings) -> Result<PathBuf, SourceError> {
        let key = self.session.as_ref().unwrap_or(&self.start_url);
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
        let name = pi_base::text::hex(hash.as_ref());
        surroundings
            .in_home(&format!(".aws/sso/cache/{name}.json"))
            .ok_or_else(|| SourceError::new("the home directory is not known"))
    }

    fn sign_in(&self, problem: &str) -> SourceError {
        SourceError::new(format!(
            "profile {:?}: {problem}; run `aws sso login --profile {}`",
            self.profile, self.profile
        ))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renewed {
    access_token: String,
    expires_in: u64,
    refresh_token: Option<String>,
}

/// Replaces a file, so that a reader sees the old or the new content.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
