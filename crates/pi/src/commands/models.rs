//! `pi models`: lists, shows and updates the records of models.

mod list;
mod show;
mod update;

use pi_coding_agent::{AgentOptions, Project, add_registered_providers};
use pi_host::credentials::Credentials;
use pi_models::ModelRegistry;

use super::auth::wait;
use super::{CommandResult, Failure, project, success};
use crate::exit::note;
use crate::extensions;
use crate::flags::parse::CommandArgs;

pub(super) use list::list;
pub(super) use show::show;
pub(super) use update::{update, update_configured};

/// Returns all models of a run in this directory: with those of extensions.
async fn registry(project: &Project) -> ModelRegistry {
    let Credentials { registry, problems, .. } = Credentials::open(project);
    problems.iter().for_each(|problem| note(&format!("warning: {problem}")));
    let mut options = AgentOptions::in_project(project.clone());
    options.extensions.open = extensions::opener();
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
