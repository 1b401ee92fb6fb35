//! Keys of providers, stored and removed while the session runs.

use pi_ai::providers;
use pi_coding_agent::models::{CredentialName, CredentialSource};

use super::app::App;
use super::panels::login::{Login, LoginPanel, Provider};
use super::panels::logout::LogoutPanel;
use crate::commands::auth::{source_name, store};
use crate::commands::credentials::Credentials;
use crate::logins::forms::{self, Answers, check_key};

/// Returns the providers that can have a key, by name.
fn providers(credentials: &Credentials) -> Vec<Provider> {
    let models = credentials.registry.models();
    let with_key = models.providers().filter(|id| {
        // A provider of models.json takes a key, too.
        providers::provider(id).is_none_or(|provider| !provider.key_env.is_empty())
    });
    let mut list: Vec<Provider> = with_key.map(|id| provider(credentials, id)).collect();
    list.sort_by_key(|provider| provider.name.to_lowercase());
    list
}

fn provider(credentials: &Credentials, id: &str) -> Provider {
    let source = match credentials.registry.credential_source(id) {
        None | Some(CredentialSource::NotNeeded) => None,
        Some(CredentialSource::Login { .. }) => Some("login in auth.json".to_owned()),
        Some(source) => Some(source_name(source).to_owned()),
    };
    Provider { id: id.to_owned(), name: name(id), source }
}

/// Returns the name of a provider for people.
fn name(id: &str) -> String {
    providers::provider(id).map_or(id, |provider| provider.name).to_owned()
}

/// Opens the login, for one provider if its name is given.
pub(super) fn open(app: &mut App, wanted: &str) {
    let credentials = Credentials::open(&app.environment);
    let list = providers(&credentials);
    let is_wanted = |provider: &&Provider| {
        provider.id.eq_ignore_ascii_case(wanted) || provider.name.eq_ignore_ascii_case(wanted)
    };
    let provider = list.iter().find(is_wanted).cloned();
    if provider.is_none() && !wanted.is_empty() {
        let text = format!("There is no provider `{wanted}` that takes an API key");
        return app.error_with_hint(text, Some("See the list with /login".to_owned()));
    }
    let panel = LoginPanel::new(list, provider, check_key, &app.keymap);
    app.panels.open_then(panel, save);
}

/// Stores a key. The models of the provider are available at once.
fn save(app: &mut App, login: Login) {
    let environment = app.environment.clone();
    let Login { provider, key } = login;
    let id = provider.id.clone();
    let work = move || {
        let credentials = Credentials::open(&environment);
        let method = forms::find(&id, None).map_err(|error| error.to_string())?;
        let answers = Answers { secret: Some(key), ..Answers::default() };
        let credential =
            forms::credential(&id, method, answers).map_err(|error| error.to_string())?;
        let name = CredentialName::new(id.as_str());
        store(&credentials, &name, credential).map_err(|failure| failure.message())?;
        Ok::<String, String>(credentials.store.path().display().to_string())
    };
    app.tasks.spawn_blocking(work, move |app, result| match result {
        Ok(path) => {
            app.status(format!("Saved API key for {} in {path}", provider.name));
            app.footer.count_providers(&app.session);
            select_model(app, &provider.id);
        }
        Err(error) => app.error(error),
    });
}

/// Selects a model of the provider if none is selected.
fn select_model(app: &mut App, provider: &str) {
    if app.session.model().is_some() {
        return;
    }
    let (session, provider) = (app.session.clone(), provider.to_owned());
    let selected = async move { session.select_initial_model(&provider).await };
    app.tasks.spawn(selected, |app, result| {
        match result {
            Ok(Some(model)) => app.status(format!("Model: {}/{}", model.provider, model.id)),
            Ok(None) => app.warning("The provider has no model that can be used; see /model"),
            Err(error) => app.error(error.to_string()),
        }
        app.footer.refresh(&app.session);
    });
}

/// Lets the user remove a stored credential; that of one provider if its name is given.
pub(super) fn close(app: &mut App, wanted: &str) {
    let credentials = Credentials::open(&app.environment);
    let stored = match credentials.store.list() {
        Ok(stored) => stored,
        Err(error) => return app.error(error.to_string()),
    };
    let stored: Vec<Provider> = stored
        .into_iter()
        .map(|id| Provider { source: Some("auth.json".to_owned()), name: name(&id), id })
        .collect();
    if stored.is_empty() {
        let text = "No credentials are stored. Keys of the environment and of models.json are \
                    removed there.";
        return app.status(text);
    }
    if wanted.is_empty() {
        let panel = LogoutPanel::new(stored, &app.keymap);
        app.panels.open_then(panel, remove);
        return;
    }
    match stored.into_iter().find(|provider| provider.id.eq_ignore_ascii_case(wanted)) {
        Some(provider) => remove(app, provider),
        None => app.error_with_hint(
            format!("No credential is stored for `{wanted}`"),
            Some("See the list with /logout".to_owned()),
        ),
    }
}

fn remove(app: &mut App, provider: Provider) {
    let environment = app.environment.clone();
    let id = provider.id.clone();
    let work = move || {
        let credentials = Credentials::open(&environment);
        let removed = credentials.store.remove(&id).map_err(|error| error.to_string())?;
        Ok::<_, String>((removed, credentials.registry.credential_source(&id)))
    };
    app.tasks.spawn_blocking(work, move |app, result| match result {
        Ok((false, _)) => app.status(format!("No credential of {} is stored", provider.name)),
        Ok((true, None)) => app.status(format!("Removed the credential of {}", provider.name)),
        Ok((true, Some(source))) => app.status(format!(
            "Removed the stored credential of {}; the one of {} remains",
            provider.name,
            source_name(source)
        )),
        Err(error) => app.error(error),
    });
}
