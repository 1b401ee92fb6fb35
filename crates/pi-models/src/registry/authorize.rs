//! The credentials of a request: the source that decides, and its value.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_ai::AuthorizationRequest;
use pi_config::{CommandRuns, StoredCredential};
use pi_protocol::{EnvOverrides, Model};
use pi_web::cloud::{self, CloudError, Outcome, Surroundings};
use pi_web::oauth::{self, TokenUse};
use pi_web::{Authorization, KeyScheme, Variables};
use secrecy::{ExposeSecret, SecretString};

use super::Shared;
use super::logins::LoginService;
use super::renewal::Need;
use crate::accounts::CredentialName;
use crate::credential_error::CredentialError;
use crate::credentials::{
    ChainState, ConfiguredValue, Source, has_keys, is_key, no_account, no_machine_credentials,
    variable, wrong_type,
};
use crate::secrets::header_secrets;
use crate::tokens::Login;

/// A request for credentials.
pub(crate) struct Wanted<'a> {
    pub(crate) provider: &'a str,
    /// Variables of the request.
    pub(crate) env: &'a EnvOverrides,
    /// The credentials that the provider has rejected.
    pub(crate) rejected: Option<&'a Authorization>,
    /// The time in milliseconds for which a login must stay valid.
    pub(crate) remaining: Option<f64>,
}

impl Shared {
    /// Returns the stored entry of a credential.
    pub(crate) fn stored(&self, name: &CredentialName) -> Result<Option<StoredCredential>, String> {
        self.store.look_up(&name.to_string())
    }

    /// Returns the source of a provider's credential.
    pub(crate) fn source(self: &Arc<Self>, provider: &str) -> Source {
        self.source_with(provider, &EnvOverrides::new())
    }

    /// Returns the source of a provider's credential for a request with these variables.
    fn source_with(self: &Arc<Self>, provider: &str, request: &EnvOverrides) -> Source {
        let (given, configured, keyless, name) = self.read(|state| {
            let record = state.models.record(provider);
            let configured = record.and_then(|record| record.api_key.clone());
            let given = state.given.get(provider).cloned();
            (given, configured, state.models.needs_no_key(provider), state.accounts.name(provider))
        });
        if let Some(key) = given.filter(|key| !key.expose_secret().is_empty()) {
            return Source::Given(key);
        }
        let name = match name {
            Ok(name) => name,
            Err(invalid) => return Source::Broken(invalid.into()),
        };
        let mut env = BTreeMap::new();
        match (self.stored(&name), &name.account) {
            // The entry stands for the environment, with some variables of its own.
            (Ok(Some(StoredCredential::ApiKey { key, env: stored, .. })), _)
                if !key.as_ref().is_some_and(|key| is_key(provider, key)) =>
            {
                env = stored;
            }
            (Ok(Some(stored @ StoredCredential::Oauth { .. })), _) if !self.has_login(provider) => {
                return Source::Broken(wrong_type(&name, &stored));
            }
            (Ok(Some(stored @ StoredCredential::ApiKey { .. })), _) if !has_keys(provider) => {
                return Source::Broken(wrong_type(&name, &stored));
            }
            (Ok(Some(stored)), _) => return Source::Stored(stored),
            // The user meant this credential, so no other replaces it.
            (Err(why), _) => {
                let provider = name.to_string();
                return Source::Broken(CredentialError::Broken { provider, why });
            }
            (Ok(None), Some(account)) => return Source::Broken(no_account(&name, account)),
            (Ok(None), None) => {
                if let Some(text) = configured.filter(|text| is_key(provider, text)) {
                    return Source::Configured(text);
                }
            }
        }
        self.ambient(provider, env, request, keyless)
    }

    /// Returns the source in the environment.
    fn ambient(
        self: &Arc<Self>,
        provider: &str,
        env: BTreeMap<String, String>,
        request: &EnvOverrides,
        keyless: bool,
    ) -> Source {
        let look_up =
            |name: &str| request.get(name).cloned().or_else(|| self.resolver.variable(name, &env));
        if let Some((name, key)) = variable(provider, &look_up) {
            return Source::Variable { name, key, env };
        }
        if !cloud::sources(provider).is_empty() {
            let surroundings = self.surroundings(provider, &env, request);
            let mut tried = None;
            for explained in cloud::explain(provider, &surroundings) {
                match explained.outcome {
                    Outcome::Used(_) => {
                        let (source, state) = (explained.source, ChainState::Configured);
                        return Source::Cloud { source, state, env };
                    }
                    Outcome::Failed(why) => {
                        let (source, state) = (explained.source, ChainState::Broken(why));
                        return Source::Cloud { source, state, env };
                    }
                    Outcome::Tried(_) => tried = tried.or(Some(explained.source)),
                    _ => {}
                }
            }
            if let Some(source) = tried {
                return Source::Cloud { source, state: ChainState::Unknown, env };
            }
        }
        if keyless { Source::NotNeeded } else { Source::Missing }
    }

    /// Returns the view of the machine for the chains of cloud providers.
    pub(crate) fn surroundings(
        self: &Arc<Self>,
        provider: &str,
        stored: &BTreeMap<String, String>,
        request: &EnvOverrides,
    ) -> Surroundings {
        let (process, program) = (Arc::clone(self), Arc::clone(self));
        let own: EnvOverrides = stored.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        let variables =
            Variables::new(move |name| process.environment.variable(name).map(str::to_owned))
                .overridden_by(own)
                .overridden_by(request.clone());
        let mut surroundings = Surroundings::new(variables, self.web());
        surroundings.home.clone_from(&self.environment.home);
        surroundings.base_url = self.read(|state| state.models.record(provider)?.base_url.clone());
        surroundings.run = Some(Arc::new(move |line| {
            let shared = Arc::clone(&program);
            Box::pin(async move { shared.resolver.run_program(line).await })
        }));
        surroundings
    }

    /// Resolves the credentials of a provider, without the headers of the user's file.
    pub(crate) async fn credentials(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
    ) -> Result<Authorization, CredentialError> {
        let provider = wanted.provider;
        let source = self.source_with(provider, wanted.env);
        let mut authorization = match source {
            Source::Given(key) => Authorization::new(key),
            Source::Stored(StoredCredential::ApiKey { key: Some(text), env, .. }) => {
                let value = ConfiguredValue::stored(&text, provider);
                let key = value.resolve(&self.resolver, &env, CommandRuns::Once).await?;
                with_env(Authorization::new(key), env)
            }
            Source::Stored(stored) => match Login::of(stored) {
                Some(login) => self.login_authorization(&wanted, login).await?,
                None => return Err(self.missing(provider)),
            },
            Source::Configured(text) => {
                let value = ConfiguredValue::configured(&text, provider);
                Authorization::new(value.value(&self.resolver).await?)
            }
            Source::Variable { name, key, env } => {
                let mut authorization = with_env(Authorization::new(key), env);
                if name == "ANTHROPIC_AUTH_TOKEN" {
                    authorization.scheme = KeyScheme::Bearer;
                }
                authorization
            }
            Source::Cloud { state, env, .. } => {
                self.cloud_authorization(&wanted, &state, env).await?
            }
            Source::Broken(error) => return Err(error),
            // Wire formats require a key; a server that needs none ignores it.
            Source::NotNeeded => Authorization::new("unused"),
            Source::Missing => return Err(self.missing(provider)),
        };
        // A key does not bring the region of a profile along.
        let surroundings = self.surroundings(provider, &authorization.env, wanted.env);
        authorization.env.extend(cloud::defaults(provider, &surroundings));
        // Added before an error can quote them.
        self.secrets().add(secrets_of(&authorization));
        Ok(authorization)
    }

    /// Returns the credentials of a login, renewed if necessary.
    async fn login_authorization(
        self: &Arc<Self>,
        wanted: &Wanted<'_>,
        login: Login,
    ) -> Result<Authorization, CredentialError> {
        let name = self.read(|state| state.accounts.name(wanted.provider))?;
        let need = match (wanted.rejected, wanted.remaining) {
            (Some(_), _) => Need::Rejected(login.access.clone().into()),
            (None, Some(remaining)) => Need::Remaining(remaining),
            (None, None) => Need::Margin,
        };
        // Tokens that differ from the rejected ones were renewed by another process.
        let is_newer = match wanted.rejected.and_then(|rejected| rejected.key.as_ref()) {
            Some(key) => {
                let own = self.authorization_of(&name, &login).await?;
                own.key.is_some_and(|own| own.expose_secret() != key.expose_secret())
            }
            None => false,
        };
        let login = match is_newer {
            true => login,
            false => self.fresh_login(&name, login, need).await?,
        };
        self.authorization_of(&name, &login).await
    }

    /// Returns the authorization that consists of these tokens.
    async fn authorization_of(
        &self,
        name: &CredentialName,
        login: &Login,
    ) -> Result<Authorization, CredentialError> {
        let mut authorization = Authorization::new(login.access.clone());
        match self.login_service(&name.provider, login.service()) {
            Some(LoginService::Extension(hooks)) => {
                if let Some(api_key) = &hooks.api_key {
                    let key = api_key(login.object()).await.map_err(|why| {
                        CredentialError::Broken { provider: name.to_string(), why }
                    })?;
                    authorization.key = Some(SecretString::from(key));
                }
            }
            Some(LoginService::Oauth(service)) => {
                authorization.base_url = oauth::base_url(&service, &login.tokens());
                match service.token_use {
                    Some(TokenUse::ApiKey) => {}
                    Some(TokenUse::Header(header)) => {
                        authorization.headers.insert(header, login.access.clone());
                    }
                    Some(TokenUse::Bearer) | None => authorization.scheme = KeyScheme::Bearer,
                }
            }
            None => authorization.scheme = KeyScheme::Bearer,
        }
        authorization.is_renewable = !login.refresh.is_empty();
        Ok(authorization)
    }

    async fn cloud_authorization(
        self: &Arc<Self>,
        wanted: &Wanted<'_>,
        state: &ChainState,
        env: BTreeMap<String, String>,
    ) -> Result<Authorization, CredentialError> {
        let provider = wanted.provider;
        let surroundings = self.surroundings(provider, &env, wanted.env);
        let found = self.cloud.find(provider, &surroundings, wanted.rejected).await;
        let found = found.map_err(|error| {
            let why = self.secrets().redact_known(&error.to_string()).into_owned();
            match (state, error) {
                (ChainState::Unknown, CloudError::NotConfigured { .. }) => self.missing(provider),
                (ChainState::Unknown, _) => no_machine_credentials(provider, &why),
                _ => CredentialError::Cloud { provider: provider.to_owned(), why },
            }
        })?;
        Ok(with_env(found.authorization(), env))
    }

    /// Returns the key and the headers of a request.
    pub(crate) async fn authorize(
        self: &Arc<Self>,
        request: &AuthorizationRequest,
    ) -> Result<Authorization, CredentialError> {
        let model = &request.model;
        let (provider, env) = (model.provider.as_str(), &request.env);
        let rejected = request.rejected.as_ref();
        let wanted = Wanted { provider, env, rejected, remaining: None };
        let mut authorization = self.credentials(wanted).await?;
        let headers = self.configured_headers(model, &authorization).await?;
        self.secrets().add(header_secrets(&headers));
        authorization.headers.extend(headers);
        Ok(authorization)
    }

    /// Returns the headers that the user's file sets for a model.
    async fn configured_headers(
        &self,
        model: &Model,
        authorization: &Authorization,
    ) -> Result<BTreeMap<String, String>, CredentialError> {
        let mut headers = BTreeMap::new();
        let models = self.read(|state| state.models.clone());
        let Some(record) = models.record(&model.provider) else { return Ok(headers) };
        let own = record.models.iter().rev().find(|own| own.id == model.id);
        let changed = record.model_overrides.get(&model.id);
        let written = record
            .headers
            .iter()
            .chain(own.into_iter().flat_map(|own| &own.facts.headers))
            .chain(changed.into_iter().flat_map(|changed| &changed.headers));
        if let (true, Some(key)) = (record.auth_header, &authorization.key) {
            let bearer = format!("Bearer {}", key.expose_secret());
            headers.insert("Authorization".to_owned(), bearer);
        }
        for (name, text) in written {
            let (what, provider) = (format!("The header {name}"), model.provider.as_str());
            let written = ConfiguredValue { text, what: &what, provider, file: "models.json" };
            headers.insert(name.clone(), written.value(&self.resolver).await?);
        }
        Ok(headers)
    }
}

/// Returns credentials with the variables that are stored with them.
fn with_env(mut authorization: Authorization, env: BTreeMap<String, String>) -> Authorization {
    authorization.env.extend(env);
    authorization
}

/// Returns the secrets of an authorization.
fn secrets_of(authorization: &Authorization) -> Vec<String> {
    let secret = |secret: &SecretString| secret.expose_secret().to_owned();
    let mut secrets: Vec<String> = authorization.key.iter().map(secret).collect();
    if let Some(keys) = &authorization.aws {
        secrets.push(secret(&keys.secret_access_key));
        secrets.extend(keys.session_token.as_ref().map(secret));
    }
    secrets.extend(header_secrets(&authorization.headers));
    secrets
}
