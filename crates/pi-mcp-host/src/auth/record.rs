//! Entries of `mcp-auth.json` as credentials, and back. The format is that of pi 1.5.0, with the
//! endpoints that a renewal needs in `discovery`.

use pi_config::mcp::OauthConfig;
use pi_mcp::sign_in::{Client, Credentials};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::file::Entry;

/// Reads an entry; `None` if it has no tokens. `secret` is the resolved secret of the configured
/// client.
pub(super) fn read(
    entry: &Entry,
    config: &OauthConfig,
    secret: Option<String>,
) -> Option<Credentials> {
    let text = |path: &[&str]| -> Option<String> {
        let (first, rest) = path.split_first()?;
        let found = rest.iter().try_fold(entry.get(*first)?, |at, name| at.get(*name))?;
        found.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let access = text(&["tokens", "access_token"])?;
    let discovered = |name: &str| text(&["discovery", "authorizationServerMetadata", name]);
    let issuer = discovered("issuer").or_else(|| text(&["discovery", "authorizationServerUrl"]));
    let mut credentials = Credentials::new(issuer.unwrap_or_default(), SecretString::from(access));
    credentials.token_url =
        text(&["discovery", "tokenEndpoint"]).or_else(|| discovered("token_endpoint"));
    credentials.revoke_url =
        text(&["discovery", "revocationEndpoint"]).or_else(|| discovered("revocation_endpoint"));
    credentials.resource = text(&["discovery", "resource"])
        .or_else(|| text(&["discovery", "resourceMetadata", "resource"]));
    credentials.refresh = text(&["tokens", "refresh_token"]).map(SecretString::from);
    credentials.expires = entry.get("tokensExpireAt").and_then(Value::as_f64);
    credentials.scopes = text(&["tokens", "scope"])
        .map(|scope| scope.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default();
    credentials.client = client(entry, config, secret)?;
    Some(credentials)
}

/// Returns the access token of an entry.
pub(super) fn access_token(entry: &Entry) -> Option<&str> {
    entry.get("tokens")?.get("access_token")?.as_str()
}

/// Returns the client of an entry: the configured one, the registered one, or the document.
fn client(entry: &Entry, config: &OauthConfig, secret: Option<String>) -> Option<Client> {
    let uses_basic = |method: Option<&Value>| {
        method.and_then(Value::as_str).is_some_and(|method| method == "client_secret_basic")
    };
    if let Some(id) = &config.client_id {
        let uses_basic = uses_basic(entry.get("clientAuthMethod"));
        return Some(Client { id: id.clone(), secret, uses_basic, registered_for: None });
    }
    if let Some(stored) = entry.get("clientInformation").and_then(Value::as_object) {
        let text = |name: &str| Some(stored.get(name)?.as_str()?.to_owned());
        let redirect = stored.get("redirect_uris").and_then(|uris| uris.get(0)?.as_str());
        let method = stored.get("token_endpoint_auth_method");
        let secret = text("client_secret").filter(|_| method != Some(&json!("none")));
        // Without a stored method, that of the standard applies.
        let basic = secret.is_some() && (method.is_none() || uses_basic(method));
        return Some(Client {
            id: text("client_id")?,
            secret,
            uses_basic: basic,
            registered_for: Some(redirect.unwrap_or_default().to_owned()),
        });
    }
    let id = config.client_metadata_url.clone()?;
    Some(Client { id, ..Client::default() })
}

/// Writes credentials to an entry. Unknown fields stay.
pub(super) fn write(credentials: &Credentials, entry: &mut Entry) {
    // What belongs to a sign-in of another program in progress is void now.
    entry.shift_remove("codeVerifier");
    entry.shift_remove("oauthState");
    let mut tokens = Map::new();
    let mut set = |name: &str, value: Value| tokens.insert(name.to_owned(), value);
    set("access_token", credentials.access.expose_secret().into());
    set("token_type", "Bearer".into());
    if let Some(refresh) = &credentials.refresh {
        set("refresh_token", refresh.expose_secret().into());
    }
    if !credentials.scopes.is_empty() {
        set("scope", credentials.scopes.join(" ").into());
    }
    entry.insert("tokens".to_owned(), tokens.into());
    match credentials.expires {
        Some(expires) => entry.insert("tokensExpireAt".to_owned(), expires.into()),
        None => entry.shift_remove("tokensExpireAt"),
    };
    write_client(&credentials.client, entry);
    let mut discovery = Map::new();
    discovery.insert("authorizationServerUrl".to_owned(), credentials.issuer.clone().into());
    for (name, value) in [
        ("tokenEndpoint", &credentials.token_url),
        ("revocationEndpoint", &credentials.revoke_url),
        ("resource", &credentials.resource),
    ] {
        if let Some(value) = value {
            discovery.insert(name.to_owned(), value.clone().into());
        }
    }
    entry.insert("discovery".to_owned(), discovery.into());
}

fn write_client(client: &Client, entry: &mut Entry) {
    let method = match (&client.secret, client.uses_basic) {
        (None, _) => "none",
        (Some(_), true) => "client_secret_basic",
        (Some(_), false) => "client_secret_post",
    };
    let Some(redirect) = &client.registered_for else {
        // A configured client is not copied: its secret stays where the user keeps it.
        entry.shift_remove("clientInformation");
        entry.insert("clientAuthMethod".to_owned(), method.into());
        return;
    };
    let mut stored = Map::new();
    stored.insert("client_id".to_owned(), client.id.clone().into());
    if let Some(secret) = &client.secret {
        stored.insert("client_secret".to_owned(), secret.clone().into());
    }
    stored.insert("token_endpoint_auth_method".to_owned(), method.into());
    stored.insert("redirect_uris".to_owned(), json!([redirect]));
    entry.shift_remove("clientAuthMethod");
    entry.insert("clientInformation".to_owned(), stored.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: &Value) -> Entry {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_entry_of_the_typescript_pi_is_read() {
        let entry = entry(&json!({
            "clientInformation": { "client_id": "c", "redirect_uris": ["http://127.0.0.1:1/cb"] },
            "tokens": { "access_token": "a", "token_type": "Bearer", "refresh_token": "r",
                "scope": "x y" },
            "tokensExpireAt": 5.0,
            "discovery": {
                "authorizationServerUrl": "https://auth.example/",
                "authorizationServerMetadata": { "issuer": "https://auth.example",
                    "token_endpoint": "https://auth.example/token" },
                "resourceMetadata": { "resource": "https://a.example/mcp" },
            },
        }));
        let read = read(&entry, &OauthConfig::default(), None).unwrap();
        assert_eq!(read.issuer, "https://auth.example");
        assert_eq!(read.token_url.as_deref(), Some("https://auth.example/token"));
        assert_eq!(read.resource.as_deref(), Some("https://a.example/mcp"));
        assert_eq!(read.client.id, "c");
        assert_eq!(read.client.registered_for.as_deref(), Some("http://127.0.0.1:1/cb"));
        assert_eq!((read.expires, read.scopes), (Some(5.0), vec!["x".to_owned(), "y".to_owned()]));
    }

    #[test]
    fn credentials_survive_the_file_and_unknown_fields_stay() {
        let mut first = Credentials::new("https://auth.example", SecretString::from("a"));
        first.token_url = Some("https://auth.example/token".to_owned());
        first.refresh = Some(SecretString::from("r"));
        first.client = Client {
            id: "c".to_owned(),
            secret: Some("s".to_owned()),
            uses_basic: true,
            registered_for: Some("http://127.0.0.1:1/callback".to_owned()),
        };
        let mut stored = entry(&json!({ "mine": 1, "codeVerifier": "v" }));
        write(&first, &mut stored);
        assert_eq!(stored["mine"], 1);
        assert!(!stored.contains_key("codeVerifier"));
        let again = read(&stored, &OauthConfig::default(), None).unwrap();
        assert_eq!(again.client, first.client);
        assert_eq!(again.token_url, first.token_url);
        assert_eq!(again.refresh.unwrap().expose_secret(), "r");
        assert!(read(&entry(&json!({})), &OauthConfig::default(), None).is_none());
    }

    #[test]
    fn the_secret_of_a_configured_client_is_not_stored() {
        let mut first = Credentials::new("https://auth.example", SecretString::from("a"));
        first.client.id = "mine".to_owned();
        first.client.secret = Some("s3cret".to_owned());
        let mut stored = Entry::new();
        write(&first, &mut stored);
        assert!(!Value::Object(stored.clone()).to_string().contains("s3cret"));
        let config = OauthConfig { client_id: Some("mine".to_owned()), ..OauthConfig::default() };
        let again = read(&stored, &config, Some("s3cret".to_owned())).unwrap();
        assert_eq!(again.client, first.client);
    }
}
