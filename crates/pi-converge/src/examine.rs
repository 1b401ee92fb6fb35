//! The examination of a task without a model: everything that would stop a run, and the checks as
//! they are before the work begins.

use std::path::{Path, PathBuf};

use pi_agent::Budget;
use pi_coding_agent::guard::GuardStatus;
use pi_coding_agent::session::AgentSession;
use pi_coding_agent::{AgentOptions, SessionSelector, create_agent_session};
use serde::Serialize;

use crate::contract::Contract;
use crate::outcome::Outcome;
use crate::report::CheckReport;
use crate::run::{Ended, RunOptions, agent_options, load_agent, missing_price};
use crate::verify::{Verifier, VerifierParts, VerifyError, missing_variables, proves_nothing};
use crate::workspace::{RunWorkspace, WorkspacePlaces};

/// The result of an examination.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Examination {
    /// The parts that were examined.
    pub items: Vec<Examined>,
    /// The agent that a run would start, if it can be started.
    pub agent: Option<AgentFacts>,
    /// The command checks, as they are now.
    pub checks: Vec<CheckReport>,
}

/// A part of a task that was examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Examined {
    /// The part, such as `model` or `workspace`.
    pub part: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The facts, or the problem and what to do about it.
    pub message: String,
    /// The outcome of a run with this problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The verdict on a part of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // The names say it.
pub enum Verdict {
    Ok,
    Warning,
    Problem,
}

/// The agent that a run would start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentFacts {
    /// The model as `provider/id`.
    pub model: Option<String>,
    /// Thinking level.
    pub thinking: String,
    /// Names of the tools.
    pub tools: Vec<String>,
    /// Profile, approvals, sandbox and network.
    pub guard: Option<GuardStatus>,
}

impl Examination {
    /// Returns true if a run could start.
    pub fn could_start(&self) -> bool {
        self.items.iter().all(|item| item.verdict != Verdict::Problem)
    }

    /// Adds the parts of a task file that have no effect.
    pub fn add_notes(&mut self, notes: &[String]) {
        for note in notes {
            self.add("task", Verdict::Warning, note.clone());
        }
    }

    fn add(&mut self, part: &str, verdict: Verdict, message: impl Into<String>) {
        let (part, message) = (part.to_owned(), message.into());
        self.items.push(Examined { part, verdict, message, outcome: None });
    }

    fn add_ended(&mut self, part: &str, ended: Ended) {
        let (part, message) = (part.to_owned(), ended.reason);
        let outcome = Some(ended.outcome);
        self.items.push(Examined { part, verdict: Verdict::Problem, message, outcome });
    }
}

/// Returns the agent that a run would start. Sends no request.
pub async fn agent_facts(contract: &Contract, options: &RunOptions) -> Result<AgentFacts, Ended> {
    let mut examination = Examination::default();
    let agent = agent_options(contract, &options.agent)?;
    examine_agent(contract, agent, &mut examination).await?;
    examination.agent.ok_or_else(|| Ended::new(Outcome::Failed, "The agent cannot be started."))
}

/// Examines a task. Sends no request to a model; runs the command checks in their sandbox and undoes
/// what they change.
pub async fn examine(contract: &Contract, options: &RunOptions) -> Examination {
    let mut found = Examination::default();
    examine_files(contract, &options.agent.environment().cwd, &mut found);
    let agent = match agent_options(contract, &options.agent) {
        Ok(agent) => agent,
        Err(ended) => {
            found.add_ended("agent", ended);
            return found;
        }
    };
    if let Err(ended) = Box::pin(examine_agent(contract, agent.clone(), &mut found)).await {
        found.add_ended("agent", ended);
    }
    let temporary = match tempfile::tempdir() {
        Ok(temporary) => temporary,
        Err(error) => {
            let message = format!("a temporary directory cannot be created: {error}");
            found.add("workspace", Verdict::Problem, message);
            return found;
        }
    };
    let run_directory = temporary.path().join("run");
    if let Err(ended) =
        Box::pin(examine_workspace(contract, options, agent, &run_directory, &mut found)).await
    {
        found.add_ended("workspace", ended);
    }
    found
}

/// Files that the task names.
fn examine_files(contract: &Contract, directory: &Path, found: &mut Examination) {
    let reports = &contract.reports;
    let result = contract.output.as_ref().and_then(|output| output.file.as_ref());
    let written = [&reports.json, &reports.junit, &reports.sarif, &reports.summary];
    for file in written.into_iter().flatten().chain(result) {
        let parent = directory.join(file).parent().map(PathBuf::from).unwrap_or_default();
        if !parent.is_dir() {
            let message = format!(
                "{} cannot be written: {} is not a directory",
                file.display(),
                parent.display()
            );
            found.add("reports", Verdict::Problem, message);
        }
    }
    for (index, rules) in contract.policy.rules.iter().enumerate() {
        if !directory.join(rules).is_file() {
            let message = format!("policy.rules[{index}]: {} is not a file", rules.display());
            found.add("policy", Verdict::Problem, message);
        }
    }
}

/// Model, credentials, tools, rules and sandbox.
async fn examine_agent(
    contract: &Contract,
    options: AgentOptions,
    found: &mut Examination,
) -> Result<(), Ended> {
    let mut options = match &contract.agent {
        Some(reference) => load_agent(reference, &options)?.apply(&options),
        None => options,
    };
    options.session.selector = SessionSelector::InMemory;
    if let Some(directory) = &contract.workspace.directory {
        let directory = options.environment().cwd.join(directory);
        options.project = options.project.in_directory(&directory);
    }
    let created = Box::pin(create_agent_session(options)).await;
    let created = created.map_err(|refused| Ended::from(&refused))?;
    for diagnostic in &created.diagnostics {
        // They do not stop a session.
        found.add("configuration", Verdict::Warning, diagnostic.message.clone());
    }
    let session = created.runtime.session();
    let facts = facts(&session);
    match session.model() {
        None => found.add_ended("model", Ended::new(Outcome::NoModel, "No model can be used.")),
        Some(model) => {
            let usable = session.models().map(|models| models.check_usable(&model));
            match usable {
                Some(Err(reason)) => {
                    found.add_ended("model", Ended::new(Outcome::NoModel, reason.to_string()));
                }
                _ => {
                    let name = format!("{}/{}", model.provider, model.id);
                    found.add("model", Verdict::Ok, format!("{name}, thinking {}", facts.thinking));
                    if let Some(warning) = missing_price(contract, &model) {
                        found.add("limits", Verdict::Warning, warning);
                    }
                }
            }
        }
    }
    found.add("tools", Verdict::Ok, facts.tools.join(", "));
    let guard = facts.guard.as_ref().map_or("no restrictions".to_owned(), ToString::to_string);
    found.add("policy", Verdict::Ok, guard);
    found.agent = Some(facts);
    created.runtime.shut_down().await;
    Ok(())
}

fn facts(session: &AgentSession) -> AgentFacts {
    AgentFacts {
        model: session.model().map(|model| format!("{}/{}", model.provider, model.id)),
        thinking: session.thinking_level().to_string(),
        tools: session.active_tools().iter().map(|tool| tool.declaration().name.clone()).collect(),
        guard: session.guard().and_then(|guard| guard.status()),
    }
}

/// The workspace, and the checks in it.
async fn examine_workspace(
    contract: &Contract,
    options: &RunOptions,
    mut agent: AgentOptions,
    run_directory: &Path,
    found: &mut Examination,
) -> Result<(), Ended> {
    let environment = options.agent.environment();
    let store = run_directory.join("checkpoints");
    let mut places = WorkspacePlaces::new(&environment.cwd, run_directory, store);
    places.results = contract.results();
    places.home.clone_from(&environment.home);
    places.own = Some(environment.agent_directory.clone());
    let workspace = RunWorkspace::prepare(&contract.workspace, &places, 1)?;
    let root = workspace.root().to_owned();
    let mode = serde_json::to_value(contract.workspace.mode).unwrap_or_default();
    let place = workspace.origin().display();
    found.add("workspace", Verdict::Ok, format!("{}, {place}", mode.as_str().unwrap_or_default()));
    for note in workspace.notes() {
        found.add("workspace", Verdict::Warning, note.clone());
    }
    agent.project = agent.project.in_directory(&root);
    let checked = examine_checks(contract, options, agent, &workspace, run_directory, found).await;
    let removed = workspace.remove().map_err(Ended::from);
    checked.map_err(Ended::from).and(removed)
}

async fn examine_checks(
    contract: &Contract,
    options: &RunOptions,
    agent: AgentOptions,
    workspace: &RunWorkspace,
    run_directory: &Path,
    found: &mut Examination,
) -> Result<(), VerifyError> {
    let missing = missing_variables(contract, agent.environment());
    if !missing.is_empty() {
        found.add_ended("verify", VerifyError::Variables(missing).into());
        return Ok(());
    }
    let mut verifier = Verifier::new(VerifierParts {
        contract,
        workspace,
        directory: run_directory,
        options: agent,
        budget: Budget::new(contract.limits.limits()),
        interrupt: options.interrupt.token().clone(),
    })?;
    for pattern in verifier.unmatched_patterns()? {
        let message = format!("the pattern {pattern} protects no file, because none matches it");
        found.add("verify", Verdict::Problem, message);
    }
    let checks = Box::pin(verifier.before(&|_| {})).await?;
    for check in &checks {
        // The check may fail for other reasons, too. The cause is not known before the sandbox permits it.
        if let Some(denied) = check.denied.first() {
            let message = format!("`{}` fails because {denied}", check.name);
            found.add("verify", Verdict::Problem, message);
            continue;
        }
        match check.exit_code {
            Some(code @ (126 | 127)) => {
                let output = check.output.as_deref().unwrap_or_default().trim();
                let message = format!(
                    "`{}` cannot be run (exit code {code}): {}",
                    check.name,
                    output.lines().last().unwrap_or("a program was not found")
                );
                found.add("verify", Verdict::Problem, message);
            }
            _ if check.passed => {
                let message = format!(
                    "`{}` passes before the work starts: it proves nothing about the work",
                    check.name
                );
                found.add("verify", Verdict::Warning, message);
            }
            _ => found.add(
                "verify",
                Verdict::Ok,
                format!("`{}` fails now, as it should", check.name),
            ),
        }
    }
    let parts = verifier.parts_of_checks();
    if !parts.is_empty() {
        let message = format!(
            "the checks run {}: the agent must not change what the goal does not name, and \
             --may-change does not permit",
            parts.join(", ")
        );
        found.add("verify", Verdict::Ok, message);
    }
    if contract.verify.is_empty() {
        let message = "the task has no checks: every run that ends converges";
        found.add("verify", Verdict::Warning, message);
    } else if proves_nothing(contract, &checks) {
        found.add("verify", Verdict::Warning, "no check fails before the work starts");
    }
    found.checks = checks;
    Ok(())
}
