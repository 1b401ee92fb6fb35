//! Files with credentials: that of `GOOGLE_APPLICATION_CREDENTIALS`, and that of
//! `gcloud auth application-default login`.

use std::path::{Path, PathBuf};

use pi_base::text::one_line;
use serde_json::Value;

use super::fields::Fields;
use super::{authorized_user, external_account, impersonated, service_account};
use crate::cloud::token::Token;
use crate::cloud::{Found, Presence, Sought, Source, SourceError, Surroundings};

const VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// The source `GOOGLE_APPLICATION_CREDENTIALS`.
pub(super) const VARIABLE_SOURCE: Source = Source {
    name: "Google credential file",
    presence: variable_presence,
    seek: |surroundings| Box::pin(seek_variable(surroundings)),
};

fn variable_presence(surroundings: &Surroundings) -> Presence {
    match surroundings.variable(VARIABLE) {
        Some(path) => match surroundings.read(&surroundings.path(&path)) {
            Ok(_) => Presence::Configured(format!("{VARIABLE} is {path}")),
            Err(error) => Presence::Broken(format!("{VARIABLE}: {error}")),
        },
        None => Presence::Absent(format!("{VARIABLE} is not set")),
    }
}

async fn seek_variable(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let path = surroundings.variable(VARIABLE).unwrap_or_default();
    let path = surroundings.path(&path);
    let text = surroundings.read(&path)?;
    Ok(Sought::Found(Box::new(found(surroundings, &path, &text).await?)))
}

/// The source of a login with `gcloud`.
pub(super) const WELL_KNOWN: Source = Source {
    name: "Google application default login",
    presence: well_known_presence,
    seek: |surroundings| Box::pin(seek_well_known(surroundings)),
};

fn well_known_presence(surroundings: &Surroundings) -> Presence {
    match well_known(surroundings) {
        Some(path) if path.exists() => Presence::Configured(format!("{} exists", path.display())),
        Some(path) => Presence::Absent(format!(
            "{} does not exist; `gcloud auth application-default login` creates it",
            path.display()
        )),
        None => Presence::Absent("the home directory is not known".to_owned()),
    }
}

async fn seek_well_known(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let path = well_known(surroundings)
        .ok_or_else(|| SourceError::new("the home directory is not known"))?;
    let text = surroundings.read(&path)?;
    Ok(Sought::Found(Box::new(found(surroundings, &path, &text).await?)))
}

fn well_known(surroundings: &Surroundings) -> Option<PathBuf> {
    let directory = match surroundings.variable("CLOUDSDK_CONFIG") {
        Some(directory) => surroundings.path(&directory),
        None if cfg!(windows) => PathBuf::from(surroundings.variable("APPDATA")?).join("gcloud"),
        None => surroundings.in_home(".config/gcloud")?,
    };
    Some(directory.join("application_default_credentials.json"))
}

async fn found(surroundings: &Surroundings, path: &Path, text: &str) -> Result<Found, SourceError> {
    let file = path.display().to_string();
    let value: Value = serde_json::from_str(text)
        .map_err(|_| SourceError::new(format!("{file} is not a JSON file")))?;
    let fields = Fields::new(&value, &file)?;
    let (token, project) = match fields.required("type")? {
        "impersonated_service_account" => (impersonated::token(surroundings, fields).await?, None),
        "service_account" => {
            let project = fields.optional("project_id").map(str::to_owned);
            (service_account::token(surroundings, fields).await?, project)
        }
        _ => (token(surroundings, fields).await?, None),
    };
    let billed = fields.optional("quota_project_id").map(str::to_owned);
    Ok(super::found(surroundings, token, project, billed))
}

/// Returns the token of credentials that do not impersonate others.
pub(super) async fn token(
    surroundings: &Surroundings,
    fields: Fields<'_>,
) -> Result<Token, SourceError> {
    match fields.required("type")? {
        "service_account" => service_account::token(surroundings, fields).await,
        "authorized_user" => authorized_user::token(surroundings, fields).await,
        "external_account_authorized_user" => authorized_user::external(surroundings, fields).await,
        "external_account" => external_account::token(surroundings, fields).await,
        other => {
            // The file is the user's, but its text is still outside data.
            let kind: String = one_line(other).chars().take(60).collect();
            Err(fields.error(&format!("has credentials of the unsupported type {kind:?}")))
        }
    }
}
