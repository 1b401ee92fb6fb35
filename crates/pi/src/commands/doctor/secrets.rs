//! Credentials: which providers have one, where it is, and what keeps it from being used. Never
//! what it is, and nothing is run to get it.

use pi_coding_agent::Environment;
use pi_coding_agent::models::CredentialSource;

use super::Finding;
use crate::commands::credentials::{self, Credentials};

/// The file with secrets.
pub(super) fn file(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "credentials";
    let store = Credentials::open(environment).store;
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
            "Correct the file, or move it away to begin anew; pi does not overwrite it.",
        )),
    }
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            findings.push(Finding::warning(
                ABOUT,
                format!("{} can be read by others (mode {mode:o})", path.display()),
                format!("Run: chmod 600 {}", path.display()),
            ));
        }
    }
    findings
}

/// Which providers have a key, by name and source.
pub(super) fn keys(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "keys";
    let credentials = Credentials::open(environment);
    let stored = credentials.store.list().unwrap_or_default();
    let models = credentials.registry.models();
    let others = models.providers().filter(|provider| stored.iter().all(|name| name != provider));
    let mut good = Vec::new();
    let mut findings = Vec::new();
    for provider in stored.iter().map(String::as_str).chain(others) {
        match judge(&credentials, provider) {
            Judgement::Absent => {}
            Judgement::Good(source) => good.push(format!("{provider} ({source})")),
            Judgement::Bad(finding) => findings.push(finding),
        }
    }
    if !good.is_empty() {
        findings.insert(0, Finding::good(ABOUT, good.join(", ")));
    } else if findings.is_empty() {
        findings.push(Finding::warning(
            ABOUT,
            "no provider has a key in the environment, and nothing is stored",
            "Set the variable of your provider, for example ANTHROPIC_API_KEY, or store a key \
             with `pi auth set`.",
        ));
    }
    findings
}

enum Judgement {
    Absent,
    /// Where it is.
    Good(String),
    Bad(Finding),
}

fn judge(credentials: &Credentials, provider: &str) -> Judgement {
    const ABOUT: &str = "keys";
    let bad = |message: String, fix: String| Judgement::Bad(Finding::warning(ABOUT, message, fix));
    if let Err(error) = credentials.store.get(provider) {
        let fix = format!("Remove it (pi auth remove {provider}), or correct it.");
        return Judgement::Bad(Finding::from(ABOUT, &error.diagnostic(), &fix));
    }
    let registry = &credentials.registry;
    let Some(source) = registry.credential_source(provider) else { return Judgement::Absent };
    let place = match source {
        CredentialSource::Given => "given".to_owned(),
        CredentialSource::StoredKey => "a key in auth.json".to_owned(),
        CredentialSource::Login { expires } if expires <= credentials::now() => {
            let ended = credentials::date(expires);
            let message = format!(
                "the login of {provider} ended at {ended} UTC, and this version cannot renew it"
            );
            return bad(message, format!("Log in again, or: pi auth remove {provider}"));
        }
        CredentialSource::Login { expires } => {
            format!("a login in auth.json until {} UTC", credentials::date(expires))
        }
        CredentialSource::ModelsFile => "models.json".to_owned(),
        CredentialSource::Variable(name) => name.to_owned(),
        CredentialSource::NotNeeded => "needs none".to_owned(),
    };
    if credentials.known(provider).is_none() {
        let message = format!("{provider} has a credential, and no provider is called so");
        let fix = format!("Add it to models.json, or: pi auth remove {provider}");
        return bad(message, fix);
    }
    if !registry.models().is_spoken(provider) {
        let message = format!("{provider} ({place}) cannot be talked to by this version yet");
        return bad(message, "Use another provider for now.".to_owned());
    }
    if !registry.is_available(provider) {
        let message = format!("{provider} ({place}) depends on a variable that is not set");
        return bad(message, format!("Set the variable, or store a key: pi auth set {provider}"));
    }
    Judgement::Good(place)
}
