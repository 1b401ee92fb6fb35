//! Creates an agent from the command line.

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::extension::{RunMode, Ui};
use pi_coding_agent::guard::GuardError;
use pi_coding_agent::session::SessionEvent;
use pi_coding_agent::{
    AgentOptions, AgentRuntime, CreateError, Created, Diagnostic, Environment, NotCreated,
    Omission, Project, SessionSelector, Severity, create_agent_session,
};
#[cfg(feature = "converge")]
use pi_converge::agents::AgentLibrary;
use pi_packages::PackageError;
use pi_tools::supervisor::Supervisor;

use super::packages;
use crate::arguments::Arguments;
use crate::exit::{Exit, Failure, guard_exit, note};
use crate::extensions;
use crate::features::with_feature;
use crate::flags::parse::unknown_long;
use crate::hints::Hint as _;

/// A new agent, and what the user is told about it.
pub(crate) struct Agent {
    pub(crate) runtime: AgentRuntime,
    /// Problems and omissions.
    pub(crate) notices: Vec<SessionEvent>,
}

/// Creates the agent. Warnings are reported on stderr.
pub(super) async fn create(
    arguments: &Arguments,
    options: AgentOptions,
    ui: Arc<dyn Ui>,
    mode: RunMode,
) -> Result<Agent, Failure> {
    let agent = create_silently(arguments, options, ui, mode).await;
    let agent = agent.map_err(Refused::into_failure)?;
    // The warnings of the command line are on stderr already.
    agent.notices.iter().skip(arguments.warnings.len()).for_each(report);
    let session = agent.runtime.session();
    if let Some(status) = session.guard().and_then(|guard| guard.status()) {
        note(&status.to_string());
    }
    Ok(agent)
}

/// An agent could not be created.
pub(crate) enum Refused {
    /// The command line is invalid, or asks for a part that this build does not have.
    Failed(Failure),
    /// A package of the command line cannot be installed.
    Package(PackageError),
    /// The configuration does not allow it.
    NotCreated(Box<NotCreated>),
}

impl Refused {
    /// Reports the error on stderr, with what may have caused it.
    pub(crate) fn report(self) -> ExitCode {
        self.into_failure().report()
    }

    /// Returns the failure, after what may have caused it was reported on stderr.
    pub(super) fn into_failure(self) -> Failure {
        let NotCreated { error, mut diagnostics, mut omissions, .. } = match self {
            Self::Failed(failure) => return failure,
            Self::Package(error) => {
                return Failure::new(error.to_string(), Exit::Failed).with_hint(error.hint());
            }
            Self::NotCreated(refused) => *refused,
        };
        // The error itself reports it.
        if let CreateError::Guard(GuardError::Omitted { omission, .. }) = &error {
            omissions.retain(|one| one != omission);
        }
        if let CreateError::UnknownDefault(problem) = &error {
            let reports = |one: &Diagnostic| one.message.starts_with(&problem.message);
            diagnostics.retain(|one| one.path != problem.path || !reports(one));
        }
        let message = match &error {
            CreateError::UnknownFlag(name) => unknown_long(name),
            error => error.to_string(),
        };
        notices(&diagnostics, &omissions).iter().for_each(report);
        Failure::new(message, exit(&error)).with_hint(error.hint())
    }
}

/// Creates the agent and reports nothing.
pub(crate) async fn create_silently(
    arguments: &Arguments,
    mut options: AgentOptions,
    ui: Arc<dyn Ui>,
    mode: RunMode,
) -> Result<Agent, Refused> {
    check_directories(arguments, options.environment())
        .map_err(|error| Refused::Failed(Failure::new(error, Exit::Usage)))?;
    options.ui = ui;
    options.mode = mode;
    options.tools.selection.background |= mode == RunMode::Tui;
    let packages = packages::prepare(arguments.offline, &mut options).await;
    let packages = packages.map_err(Refused::Package)?;
    let agent_warnings = apply_agent(arguments, &mut options).map_err(Refused::Failed)?;
    let created = Box::pin(create_agent_session(options)).await;
    let Created { runtime, diagnostics, omissions, .. } = created.map_err(|mut refused| {
        refused.diagnostics = packages.merge(std::mem::take(&mut refused.diagnostics));
        Refused::NotCreated(Box::new(refused))
    })?;
    let warnings = arguments.warnings.iter().map(|text| Diagnostic::warning(None, text));
    let given = warnings.map(|warning| SessionEvent::from_diagnostic(&warning, None));
    let mut diagnostics = packages.merge(diagnostics);
    diagnostics.extend(agent_warnings);
    Ok(Agent { runtime, notices: given.chain(notices(&diagnostics, &omissions)).collect() })
}

/// Applies the agent spec of the command line. Returns warnings about it.
fn apply_agent(
    arguments: &Arguments,
    options: &mut AgentOptions,
) -> Result<Vec<Diagnostic>, Failure> {
    let Some(reference) = &arguments.agent else { return Ok(Vec::new()) };
    with_feature!("converge", {
        let library = AgentLibrary::of(&options.project);
        let set = library.load(reference, &options.environment().cwd);
        let set = set
            .map_err(|error| Failure::new(format!("--agent {reference}: {error}"), Exit::Usage))?;
        *options = set.apply(options);
        let warnings = set.warnings().iter();
        Ok(warnings.map(|problem| Diagnostic::warning(None, problem.to_string())).collect())
    })
}

/// Returns the problems and omissions that a run reports, as events.
fn notices(diagnostics: &[Diagnostic], omissions: &[Omission]) -> Vec<SessionEvent> {
    let problems = diagnostics.iter().map(|one| SessionEvent::from_diagnostic(one, None));
    let omissions = omissions.iter().filter(|omission| !omission.is_deliberate());
    let omissions = omissions
        .map(|omission| SessionEvent::from_diagnostic(&omission.diagnostic(), omission.hint()));
    problems.chain(omissions).collect()
}

/// Prints a problem or an omission as one line.
pub(super) fn report(notice: &SessionEvent) {
    let SessionEvent::Diagnostic { severity, path, message, hint } = notice else { return };
    let severity = match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let path = path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
    let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    note(&format!("{severity}: {path}{message}{hint}"));
}

/// Checks that the directories of --add-dir exist.
fn check_directories(arguments: &Arguments, environment: &Environment) -> Result<(), String> {
    let added = arguments.settings.get("guard").and_then(|guard| guard["writableRoots"].as_array());
    for path in added.into_iter().flatten().filter_map(|path| path.as_str()) {
        let directory = environment.expand(path, &environment.cwd);
        if !directory.is_dir() {
            let directory = directory.display();
            return Err(format!("--add-dir: {directory} is not a directory; create it first"));
        }
    }
    Ok(())
}

fn exit(error: &CreateError) -> Exit {
    match error {
        CreateError::Model(_) => Exit::NoModel,
        CreateError::UnknownDefault(_) => Exit::Configuration,
        CreateError::Guard(error) => guard_exit(error),
        CreateError::Tools(_)
        | CreateError::Resource(_)
        | CreateError::UnknownFlag(_)
        | CreateError::FlagValue(_) => Exit::Usage,
        CreateError::UnsandboxedExecutor(_) => Exit::SandboxUnavailable,
        _ => Exit::Failed,
    }
}

/// Opens the project, and returns the options that the command line asks for. An agent that is
/// created with them reports the problems of the project.
pub(crate) fn options(arguments: &Arguments, environment: Environment) -> AgentOptions {
    let mut project = Project::open(environment);
    project.set_approval(arguments.approve);
    project.set_overrides(arguments.settings.clone());
    let mut options = AgentOptions::in_project(project);
    options.session.selector = session(arguments);
    options.session.name.clone_from(&arguments.name);
    options.session.directory.clone_from(&arguments.session_dir);
    options.model = arguments.model.clone();
    options.tools.selection.clone_from(&arguments.tools);
    options.resources = arguments.resources.clone();
    let flags = arguments.unknown.iter();
    options.extensions.flags =
        flags.map(|option| (option.name.clone(), option.value.clone())).collect();
    options.tools.supervisor = cfg!(target_os = "linux").then(Supervisor::this_program);
    options.extensions.open = extensions::opener();
    options.extensions.builtins = extensions::builtins(options.environment());
    options
}

fn session(arguments: &Arguments) -> SessionSelector {
    if arguments.no_session {
        SessionSelector::InMemory
    } else if let Some(reference) = &arguments.fork {
        SessionSelector::Fork { source: reference.clone(), id: arguments.session_id.clone() }
    } else if let Some(reference) = &arguments.session {
        SessionSelector::Existing(reference.clone())
    } else if arguments.continue_latest {
        SessionSelector::Latest
    } else if let Some(id) = &arguments.session_id {
        SessionSelector::WithId(id.clone())
    } else {
        SessionSelector::New
    }
}
