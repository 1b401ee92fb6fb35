//! `pi models`: lists, shows and updates the records of models.

mod list;
mod show;
mod update;

use pi_coding_agent::models::ModelRegistry;
use pi_coding_agent::{AgentOptions, Environment, add_registered_providers};
use pi_host::credentials::Credentials;

use super::auth::wait;
use super::{CommandResult, Failure, success};
use crate::exit::note;
use crate::flags::parse::CommandArgs;
use crate::{environment, extensions};

pub(super) use list::list;
pub(super) use show::show;
pub(super) use update::{update, update_configured};

/// Returns all models of a run in this directory: with those of extensions.
async fn registry(environment: &Environment) -> ModelRegistry {
    let Credentials { registry, problems, .. } = Credentials::open(environment);
    problems.iter().for_each(|problem| note(&format!("warning: {problem}")));
    let mut options = AgentOptions::new(environment.clone());
    options.open_extension = extensions::opener(&options);
    for problem in add_registered_providers(&options, &registry).await {
        note(&format!("warning: {problem}"));
    }
    registry
}

/// Reports a store of updates that cannot be used.
fn report_store(registry: &ModelRegistry) {
    if let Some(problem) = registry.update_problem() {
        note(&format!("warning: {problem}"));
    }
}
