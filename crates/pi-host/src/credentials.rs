//! The credentials and providers of the user, read on demand, and the storing of credentials.

pub mod forms;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::{Diagnostic, Project, Severity};
use pi_config::{AuthStore, ConfigError, StoredCredential};
use pi_models::{CredentialName, CredentialSource, ModelRegistry, ModelsFile};

/// Stored credentials and known providers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Credentials {
    /// Stored credentials.
    pub store: Arc<AuthStore>,
    /// Providers and models.
    pub registry: ModelRegistry,
    /// Problems of `models.json`, and of the settings that concern credentials.
    pub problems: Vec<Diagnostic>,
}

impl Credentials {
    /// Reads the files of the user.
    pub fn open(project: &Project) -> Self {
        let environment = project.environment();
        let store = Arc::new(AuthStore::new(&environment.agent_directory));
        let (file, mut problems) = ModelsFile::load(&models_file(&environment.agent_directory));
        problems.extend(project.problems().into_iter().filter(concerns_credentials));
        let registry = ModelRegistry::new(environment.clone(), file, Arc::clone(&store))
            .with_settings(project.settings());
        Self { store, registry, problems }
    }

    /// Returns the canonical name of a provider, ignoring case.
    pub fn known(&self, provider: &str) -> Option<String> {
        let models = self.registry.models();
        let known = models.providers().find(|known| known.eq_ignore_ascii_case(provider));
        known.map(str::to_owned)
    }

    /// Stores a credential. Variables that are stored already stay unless they are given anew. A
    /// stored login is not replaced: only the user could restore it.
    pub fn save(
        &self,
        name: &CredentialName,
        credential: StoredCredential,
    ) -> Result<(), SaveError> {
        let mut edit = self.store.edit()?;
        let entry = name.to_string();
        let credential = match (edit.get(&entry)?, credential) {
            (Some(StoredCredential::Oauth { .. }), _) => {
                return Err(SaveError::LoginStored(name.clone()));
            }
            (
                Some(StoredCredential::ApiKey { env: old, extra, .. }),
                StoredCredential::ApiKey { key, env, .. },
            ) => {
                let env = old.into_iter().chain(env).collect();
                StoredCredential::ApiKey { key, env, extra }
            }
            (_, credential) => credential,
        };
        edit.set(&entry, &credential)?;
        Ok(())
    }

    /// Removes all stored credentials.
    pub async fn log_out(&self) -> Result<(), ConfigError> {
        for entry in self.store.list()? {
            let name = entry.parse().unwrap_or_else(|_| CredentialName::new(entry));
            self.registry.logout(&name).await?;
        }
        Ok(())
    }
}

/// Reasons why a credential cannot be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// A login is stored under this name.
    #[error("a login is stored for {0}")]
    LoginStored(CredentialName),
    /// The file of credentials cannot be read or written.
    #[error("{}", .0.diagnostic())]
    Config(#[from] ConfigError),
}

/// Returns true for a file that cannot be read, and for the settings of logins and accounts.
fn concerns_credentials(problem: &Diagnostic) -> bool {
    let names = |key: &str| problem.message.contains(&format!("`{key}"));
    problem.severity == Severity::Error || names("oauth") || names("accounts")
}

/// Returns the path of `models.json`.
pub fn models_file(agent_directory: &Path) -> PathBuf {
    agent_directory.join("models.json")
}

/// The expiry of a login that does not expire, in milliseconds since 1970: the largest number that
/// JSON readers keep exactly.
pub const FOREVER: f64 = 9_007_199_254_740_991.0;

/// Returns the name of the source of a credential.
pub fn source_name(source: CredentialSource) -> &'static str {
    match source {
        CredentialSource::Given | CredentialSource::NotNeeded => "none",
        CredentialSource::StoredKey | CredentialSource::Login { .. } => "auth.json",
        CredentialSource::ModelsFile => "models.json",
        CredentialSource::Variable(name) | CredentialSource::Cloud(name) => name,
    }
}
