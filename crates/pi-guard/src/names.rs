//! Names of variables that say "secret", and addresses with a password in them: shared by those
//! who keep such variables from commands and those who keep their values out of texts.

/// Ends of names that say "secret".
const ENDS: &[&str] = &[
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

/// Families in which everything is about accounts.
const BEGINNINGS: &[&str] = &["AWS_", "AZURE_", "ARM_CLIENT", "BW_SESSION", "OP_SESSION", "VAULT_"];

/// Whole names.
const NAMES: &[&str] = &[
    "DATABASE_URL",
    "DOCKER_AUTH_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "MONGODB_URI",
    "NETRC",
    "PASSWORD",
    "PGPASSFILE",
    "REDIS_URL",
    "SECRET",
    "TOKEN",
];

/// Whether a variable of this name holds a secret or leads to one. In any case of letters.
pub(crate) fn says_secret(name: &str) -> bool {
    let upper = name.to_uppercase();
    NAMES.contains(&upper.as_str()) || ENDS.iter().any(|end| upper.ends_with(end))
}

/// Whether the name belongs to a family of which some are secrets and all are private.
pub(crate) fn is_of_an_account(name: &str) -> bool {
    let upper = name.to_uppercase();
    BEGINNINGS.iter().any(|beginning| upper.starts_with(beginning))
}

/// The password of an address with a name and a password in it.
pub(crate) fn password_in(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}
