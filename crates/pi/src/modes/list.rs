//! `--list-models`: lists the available models.

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::session::SessionEvent;
use pi_coding_agent::{Environment, add_registered_providers};
use pi_config::AuthStore;
use pi_models::{ModelRegistry, ModelsFile, model_rows, model_table};

use super::packages;
use super::setup::{self, Refused};
use crate::arguments::Arguments;
use crate::exit::{Exit, fail, fail_with_hint, note, print};
use crate::hints::FIRST_MODEL;

/// Prints the models that match `search`.
pub(super) async fn run(arguments: &Arguments, environment: Environment, search: &str) -> ExitCode {
    let (file, problems) = ModelsFile::load(&environment.agent_directory.join("models.json"));
    problems.iter().for_each(|problem| note(&format!("warning: {problem}")));
    let auth = AuthStore::new(&environment.agent_directory);
    auth.check().iter().for_each(|problem| note(&format!("warning: {problem}")));
    let mut options = setup::options(arguments, environment.clone());
    options.project.problems().iter().for_each(|problem| note(&format!("warning: {problem}")));
    let registry = ModelRegistry::new(environment, file, Arc::new(auth))
        .with_settings(options.project.settings());
    let packages = match packages::prepare(arguments.offline, &mut options).await {
        Ok(packages) => packages,
        Err(error) => return Refused::Package(error).report(),
    };
    // Extensions register providers.
    let problems = packages.merge(add_registered_providers(&options, &registry).await);
    problems
        .iter()
        .for_each(|problem| setup::report(&SessionEvent::from_diagnostic(problem, None)));
    registry.find_local_servers().await;
    report_unsupported(&registry).await;
    let available = registry.available();
    if available.is_empty() {
        return fail_with_hint("no models available", Some(FIRST_MODEL), Exit::NoModel);
    }
    let rows = model_rows(available.iter().map(AsRef::as_ref), Some(search));
    if rows.is_empty() {
        return fail(&format!("No models matching \"{search}\""), Exit::Failed);
    }
    let mut text = model_table(&rows).join("\n");
    text.push('\n');
    print(&text)
}

/// Reports the providers whose models are missing from the list although they have a key.
async fn report_unsupported(registry: &ModelRegistry) {
    for provider in registry.models().providers() {
        if registry.credential_source(provider).is_some()
            && let Err(why) = registry.check_provider(provider)
        {
            note(&format!("warning: the models of {provider} are not listed: {why}"));
        }
    }
}
