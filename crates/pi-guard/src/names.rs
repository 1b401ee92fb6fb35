//! Names of variables that hold secrets, and passwords in URLs: shared by the environment of
//! sandboxed commands and by redaction.

/// Suffixes of names of secrets.
const SUFFIXES: &[&str] = &[
    "_KEY",
    "_KEYS",
    "_TOKEN",
    "_TOKENS",
    "_SECRET",
    "_SECRETS",
    "_PASSWORD",
    "_PASSWD",
    "_PASS",
    "_PASSPHRASE",
    "_PWD",
    "_CREDS",
    "_JWT",
    "_BEARER",
    "_WEBHOOK",
    "_WEBHOOK_URL",
    "_CREDENTIAL",
    "_CREDENTIALS",
    "_PAT",
    "_DSN",
    "_AUTH",
    "_COOKIE",
    "_KEY_ID",
    "_CONNECTION_STRING",
    "_API_KEY_FILE",
    "APIKEY",
    "PASSWORD",
];

/// Prefixes of names about accounts.
const PREFIXES: &[&str] = &["AWS_", "AZURE_", "ARM_CLIENT", "BW_SESSION", "OP_SESSION", "VAULT_"];

/// Complete names of secrets.
const NAMES: &[&str] = &[
    "AWS_BEARER_TOKEN_BEDROCK",
    "CONNECTION_STRING",
    "CREDENTIALS",
    "CREDS",
    "DATABASE_URL",
    "DOCKER_AUTH_CONFIG",
    "DSN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "IDENTITY_HEADER",
    "JDBC_URL",
    "JWT",
    "KUBECONFIG",
    "MONGODB_URI",
    "NETRC",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PGPASSFILE",
    "REDIS_URL",
    "SECRET",
    "TOKEN",
];

/// Returns true if a variable of this name, in upper or lower case, holds a secret or the path of
/// one.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    NAMES.contains(&upper.as_str()) || SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
}

/// Returns true if the name has a prefix of which some variables are secrets and all are private.
pub(crate) fn is_account_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
}

/// Names in connection strings, before `=`, of the parts that are secret.
const SECRET_PARTS: &[&str] =
    &["password", "pwd", "pass", "accountkey", "accesskey", "sharedaccesskey", "secret", "sig"];

/// Returns true for a connection string with a password: `Server=x;User=me;Password=word`, or the
/// same parts in the query of a URL.
pub(crate) fn has_password_part(text: &str) -> bool {
    text.split([';', '&', '?']).filter_map(|part| part.split_once('=')).any(|(name, value)| {
        let name = name.trim().to_ascii_lowercase().replace(' ', "");
        SECRET_PARTS.contains(&name.as_str()) && !value.trim().is_empty()
    })
}

/// Returns the password of a URL with a user name and a password.
pub(crate) fn password_in_url(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}
