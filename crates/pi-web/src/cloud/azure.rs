//! Microsoft Entra ID: tokens for Azure OpenAI instead of a key.

mod cli;
mod environment;
mod managed_identity;
mod workload_identity;

use super::exchange::{self, Ask};
use super::token::Token;
use super::{CloudCredential, Found, Sought, Source, SourceError, Surroundings};

/// The sources in order.
pub(super) const SOURCES: &[Source] =
    &[environment::SOURCE, workload_identity::SOURCE, managed_identity::SOURCE, cli::SOURCE];

/// The variables on which the result depends.
pub(super) const VARIABLES: &[&str] = &[
    "AZURE_AUTHORITY_HOST",
    CERTIFICATE,
    CLIENT,
    "AZURE_CLIENT_SECRET",
    "AZURE_CONFIG_DIR",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_POD_IDENTITY_AUTHORITY_HOST",
    TENANT,
    CHOICE,
    "IDENTITY_ENDPOINT",
    "IDENTITY_HEADER",
    "IMDS_ENDPOINT",
];

const CERTIFICATE: &str = "AZURE_CLIENT_CERTIFICATE_PATH";
const CLIENT: &str = "AZURE_CLIENT_ID";
const TENANT: &str = "AZURE_TENANT_ID";

/// The variable that restricts the sources.
const CHOICE: &str = "AZURE_TOKEN_CREDENTIALS";

/// Returns the reason why `AZURE_TOKEN_CREDENTIALS` excludes a source. The value is `prod`, `dev` or
/// Microsoft's name of a source.
fn excluded(surroundings: &Surroundings, name: &str, group: &str) -> Option<String> {
    let choice = surroundings.variable(CHOICE)?;
    let matches = [name, group].iter().any(|one| choice.eq_ignore_ascii_case(one));
    if matches { None } else { Some(format!("{CHOICE} is {choice:?}")) }
}

/// Returns the address of the tenant's token endpoint.
fn token_url(surroundings: &Surroundings, tenant: &str) -> Result<String, SourceError> {
    // The tenant becomes a part of the path.
    if !tenant.bytes().all(|one| one.is_ascii_alphanumeric() || b"-.".contains(&one)) {
        return Err(SourceError::new(format!("{TENANT} is not the id or domain of a tenant")));
    }
    let host = surroundings.variable("AZURE_AUTHORITY_HOST");
    let host = host.unwrap_or_else(|| "https://login.microsoftonline.com".to_owned());
    let url = format!("{}/{tenant}/oauth2/v2.0/token", host.trim_end_matches('/'));
    exchange::check_url(&url, "AZURE_AUTHORITY_HOST")?;
    Ok(url)
}

/// Returns the service for which tokens are issued, which differs between national clouds.
fn resource(surroundings: &Surroundings) -> &'static str {
    let host = surroundings.variable("AZURE_AUTHORITY_HOST").unwrap_or_default();
    if host.contains("login.microsoftonline.us") {
        "https://cognitiveservices.azure.us"
    } else if host.contains("login.chinacloudapi.cn")
        || host.contains("login.partner.microsoftonline.cn")
    {
        "https://cognitiveservices.azure.cn"
    } else {
        "https://cognitiveservices.azure.com"
    }
}

/// Asks the tenant for a token of an application. `proof` are the fields that prove its identity.
async fn client_token(
    surroundings: &Surroundings,
    proof: &[(&str, &str)],
    secret: &str,
) -> Result<Token, SourceError> {
    let tenant = required(surroundings, TENANT)?;
    let client = required(surroundings, CLIENT)?;
    let scope = format!("{}/.default", resource(surroundings));
    let mut form = vec![
        ("grant_type", "client_credentials"),
        ("client_id", client.as_str()),
        ("scope", scope.as_str()),
    ];
    form.extend_from_slice(proof);
    let ask = Ask::form(token_url(surroundings, &tenant)?, &form).secret(secret);
    Token::read(&ask.send(surroundings).await?)
}

fn required(surroundings: &Surroundings, name: &str) -> Result<String, SourceError> {
    surroundings.variable(name).ok_or_else(|| SourceError::new(format!("{name} is not set")))
}

fn found(token: Token) -> Sought {
    let credential = CloudCredential::bearer(token.secret, token.expires);
    Sought::Found(Box::new(Found::new(credential)))
}
