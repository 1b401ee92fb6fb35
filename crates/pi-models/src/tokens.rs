//! Stored logins as tokens, and the reverse.

use std::time::{SystemTime, UNIX_EPOCH};

use pi_config::StoredCredential;
use pi_web::oauth::Tokens;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use crate::login_hooks::LoginTokens;

/// The expiry of tokens that do not expire, as other programs store it.
const NEVER: f64 = 9_007_199_254_740_991.0;
/// The time at which this program stored the tokens, in milliseconds since 1970.
const ISSUED: &str = "issued";
/// The mark of a renewal that has begun: the process may be killed after the server has replaced the
/// token and before the new one is stored.
const RENEWING: &str = "renewing";
/// The name of the configured service that issued the tokens, if it is not that of the provider.
const SERVICE: &str = "service";
/// The secret of a client that the server registered.
const CLIENT_SECRET: &str = "clientSecret";
/// The longest time before the expiry at which tokens are renewed.
const MARGIN: f64 = 5.0 * 60_000.0;

/// A login of `auth.json`.
#[derive(Clone, PartialEq)]
pub(crate) struct Login {
    pub(crate) access: String,
    pub(crate) refresh: String,
    pub(crate) expires: f64,
    pub(crate) extra: Map<String, Value>,
}

impl Login {
    /// Returns the login of an entry; `None` if it is a key.
    pub(crate) fn of(stored: StoredCredential) -> Option<Self> {
        match stored {
            StoredCredential::Oauth { access, refresh, expires, extra } => {
                Some(Self { access, refresh, expires, extra })
            }
            StoredCredential::ApiKey { .. } => None,
        }
    }

    /// Returns the login of new tokens.
    pub(crate) fn issued(tokens: &Tokens, service: Option<&str>) -> Self {
        let secret = |token: &SecretString| token.expose_secret().to_owned();
        let mut extra = tokens.extra.clone();
        extra.insert(ISSUED.to_owned(), json!(now().round()));
        if let Some(service) = service {
            extra.insert(SERVICE.to_owned(), json!(service));
        }
        Self {
            access: secret(&tokens.access),
            refresh: tokens.refresh.as_ref().map(secret).unwrap_or_default(),
            expires: tokens.expires.unwrap_or(NEVER),
            extra,
        }
    }

    /// Returns the login of tokens that an extension returned; `None` if they are none.
    pub(crate) fn of_extension(tokens: LoginTokens) -> Option<Self> {
        let mut tokens = tokens;
        tokens.insert("type".to_owned(), json!("oauth"));
        tokens.entry("refresh").or_insert_with(|| json!(""));
        tokens.entry("expires").or_insert_with(|| json!(NEVER));
        tokens.insert(ISSUED.to_owned(), json!(now().round()));
        serde_json::from_value(Value::Object(tokens)).ok().and_then(Self::of)
    }

    /// Returns the login that replaces this one, with the fields that the new one does not have.
    pub(crate) fn replaced_by(&self, new: Self) -> Self {
        let mut extra = self.extra.clone();
        extra.remove(RENEWING);
        extra.extend(new.extra);
        let refresh = if new.refresh.is_empty() { self.refresh.clone() } else { new.refresh };
        Self { access: new.access, refresh, expires: new.expires, extra }
    }

    pub(crate) fn stored(&self) -> StoredCredential {
        let Self { access, refresh, expires, extra } = self.clone();
        StoredCredential::Oauth { access, refresh, expires, extra }
    }

    pub(crate) fn tokens(&self) -> Tokens {
        Tokens {
            access: self.access.clone().into(),
            refresh: (!self.refresh.is_empty()).then(|| self.refresh.clone().into()),
            expires: (self.expires < NEVER).then_some(self.expires),
            extra: self.extra.clone(),
        }
    }

    /// Returns the login as an object, for an extension.
    pub(crate) fn object(&self) -> LoginTokens {
        match serde_json::to_value(self.stored()) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        }
    }

    /// Returns the name of the configured service that issued the tokens.
    pub(crate) fn service(&self) -> Option<&str> {
        self.extra.get(SERVICE)?.as_str()
    }

    /// Returns the secrets of the login, with that of a client that the server registered.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let client = self.extra.get(CLIENT_SECRET).and_then(Value::as_str);
        let secrets = [Some(self.access.as_str()), Some(self.refresh.as_str()), client];
        secrets.into_iter().flatten().map(str::to_owned).collect()
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expires <= now()
    }

    /// Returns the time before the expiry at which the login is renewed: five minutes, or a tenth of
    /// the lifetime of short-lived tokens, which would otherwise be renewed for every request.
    pub(crate) fn margin(&self) -> f64 {
        let issued = self.extra.get(ISSUED).and_then(Value::as_f64);
        let lifetime = issued.map(|issued| (self.expires - issued).max(0.0));
        lifetime.map_or(MARGIN, |lifetime| MARGIN.min(lifetime / 10.0))
    }

    /// Returns true if this program stored the login at this time or later.
    pub(crate) fn is_issued_since(&self, time: f64) -> bool {
        self.extra.get(ISSUED).and_then(Value::as_f64).is_some_and(|issued| issued >= time.floor())
    }

    /// Returns the login with the mark of a renewal that begins.
    pub(crate) fn marked(&self) -> Self {
        let mut marked = self.clone();
        let mark = json!({ "started": now().round(), "expires": self.expires });
        marked.extra.insert(RENEWING.to_owned(), mark);
        marked
    }

    /// Returns true if a renewal of these tokens began and its result was not stored. A program that
    /// keeps the mark of former tokens does not matter, since the mark names the expiry.
    pub(crate) fn was_interrupted(&self) -> bool {
        let mark = self.extra.get(RENEWING);
        mark.and_then(|mark| mark["expires"].as_f64())
            .is_some_and(|expires| expires == self.expires)
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_of_a_registered_client_is_one_of_the_login() {
        let stored = json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 1,
            "clientId": "c", "clientSecret": "s"});
        let login = Login::of(serde_json::from_value(stored).unwrap()).unwrap();
        assert_eq!(login.secrets(), ["a", "r", "s"]);
    }
}
