//! The publication of a run: examined before the agent starts, made after its report is written.

use pi_guard::secrets::Secrets;
use pi_models::configured_secrets;

use super::{Ended, RunOptions, Running};
use crate::contract::PublishPlan;
use crate::directory::{REPORT, RunDirectory, RunState};
use crate::outcome::Outcome;
use crate::publish::{PublishError, Publisher, examine};
use crate::report::Report;

impl Running {
    /// Checks what is known about the publication, before the agent costs anything.
    pub(super) fn prepare_publication(&self) -> Result<(), Ended> {
        let plan = &self.contract.publish;
        if !plan.pull_request || self.options.tape.is_replay() {
            return Ok(());
        }
        let examined =
            examine(plan, self.state.repository.as_ref(), self.options.agent.environment());
        let invalid = |error: PublishError| {
            Ended::new(Outcome::InvalidTask, format!("A pull request is impossible: {error}."))
        };
        examined.map_err(invalid)
    }

    /// Returns the publisher of the run; `None` for a replay.
    pub(super) fn publisher(&self) -> Option<Publisher> {
        let plan = self.contract.publish.clone();
        let is_replay = self.options.tape.is_replay();
        publisher(plan, &self.options, &self.state, &self.directory).filter(|_| !is_replay)
    }
}

/// Returns the publisher of a run; `None` if the plan asks for no pull request.
pub(crate) fn publisher(
    plan: PublishPlan,
    options: &RunOptions,
    state: &RunState,
    directory: &RunDirectory,
) -> Option<Publisher> {
    let environment = options.agent.environment();
    plan.pull_request.then(|| Publisher {
        plan,
        repository: state.repository.clone(),
        secrets: Secrets::new(configured_secrets(environment)),
        environment: environment.clone(),
        proxy: options.agent.project.settings().http_proxy.clone(),
        cancel: options.interrupt.token().clone(),
        run_directory: directory.path().to_owned(),
    })
}

/// Publishes a finished run, if its contract asks for it, and writes the result into its report.
pub(crate) async fn publish(
    publisher: Option<Publisher>,
    directory: &RunDirectory,
    report: Report,
) -> Report {
    let Some(publisher) = publisher else { return report };
    let before = report.publication.clone();
    let mut report = Box::pin(publisher.publish(report)).await;
    if report.publication != before
        && let Err(error) = directory.write(REPORT, &report)
    {
        report.problems.push(error.to_string());
    }
    report
}
