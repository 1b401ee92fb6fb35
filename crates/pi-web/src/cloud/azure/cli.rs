//! The login of the user with the Azure CLI.

use pi_base::text::without_mark;
use serde::Deserialize;
use serde_json::Value;

use super::{TENANT, excluded, found, resource};
use crate::cloud::token::Token;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings, timestamp};

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "accessToken")]
    access_token: String,
    /// Seconds since 1970. Older versions have only a local time without a zone.
    expires_on: Option<u64>,
}

/// The source `az account get-access-token`.
pub(super) const SOURCE: Source =
    Source { name: "Azure CLI", presence, seek: |surroundings| Box::pin(seek(surroundings)) };

fn presence(surroundings: &Surroundings) -> Presence {
    if let Some(reason) = excluded(surroundings, "AzureCliCredential", "dev") {
        return Presence::Absent(reason);
    }
    if surroundings.run.is_none() {
        return Presence::Absent("programs are not run here".to_owned());
    }
    let directory = surroundings.variable("AZURE_CONFIG_DIR");
    let directory = directory.map(|directory| surroundings.path(&directory));
    let Some(directory) = directory.or_else(|| surroundings.in_home(".azure")) else {
        return Presence::Absent("the home directory is not known".to_owned());
    };
    let profile = surroundings.read_if_exists(&directory.join("azureProfile.json"));
    match profile {
        Ok(Some(text)) if has_subscription(&text) => {
            Presence::Configured("a user is signed in to the Azure CLI".to_owned())
        }
        _ => Presence::Absent("no user is signed in with `az login`".to_owned()),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    Ok(found(token(surroundings).await?))
}

/// Returns true if the list of subscriptions is not empty. The CLI writes a byte order mark.
fn has_subscription(text: &str) -> bool {
    let profile: Option<Value> = serde_json::from_str(without_mark(text)).ok();
    let subscriptions = profile.as_ref().and_then(|profile| profile.get("subscriptions"));
    subscriptions.and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

async fn token(surroundings: &Surroundings) -> Result<Token, SourceError> {
    let mut command = vec!["az", "account", "get-access-token", "--output", "json", "--resource"];
    command.push(resource(surroundings));
    let tenant = surroundings.variable(TENANT);
    command.extend(tenant.iter().flat_map(|tenant| ["--tenant", tenant]));
    let command = command.into_iter().map(str::to_owned).collect();
    let output = surroundings.run(command).await.map_err(|error| {
        SourceError::new(format!("`az account get-access-token` failed: {error}; run `az login`"))
    })?;
    let unexpected =
        || SourceError::new("`az account get-access-token` did not print the expected JSON");
    let answer: Answer = serde_json::from_str(&output).map_err(|_| unexpected())?;
    let expires = answer.expires_on.and_then(timestamp::from_seconds);
    Token::new(&answer.access_token, expires).ok_or_else(unexpected)
}
