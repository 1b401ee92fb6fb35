//! Checks of the credentials: their sources and problems, never their values. No command is run to
//! resolve a key.

use pi_coding_agent::Project;
use pi_host::credentials::Credentials;
use pi_models::local::ServerKind;
use pi_models::{CredentialError, CredentialSource, UnusableModel};

use super::Finding;
use crate::commands::auth::{validity, wait};
use crate::plain;

/// Checks the format and the permissions of `auth.json`.
pub(super) fn file(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "credentials";
    let store = Credentials::open(project).store;
    let path = store.path();
    if !path.exists() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    match store.list() {
        Ok(_) => findings.push(Finding::good(ABOUT, path.display().to_string())),
        Err(error) => findings.push(Finding::from(
            ABOUT,
            &error.diagnostic(),
            "Fix the file, or move it away to start over; pi does not overwrite it.",
        )),
    }
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            findings.push(Finding::warning(
                ABOUT,
                format!("{} is readable by other users (mode {mode:o})", path.display()),
                format!("Run: chmod 600 {}", path.display()),
            ));
        }
    }
    findings
}

/// Checks the credential of every provider.
pub(super) fn keys(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "keys";
    let credentials = Credentials::open(project);
    // A file that cannot be read is reported by the check of the file, not once per provider.
    let listed = credentials.store.list();
    let is_readable = listed.is_ok();
    let stored = listed.unwrap_or_default();
    let models = credentials.registry.models();
    let others = models.providers().filter(|provider| stored.iter().all(|name| name != provider));
    let mut good = Vec::new();
    let mut findings = Vec::new();
    for provider in stored.iter().map(String::as_str).chain(others) {
        match check(&credentials, provider, is_readable) {
            KeyState::Absent => {}
            KeyState::Good(source) => good.push(format!("{provider} ({source})")),
            KeyState::Bad(finding) => findings.push(finding),
        }
    }
    if !good.is_empty() {
        findings.insert(0, Finding::good(ABOUT, good.join(", ")));
    } else if findings.is_empty() && is_readable && running(project).is_empty() {
        findings.push(Finding::warning(
            ABOUT,
            "no credentials found in the environment or in auth.json",
            "Sign in with `pi auth login`, store a key with `pi auth set PROVIDER`, set the \
             variable of your provider (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...), or start a model \
             server on this machine. `pi demo` works without a model.",
        ));
    }
    findings
}

/// Reports the model servers that run on this machine.
pub(super) fn local_servers(project: &Project) -> Vec<Finding> {
    let servers = running(project);
    let names = servers.iter().map(|(provider, models)| format!("{provider} ({models})"));
    let names = names.collect::<Vec<_>>().join(", ");
    if names.is_empty() { Vec::new() } else { vec![Finding::good("local servers", names)] }
}

/// Returns the local servers with their models.
fn running(project: &Project) -> Vec<(&'static str, String)> {
    let registry = Credentials::open(project).registry;
    if wait(registry.find_local_servers()).is_err() {
        return Vec::new();
    }
    let models = registry.models();
    let kinds = ServerKind::ALL.into_iter().map(ServerKind::provider);
    let servers = kinds.map(|provider| {
        let names = models.names_of(provider);
        let names: Vec<&str> = names.iter().map(|name| name.id).collect();
        (provider, names.join(", "))
    });
    servers.filter(|(_, names)| !names.is_empty()).collect()
}

/// State of a credential.
enum KeyState {
    Absent,
    /// Usable, with its source.
    Good(String),
    Bad(Finding),
}

fn check(credentials: &Credentials, provider: &str, is_readable: bool) -> KeyState {
    const ABOUT: &str = "keys";
    let bad = |message: String, fix: String| KeyState::Bad(Finding::warning(ABOUT, message, fix));
    if is_readable && let Err(error) = credentials.store.get(provider) {
        let fix = format!("Fix it, or remove it with `pi auth remove {provider}`.");
        return KeyState::Bad(Finding::from(ABOUT, &error.diagnostic(), &fix));
    }
    let registry = &credentials.registry;
    let Some(source) = registry.credential_source(provider) else { return KeyState::Absent };
    let source = match source {
        CredentialSource::Given => "--api-key".to_owned(),
        CredentialSource::StoredKey => "a key in auth.json".to_owned(),
        CredentialSource::Login { expires } => {
            let status = registry.auth_status(provider);
            if let Some(UnusableModel::Credentials(CredentialError::Expired {
                name,
                why,
                advice,
                ..
            })) = &status.problem
            {
                let ended = plain::expiry(expires);
                return bad(
                    format!("the login of {name} ended at {ended} UTC: {why}"),
                    format!("{advice} `pi auth remove {name}` removes the login."),
                );
            }
            format!("a login in auth.json{}", validity(&status))
        }
        CredentialSource::ModelsFile => "models.json".to_owned(),
        CredentialSource::Variable(name) | CredentialSource::Cloud(name) => name.to_owned(),
        CredentialSource::NotNeeded => "needs no key".to_owned(),
    };
    if credentials.known(provider).is_none() {
        let message = format!("a credential is stored for an unknown provider, \"{provider}\"");
        let fix = format!(
            "Add the provider to models.json, or remove the credential with `pi auth remove {provider}`."
        );
        return bad(message, fix);
    }
    // No command runs: a provider with a command counts as usable.
    if let Err(why) = registry.check_provider(provider) {
        let fix = match &why {
            UnusableModel::Unsupported { .. } => "Use another provider.".to_owned(),
            UnusableModel::Address { variables, .. } => format!("Set {}.", variables.join(" and ")),
            _ => format!("Set the variable, or store a key with `pi auth set {provider}`."),
        };
        return bad(format!("{provider} ({source}) cannot be used: {why}"), fix);
    }
    KeyState::Good(source)
}
