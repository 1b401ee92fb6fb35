//! The guard of a session, from settings, rule files and who is there to be asked.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::mcp::{StdioServer, Transport};
use pi_config::settings::{ApprovalPolicy, Profile};
use pi_config::{Environment, Settings, TrustedFiles};
use pi_guard::secrets::Secrets;
use pi_guard::shell::quoted;
use pi_models::{configured_secrets, key_commands};
use pi_protocol::{Model, Provider, Tool};
use pi_session::Session;
use pi_tools::{ExecutorSpec, Workspace};
use secrecy::ExposeSecret as _;

use super::checkpointing::{self, Checkpointing, TooWide};
use super::model::choose_model;
use super::services::{Occasion, Services};
use super::{AgentOptions, CreateError};
use crate::Omission;
use crate::extension::ExtensionFailure;
use crate::extension::UiApprover;
use crate::guard::{
    Approvals, Approver, Checkpoints, Guard, GuardError, GuardParts, GuardPlan, RemoteDirectories,
    Reviewer, RulesError, Walls, rules,
};
use crate::session::WeakAgentSession;

/// Loads the guard of a session in this directory, to test its decisions. It approves nothing.
pub fn load_guard(options: &AgentOptions) -> Result<Guard, GuardError> {
    guard_of(options, |_| {})
}

/// Creates a guard outside of a session. `change` adjusts the plan that follows from the settings.
pub(super) fn guard_of(
    options: &AgentOptions,
    change: impl FnOnce(&mut GuardPlan),
) -> Result<Guard, GuardError> {
    let project = &options.project;
    if let Some(problem) = project.store().guard_error() {
        return Err(GuardError::Settings(problem.clone()));
    }
    let environment = project.environment();
    let mut plan = GuardPlan::new(project.settings(), environment);
    change(&mut plan);
    let policy = rules::load(environment, project.is_trusted(), &plan.rules)?;
    let (approvals, supervisor) =
        (options.guard.approvals.clone(), options.tools.supervisor.clone());
    let trusted = trusted_files(&plan, options, project.settings(), environment, []);
    let walls = Walls::new(plan, environment, policy, approvals, supervisor, trusted)?;
    let limits = checkpointing::limits(options, project.settings(), &environment.cwd);
    let has_checkpoints = limits.is_ok_and(|limits| limits.is_some());
    Ok(Guard::new(GuardParts {
        walls,
        remote: None,
        approver: options.guard.approver.clone(),
        checkpoints: if has_checkpoints { Checkpoints::Assumed } else { Checkpoints::None },
        announce: None,
        emit_decision: None,
        tap: None,
        secrets: Secrets::new(configured_secrets(environment)),
    }))
}

/// Returns the files in writable directories that pi runs or reads for the user. An agent that works
/// for another one in the same directory has those of that one: they are as they were before either
/// of them ran.
fn trusted_files(
    plan: &GuardPlan,
    options: &AgentOptions,
    settings: &Settings,
    environment: &Environment,
    extensions: impl IntoIterator<Item = PathBuf>,
) -> Arc<TrustedFiles> {
    if let Some(parent) = options.guard.parent.as_ref()
        && parent.cwd() == environment.cwd
    {
        return Arc::clone(parent.trusted_files());
    }
    let hooks = settings.hooks.iter().flat_map(|group| &group.0).map(|hook| &hook.command);
    let guardrails = settings.guardrails.iter().flatten();
    let guardrails = guardrails.filter_map(|guardrail| guardrail.plan().command.as_ref());
    let of_keys = key_commands(environment);
    let servers = server_commands(environment, options.project.is_trusted());
    let commands = hooks.chain(guardrails).chain(&of_keys).chain(&servers).map(String::as_str);
    let flags = &options.resources;
    let path = |text: &String| environment.expand(text, &environment.cwd);
    let programs = flags.extensions.iter().chain(settings.extensions.iter().flatten());
    let programs = programs.map(path).chain(extensions);
    // A prompt may be a text, which is the path of no file.
    let prompts = flags.system_prompt.iter().chain(flags.append_system_prompt.iter().flatten());
    let paths = flags.skills.iter().chain(&flags.prompts).chain(prompts).map(path);
    let paths = paths.chain(plan.rules.iter().chain(&options.guard.trusted_files).cloned());
    let roots = plan.roots_of_user(&environment.cwd);
    if roots.is_empty() {
        return Arc::default();
    }
    Arc::new(TrustedFiles::find(roots, environment, commands, programs, paths))
}

/// Returns the commands of the MCP servers that are programs, as text for a shell.
fn server_commands(environment: &Environment, is_trusted: bool) -> Vec<String> {
    let servers = pi_config::mcp::load(environment, is_trusted).servers;
    let programs = servers.iter().filter_map(|server| match &server.config.transport {
        Transport::Stdio(program) => Some(program),
        Transport::Http(_) => None,
    });
    let text = |program: &StdioServer| {
        let words = std::iter::once(&program.command).chain(&program.args);
        let start = program.cwd.as_ref().map(|cwd| format!("cd {}; ", quoted(cwd)));
        let words: Vec<String> = words.map(|word| quoted(word)).collect();
        format!("{}{}", start.unwrap_or_default(), words.join(" "))
    };
    programs.map(text).collect()
}

/// A guard with the workspace and the checkpoints that it was constructed for.
pub(super) struct GuardedWorkspace {
    pub(super) guard: Arc<Guard>,
    pub(super) workspace: Arc<Workspace>,
    /// Takes the checkpoints of the session, if it has its own.
    pub(super) checkpoints: Result<Option<Arc<Checkpointing>>, TooWide>,
    /// The session to which the guard emits its decisions, for
    /// [`SessionParts`](crate::session::SessionParts).
    pub(super) session: WeakAgentSession,
}

/// What a guard needs to know of the session that it is made for.
pub(super) struct GuardedSession<'a> {
    pub(super) log: &'a Session,
    /// Tools that the log declares.
    pub(super) declared: &'a [Tool],
    pub(super) model: Option<&'a Arc<Model>>,
    /// Answers the requests of a reviewer.
    pub(super) provider: &'a Arc<dyn Provider>,
    pub(super) occasion: Occasion,
}

impl Services {
    /// Checks that no configured restriction is missing: a setting that cannot be used, and, in a
    /// profile that restricts, an extension or a rule file that is not loaded.
    pub(super) fn check_restrictions(&self) -> Result<(), GuardError> {
        if let Some(problem) = self.project().store().guard_error() {
            return Err(GuardError::Settings(problem.clone()));
        }
        let missing = |omission: &&Omission| omission.is_safeguard() && !omission.is_deliberate();
        match self.omissions.iter().find(missing) {
            Some(omission) => self.check_omission(omission.clone()),
            None => Ok(()),
        }
    }

    /// Checks that all extensions are loaded, in a profile that restricts.
    pub(super) fn check_loaded(&self, failures: &[ExtensionFailure]) -> Result<(), GuardError> {
        let files: Vec<PathBuf> = failures.iter().map(|one| one.extension.clone().into()).collect();
        if files.is_empty() {
            return Ok(());
        }
        self.check_omission(Omission::Extensions { files })
    }

    /// Refuses an omission that may be a restriction, in a profile that restricts.
    fn check_omission(&self, omission: Omission) -> Result<(), GuardError> {
        let project = self.project();
        match GuardPlan::new(project.settings(), project.environment()).profile {
            Profile::Explore => Ok(()),
            profile => Err(GuardError::Omitted { profile, omission }),
        }
    }

    /// Returns the guard of a session and the workspace behind it. Earlier approvals count for the
    /// first session only.
    pub(super) async fn guard(
        &self,
        settings: &Settings,
        of: GuardedSession<'_>,
    ) -> Result<GuardedWorkspace, CreateError> {
        let options = &self.options;
        let trusted = self.project().is_trusted();
        let mut plan = GuardPlan::new(settings, options.environment());
        plan.changes = options.guard.observe_changes.clone();
        let policy = rules::load(options.environment(), trusted, &plan.rules);
        let policy = policy.map_err(|error: RulesError| GuardError::from(error))?;
        let approver = match plan.approval {
            ApprovalPolicy::Never => None,
            ApprovalPolicy::Review => self.reviewer(&plan, settings, of.provider, of.model).await?,
            ApprovalPolicy::Ask => options.guard.approver.clone().or_else(|| {
                let ui = options.ui.is_present().then(|| Arc::clone(&options.ui))?;
                Some(Arc::new(UiApprover(ui)) as Arc<dyn Approver>)
            }),
        };
        let approvals = match of.occasion {
            Occasion::Startup => options.guard.approvals.clone(),
            Occasion::Replacement => Approvals::default(),
        };
        let supervisor = options.tools.supervisor.clone();
        let secrets = self.registry.secrets().clone();
        secrets.add(options.model.api_key.iter().map(|key| key.expose_secret().to_owned()));
        let environment = options.environment();
        let extensions = self.resources.extensions.iter().map(|source| source.path.clone());
        let trusted = trusted_files(&plan, options, settings, environment, extensions);
        let walls = Walls::new(plan, environment, policy, approvals, supervisor, trusted)?;
        let connected = self.connect(settings, &walls).await?;
        let checkpoints = checkpointing::of_session(options, settings, &connected, of.log);
        let is_remote = settings.executor != ExecutorSpec::Local;
        let remote = RemoteDirectories { cwd: connected.cwd.clone(), home: connected.home.clone() };
        let session = WeakAgentSession::default();
        let guard = Arc::new(Guard::new(GuardParts {
            walls,
            remote: is_remote.then_some(remote),
            approver,
            checkpoints: self.checkpoints_of(&checkpoints),
            announce: options.guard.announce_calls.clone(),
            emit_decision: Some(session.emit_decisions()),
            tap: options.tap.clone(),
            secrets,
        }));
        let workspace = self.workspace(settings, of.log, of.declared, connected, &guard);
        Ok(GuardedWorkspace { guard, workspace: Arc::new(workspace), checkpoints, session })
    }

    /// Returns the checkpoints as the guard uses them: those of the session, or of the one that it
    /// works for.
    fn checkpoints_of(&self, own: &Result<Option<Arc<Checkpointing>>, TooWide>) -> Checkpoints {
        let tap = self.options.tap.as_ref();
        match (&self.options.guard.parent, own) {
            (Some(parent), _) => parent.shared_checkpoints(),
            (None, Ok(Some(_))) if tap.is_some_and(|tap| !tap.executes_tools()) => {
                Checkpoints::Assumed
            }
            (None, Ok(Some(own))) => {
                let own = Arc::clone(own);
                Checkpoints::Taken(Arc::new(move |effects| {
                    let (own, effects) = (Arc::clone(&own), effects.clone());
                    Box::pin(async move { own.before_call(&effects).await })
                }))
            }
            (None, Ok(None) | Err(_)) => Checkpoints::None,
        }
    }

    /// A model that decides: the one that is named, or that of the session.
    async fn reviewer(
        &self,
        plan: &GuardPlan,
        settings: &Settings,
        provider: &Arc<dyn Provider>,
        model: Option<&Arc<Model>>,
    ) -> Result<Option<Arc<dyn Approver>>, CreateError> {
        let named = &plan.reviewer.model;
        let model = match named {
            None => model.cloned(),
            Some(_) => {
                let mut options: AgentOptions = (*self.options).clone();
                options.model.requested.clone_from(named);
                options.model.provider = None;
                choose_model(&self.registry, &options, settings, None).await?.model
            }
        };
        let timeout = plan.reviewer.timeout;
        let reviewer = model.map(|model| Reviewer::new(Arc::clone(provider), model, timeout));
        Ok(reviewer.map(|reviewer| Arc::new(reviewer) as Arc<dyn Approver>))
    }
}
