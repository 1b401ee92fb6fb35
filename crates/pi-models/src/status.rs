//! The state of a provider's credentials, for people: no secret is part of it.

use pi_ai::providers;
use pi_config::StoredCredential;
use pi_web::cloud::{self, Outcome};

use crate::accounts::CredentialName;
use crate::credentials::{CredentialSource, Source};
use crate::registry::ModelRegistry;
use crate::tokens::Login;
use crate::usable::UnusableModel;

/// The state of a provider's credentials.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AuthStatus {
    /// Provider and account.
    pub name: CredentialName,
    /// The source that requests use; `None` if there is none.
    pub source: Option<CredentialSource>,
    /// Expiry of a login in milliseconds since 1970; `None` if there is none.
    pub expires: Option<f64>,
    /// The login is renewed before it expires.
    pub is_renewable: bool,
    /// The reason why the provider cannot be used, as far as it is known without a request.
    pub problem: Option<UnusableModel>,
}

/// A source in the explanation of a provider's credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedSource {
    /// Name of the source for people.
    pub name: String,
    /// The part that the source has.
    pub outcome: SourceOutcome,
}

/// The part of a source in the search for a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceOutcome {
    /// Requests use this source. The text describes the credential.
    Used(String),
    /// The source decides and cannot be used, for this reason.
    Failed(String),
    /// The source has no credential, for this reason.
    Absent(String),
    /// The source is asked over the network, and the next one follows if it does not respond.
    Tried(String),
    /// An earlier source decides.
    NotReached,
}

impl ModelRegistry {
    /// Returns the credential that requests to a provider use, if its account is valid.
    pub fn credential_name(&self, provider: &str) -> CredentialName {
        let name = self.shared.read(|state| state.accounts.name(provider));
        name.unwrap_or_else(|_| CredentialName::new(provider))
    }

    /// Returns the reason why a provider is not known to be usable: also if only a request can tell
    /// whether the machine has credentials.
    pub(crate) fn known_problem(&self, provider: &str) -> Option<UnusableModel> {
        if let Err(problem) = self.check_provider(provider) {
            return Some(problem);
        }
        let is_uncertain = self.shared.source(provider).is_uncertain();
        is_uncertain.then(|| self.shared.missing(provider).into())
    }

    /// Returns the state of a provider's credentials. Runs no command and sends nothing.
    pub fn auth_status(&self, provider: &str) -> AuthStatus {
        let source = self.shared.source(provider);
        let name = self.credential_name(provider);
        let login = match &source {
            Source::Stored(stored) => Login::of(stored.clone()),
            _ => None,
        };
        let renewal = login.as_ref().map(|login| self.shared.check_renewal(&name, login));
        let mut problem = self.known_problem(provider);
        if let (Some(login), Some(Err(error)), None) = (&login, &renewal, &problem)
            && login.is_expired()
        {
            problem = Some(error.clone().into());
        }
        AuthStatus {
            name,
            source: source.public(),
            expires: login.map(|login| login.expires),
            is_renewable: matches!(renewal, Some(Ok(()))),
            problem,
        }
    }

    /// Returns all sources of a provider's credentials in their order, with the reason why each one
    /// is used or not. Runs no command and sends nothing.
    pub fn explain(&self, provider: &str) -> Vec<ExplainedSource> {
        let source = self.shared.source(provider);
        let mut report = Report::default();
        report.add("--api-key", matches!(source, Source::Given(_)), "given for this run", || {
            "not given".to_owned()
        });
        let name = self.credential_name(provider);
        let is_stored = matches!(source, Source::Stored(_) | Source::Broken(_));
        match &source {
            Source::Broken(why) => report.failed(&format!("auth.json ({name})"), why.to_string()),
            Source::Stored(stored) => {
                report.add(
                    &format!("auth.json ({name})"),
                    is_stored,
                    &describe(stored),
                    String::new,
                );
            }
            _ => {
                let stored = self.shared.stored(&name).ok().flatten();
                let reason = match stored {
                    Some(_) => "the entry has variables and no key",
                    None => "no entry",
                };
                report.add(&format!("auth.json ({name})"), false, "", || reason.to_owned());
            }
        }
        let is_configured = matches!(source, Source::Configured(_));
        let in_file = self.shared.read(|state| {
            state.models.record(provider).is_some_and(|record| record.api_key.is_some())
        });
        report.add("models.json", is_configured, "apiKey", || match in_file {
            true => "the entry of auth.json applies".to_owned(),
            false => "no apiKey".to_owned(),
        });
        let used = match &source {
            Source::Variable { name, .. } => Some(*name),
            _ => None,
        };
        for name in providers::provider(provider).map_or(&[][..], |info| info.key_env) {
            report.add(name, used == Some(name), "set", || "not set".to_owned());
        }
        let surroundings = self.shared.surroundings(provider, &source.env(), &Default::default());
        for explained in cloud::explain(provider, &surroundings) {
            report.cloud(explained.source, explained.outcome);
        }
        report.sources
    }
}

/// Describes a stored credential.
fn describe(stored: &StoredCredential) -> String {
    match stored {
        StoredCredential::ApiKey { key: Some(key), .. } if key.starts_with('!') => {
            "key that a command prints".to_owned()
        }
        StoredCredential::ApiKey { key: Some(key), .. } if key.starts_with('$') => {
            "key in a variable".to_owned()
        }
        StoredCredential::ApiKey { .. } => "key".to_owned(),
        StoredCredential::Oauth { .. } => "login".to_owned(),
    }
}

/// An explanation that grows source by source.
#[derive(Default)]
struct Report {
    sources: Vec<ExplainedSource>,
    is_decided: bool,
}

impl Report {
    fn push(&mut self, name: &str, outcome: SourceOutcome) {
        self.sources.push(ExplainedSource { name: name.to_owned(), outcome });
    }

    fn add(&mut self, name: &str, is_used: bool, what: &str, absent: impl FnOnce() -> String) {
        let outcome = if self.is_decided {
            SourceOutcome::NotReached
        } else if is_used {
            self.is_decided = true;
            SourceOutcome::Used(what.to_owned())
        } else {
            SourceOutcome::Absent(absent())
        };
        self.push(name, outcome);
    }

    fn failed(&mut self, name: &str, why: String) {
        self.is_decided = true;
        self.push(name, SourceOutcome::Failed(why));
    }

    fn cloud(&mut self, name: &str, outcome: Outcome) {
        let outcome = match outcome {
            _ if self.is_decided => SourceOutcome::NotReached,
            Outcome::Skipped(reason) => SourceOutcome::Absent(reason),
            Outcome::Tried(place) => SourceOutcome::Tried(place),
            Outcome::Used(by) => {
                self.is_decided = true;
                SourceOutcome::Used(by)
            }
            Outcome::Failed(why) => {
                self.is_decided = true;
                SourceOutcome::Failed(why)
            }
            Outcome::NotReached => SourceOutcome::NotReached,
        };
        self.push(name, outcome);
    }
}
