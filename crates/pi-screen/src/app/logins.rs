//! Credentials of providers, stored and removed while the session runs.

use std::sync::Arc;

use pi_ai::CancelToken;
use pi_config::StoredCredential;
use pi_host::browser;
use pi_host::credentials::forms::{self, Answers, check_key, display_name};
use pi_host::credentials::{Credentials, source_name};
use pi_models::{
    CredentialName, CredentialSource, LoginChoice, LoginKind, ModelRegistry, Revocation,
};
use pi_web::oauth::{Interaction as _, LoginOptions, Prompt, PromptKind};

use crate::app::App;
use crate::panels::login::flow::{FlowPanel, ScreenInteraction};
use crate::panels::login::{Login, LoginPanel, Provider, Ways};
use crate::panels::providers::ProviderList;

/// Returns the models and logins of the session, with those of extensions.
fn registry(app: &App) -> ModelRegistry {
    match app.session.models() {
        Some(registry) => (**registry).clone(),
        None => Credentials::open(&app.runtime.project()).registry,
    }
}

/// Returns the providers to which a user can sign in, by name.
fn providers(registry: &ModelRegistry) -> Vec<Provider> {
    let models = registry.models();
    let all = models.providers().map(|id| provider(registry, id));
    let mut list: Vec<Provider> =
        all.filter(|provider| provider.ways.account || provider.ways.key).collect();
    list.sort_by_key(|provider| provider.name.to_lowercase());
    list
}

fn provider(registry: &ModelRegistry, id: &str) -> Provider {
    let source = match registry.credential_source(id) {
        None | Some(CredentialSource::NotNeeded) => None,
        Some(CredentialSource::Variable(name)) => Some(format!("env: {name}")),
        Some(_) => Some("configured".to_owned()),
    };
    let choices = registry.login_methods(id);
    let needs_more = |method: &forms::Method| !method.variables.is_empty();
    let ways = Ways {
        account: choices.iter().any(|choice| choice.kind != LoginKind::ApiKey),
        key: choices.iter().any(|choice| choice.kind == LoginKind::ApiKey),
        form: forms::methods(id).len() > 1 || forms::methods(id).iter().any(needs_more),
    };
    let mut accounts = choices.iter().filter(|choice| choice.kind != LoginKind::ApiKey);
    let is_closed = ways.account && accounts.all(|choice| choice.unavailable.is_some());
    Provider { id: id.to_owned(), name: display_name(id), source, ways, is_closed }
}

/// Opens the login, for one provider if its name is given.
pub(crate) fn open(app: &mut App, wanted: &str) {
    let list = providers(&registry(app));
    let is_wanted = |provider: &&Provider| {
        provider.id.eq_ignore_ascii_case(wanted) || provider.name.eq_ignore_ascii_case(wanted)
    };
    let provider = list.iter().find(is_wanted).cloned();
    match provider {
        None if !wanted.is_empty() => {
            let text = format!("There is no provider `{wanted}` with a login or a key");
            app.error_with_hint(text, Some("See the list with /login".to_owned()));
        }
        Some(provider) if !provider.ways.key => sign_in(app, &provider),
        Some(provider) if provider.ways.form && !provider.ways.account => ask_form(app, provider),
        provider => {
            let panel = LoginPanel::new(list, provider, check_key, &app.keymap);
            app.panels.open_then(panel, |app, login| match login {
                Login::Key { provider, key } => save(app, provider, key),
                Login::Form(provider) => ask_form(app, provider),
                Login::Account(provider) => sign_in(app, &provider),
            });
        }
    }
}

/// Stores a key. The models of the provider are available at once.
fn save(app: &mut App, provider: Provider, key: String) {
    let project = app.runtime.project();
    let id = provider.id.clone();
    let work = move || {
        let method = forms::find(&id, None).map_err(|error| error.to_string())?;
        let answers = Answers { secret: Some(key), ..Answers::default() };
        let credential =
            forms::credential(&id, method, answers).map_err(|error| error.to_string())?;
        let credentials = Credentials::open(&project);
        let name = CredentialName::new(id.as_str());
        credentials.save(&name, credential).map_err(|error| error.to_string())?;
        Ok::<String, String>(credentials.store.path().display().to_string())
    };
    app.tasks.spawn_blocking(work, move |app, result| match result {
        Ok(path) => {
            stored(app, &provider, &format!("Saved API key for {} in {path}", provider.name));
        }
        Err(error) => app.error(error),
    });
}

/// Reports a new credential.
fn stored(app: &mut App, provider: &Provider, text: &str) {
    app.status(text.to_owned());
    app.footer.count_providers(&app.session);
    select_model(app, &provider.id);
}

/// Asks for everything that a key needs, and stores it.
fn ask_form(app: &mut App, provider: Provider) {
    let project = app.runtime.project();
    let id = provider.id.clone();
    flow(app, provider, move |interaction, cancel| async move {
        let asked = forms::ask(&id, None, Default::default(), project.environment(), &interaction);
        let credential = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(None),
            credential = asked => credential.map_err(|error| error.to_string())?,
        };
        let credentials = Credentials::open(&project);
        let name = CredentialName::new(id.as_str());
        credentials.save(&name, credential).map_err(|error| error.to_string())?;
        Ok(Some(format!("in {}", credentials.store.path().display())))
    });
}

/// Signs in with an account.
fn sign_in(app: &mut App, provider: &Provider) {
    let registry = registry(app);
    let choices = registry.login_methods(&provider.id);
    let accounts = || choices.iter().filter(|choice| choice.kind != LoginKind::ApiKey);
    let open: Vec<LoginChoice> =
        accounts().filter(|choice| choice.unavailable.is_none()).cloned().collect();
    if open.is_empty() {
        let reason = accounts().find_map(|choice| choice.unavailable.clone());
        return app.error(reason.unwrap_or_else(|| format!("{} has no login", provider.name)));
    }
    let name = registry.credential_name(&provider.id);
    let store = Credentials::open(&app.runtime.project()).store;
    if let Ok(Some(StoredCredential::ApiKey { key: Some(_), .. })) = store.get(&name.to_string()) {
        let text = format!("A key is stored for {}", provider.name);
        return app.error_with_hint(text, Some(format!("Remove it with /logout {}", provider.id)));
    }
    let path = store.path().display().to_string();
    let host = app.environment.variable("PI_OAUTH_CALLBACK_HOST").map(str::to_owned);
    flow(app, provider.clone(), move |interaction, cancel| async move {
        let service = choose(&open, &interaction).await?;
        let mut options = LoginOptions::default();
        options.callback_host = host;
        let done = registry.login(
            &name,
            service.as_deref(),
            Arc::new(interaction),
            options,
            cancel.clone(),
        );
        match done.await {
            Ok(()) => Ok(Some(format!("in {path}"))),
            Err(_) if cancel.is_cancelled() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    });
}

/// Returns the service of the login that the user chooses.
async fn choose(
    open: &[LoginChoice],
    interaction: &ScreenInteraction,
) -> Result<Option<String>, String> {
    if open.len() < 2 {
        return Ok(open.first().and_then(|choice| choice.service.clone()));
    }
    let choices = open.iter().enumerate();
    let choices = choices.map(|(at, choice)| (at.to_string(), choice.label.clone())).collect();
    let prompt = Prompt { message: "Login".to_owned(), kind: PromptKind::Select { choices } };
    let answer = interaction.ask(prompt).await.map_err(|error| error.to_string())?;
    let chosen = answer.parse::<usize>().ok().and_then(|at| open.get(at));
    Ok(chosen.and_then(|choice| choice.service.clone()))
}

/// Runs a login in the background and shows it in a panel. The work returns the place of the
/// credential; `None` if it was cancelled.
fn flow<W>(
    app: &mut App,
    provider: Provider,
    start: impl FnOnce(ScreenInteraction, CancelToken) -> W,
) where
    W: Future<Output = Result<Option<String>, String>> + 'static,
{
    let interaction = ScreenInteraction::new(browser::program(&app.environment));
    let cancel = CancelToken::new();
    let title = format!("Login to {}", provider.name);
    let panel = FlowPanel::new(title, interaction.clone(), cancel.clone(), &app.keymap);
    let id = app.panels.open(panel);
    let work = start(interaction, cancel.clone());
    let work = async move {
        tokio::select! {
            biased;
            result = work => result,
            // A login that does not notice the end is left alone.
            () = cancel.cancelled() => Ok(None),
        }
    };
    app.tasks.spawn(work, move |app, result| {
        app.panels.close(id);
        match result {
            Ok(Some(place)) => {
                stored(app, &provider, &format!("Signed in to {}; stored {place}", provider.name));
            }
            Ok(None) => app.status("Login cancelled"),
            Err(error) => app.error(error),
        }
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
pub(crate) fn close(app: &mut App, wanted: &str) {
    let credentials = Credentials::open(&app.runtime.project());
    let stored = match credentials.store.list() {
        Ok(stored) => stored,
        Err(error) => return app.error(error.to_string()),
    };
    let stored: Vec<Provider> = stored
        .into_iter()
        .map(|id| {
            let source = Some("configured".to_owned());
            let (name, ways) = (display_name(&id), Ways::default());
            Provider { source, name, id, ways, is_closed: false }
        })
        .collect();
    if stored.is_empty() {
        let text = "No credentials are stored. Keys of the environment and of models.json are \
                    removed there.";
        return app.status(text);
    }
    if wanted.is_empty() {
        let title = "Select provider to logout:";
        let panel = ProviderList::new(title, stored, false, &app.keymap);
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
    let registry = registry(app);
    let name = match provider.id.contains('@') {
        true => provider.id.parse().unwrap_or_else(|_| CredentialName::new(provider.id.as_str())),
        false => CredentialName::new(provider.id.as_str()),
    };
    let work = async move {
        let done = registry.logout(&name).await.map_err(|error| error.to_string())?;
        let remaining = registry.credential_source(&name.provider);
        let remaining = remaining.filter(|source| *source != CredentialSource::NotNeeded);
        Ok::<_, String>((done, remaining))
    };
    app.tasks.spawn(work, move |app, result| {
        let name = &provider.name;
        let (done, remaining) = match result {
            Ok(done) => done,
            Err(error) => return app.error(error),
        };
        if !done.was_stored {
            return app.status(format!("No credential of {name} is stored"));
        }
        app.status(match (&done.revocation, remaining) {
            (_, Some(source)) => format!(
                "Removed the stored credential of {name}; the one of {} remains",
                source_name(source)
            ),
            (Revocation::Revoked, None) => {
                format!("Removed the credential of {name} and revoked its tokens")
            }
            (_, None) => format!("Removed the credential of {name}"),
        });
        if let Revocation::Failed(why) = &done.revocation {
            app.warning(format!("The tokens of {name} may still be valid: {why}"));
        }
        app.footer.count_providers(&app.session);
    });
}
