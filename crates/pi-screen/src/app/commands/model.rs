//! `/model [provider/id]`: switches the model, or opens the selector.

use std::rc::Rc;
use std::sync::Arc;

use pi_ai::Model;
use pi_coding_agent::session::{ModelSelectError, Persistence};

use crate::app::App;
use crate::panels::model::{Answer, Found, ModelPanel, Options};

pub(super) fn run(app: &mut App, argument: &str) {
    if argument.is_empty() {
        return open(app, "");
    }
    let available = app.session.available_models();
    let is_named = |model: &&Arc<Model>| {
        model.id == argument || argument == format!("{}/{}", model.provider, model.id)
    };
    let named: Vec<&Arc<Model>> = available.iter().filter(is_named).collect();
    if let [model] = named.as_slice() {
        return switch(app, Arc::clone(model), Persistence::Session);
    }
    match argument.split_once('/') {
        Some((provider, id)) => look_up(app, provider, id),
        None => open(app, argument),
    }
}

/// Asks the registry, which says why a model cannot be used.
fn look_up(app: &mut App, provider: &str, id: &str) {
    let (session, provider, id) = (app.session.clone(), provider.to_owned(), id.to_owned());
    let text = format!("{provider}/{id}");
    let found = async move { session.look_up_model(&provider, &id).await };
    app.tasks.spawn(found, move |app, result| match result {
        Ok(model) => switch(app, model, Persistence::Session),
        Err(ModelSelectError::NotFound { reason: None, .. }) => open(app, &text),
        Err(error) => app.error(error.to_string()),
    });
}

/// Opens the selector.
fn open(app: &mut App, search: &str) {
    app.settings.reload();
    let settings = app.settings.settings();
    let panel = ModelPanel::new(Options {
        available: app.session.available_models(),
        scoped: app.session.scoped_models().into_iter().map(|scoped| scoped.model).collect(),
        current: app.session.model(),
        default: settings.default_provider.clone().zip(settings.default_model.clone()),
        search,
        found: find(app),
        keymap: &app.keymap,
    });
    app.panels.open_then(panel, |app, answer| match answer {
        Answer::Use(model) => switch(app, model, Persistence::Session),
        Answer::UseAsDefault(model) => switch(app, model, Persistence::Default),
        Answer::NoKey(model) => {
            let provider = &model.provider;
            app.error(format!("{provider} has no key; add one with /login {provider}"));
        }
    });
}

/// Looks for model servers on this machine in the background.
pub(super) fn find(app: &App) -> Found {
    let (found, session) = (Found::default(), app.session.clone());
    let target = Rc::clone(&found);
    let work = async move {
        session.find_local_models().await;
        session.available_models()
    };
    app.tasks.spawn(work, move |_, models| *target.borrow_mut() = Some(models));
    found
}

/// Switches the model.
fn switch(app: &mut App, model: Arc<Model>, persistence: Persistence) {
    let session = app.session.clone();
    let text = match persistence {
        Persistence::Session => format!("Model: {}", model.id),
        Persistence::Default => format!("Model: {} (default)", model.id),
    };
    let switched = async move { session.set_model(model, persistence).await };
    app.tasks.spawn(switched, |app, result| {
        match result {
            Ok(()) => app.status(text),
            Err(error) => app.error(error.to_string()),
        }
        app.footer.refresh(&app.session);
    });
}
