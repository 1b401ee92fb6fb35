//! The credentials and providers of the user, read on demand.

use std::path::Path;
use std::sync::Arc;

use pi_coding_agent::config::AuthStore;
use pi_coding_agent::models::{ModelRegistry, ModelsFile};
use pi_coding_agent::{AgentOptions, Diagnostic, Environment, Severity, load_settings};

/// Stored credentials and known providers.
pub(crate) struct Credentials {
    pub(crate) store: Arc<AuthStore>,
    pub(crate) registry: ModelRegistry,
    /// Problems of `models.json`, and of the settings that concern credentials.
    pub(super) problems: Vec<Diagnostic>,
}

impl Credentials {
    pub(crate) fn open(environment: &Environment) -> Self {
        let store = Arc::new(AuthStore::new(&environment.agent_directory));
        let (file, mut problems) = ModelsFile::load(&models_file(&environment.agent_directory));
        let options = AgentOptions::new(environment.clone());
        let mut of_settings = Vec::new();
        let (settings, _) = load_settings(&options, None, &mut of_settings);
        of_settings.extend(settings.diagnostics());
        problems.extend(of_settings.into_iter().filter(concerns_credentials));
        let registry = ModelRegistry::new(environment.clone(), file, Arc::clone(&store))
            .with_settings(settings.settings());
        Self { store, registry, problems }
    }

    /// Returns the canonical name of a provider, ignoring case.
    pub(super) fn known(&self, provider: &str) -> Option<String> {
        let models = self.registry.models();
        let known = models.providers().find(|known| known.eq_ignore_ascii_case(provider));
        known.map(str::to_owned)
    }
}

/// Returns true for a file that cannot be read, and for the settings of logins and accounts.
fn concerns_credentials(problem: &Diagnostic) -> bool {
    let names = |key: &str| problem.message.contains(&format!("`{key}"));
    problem.severity == Severity::Error || names("oauth") || names("accounts")
}

/// Returns the path of `models.json`.
pub(super) fn models_file(agent_directory: &Path) -> std::path::PathBuf {
    agent_directory.join("models.json")
}

/// The expiry of a login that does not expire, in milliseconds since 1970: the largest number that
/// JSON readers keep exactly.
pub(super) const FOREVER: f64 = 9_007_199_254_740_991.0;

/// Returns the current time in milliseconds since 1970.
pub(super) fn now() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64() * 1000.0
}

/// Formats a time given in milliseconds since 1970.
pub(super) fn date(milliseconds: f64) -> String {
    // Fractions do not matter, and times out of range are shown as unknown.
    #[allow(clippy::cast_possible_truncation)]
    super::plain::date(milliseconds as i64)
}
