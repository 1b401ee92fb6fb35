//! The guard of a session, from settings, rule files and who is there to be asked.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::settings::{ApprovalPolicy, Profile};
use pi_config::{Settings, SettingsStore};
use pi_guard::secrets::Secrets;
use pi_protocol::{Model, Provider};
use secrecy::ExposeSecret as _;

use super::checkpointing;
use super::model::choose_model;
use super::services::{Occasion, Services};
use super::trust::load_settings;
use super::{AgentOptions, CreateError};
use crate::extension::ExtensionFailure;
use crate::guard::{
    Approvals, Approver, Guard, GuardError, GuardPlan, Reviewer, RulesError, UiApprover, rules,
};
use crate::{Omission, configured_secrets};

/// Loads the guard of a session in this directory, to test its decisions. It approves nothing.
pub fn load_guard(options: &AgentOptions) -> Result<Guard, GuardError> {
    let (settings, _) = load_settings(options, None, &mut Vec::new());
    guard_of(options, &settings, &[])
}

/// Creates a guard outside of a session. The files `read_only` cannot be written, besides those that
/// the settings protect.
pub(super) fn guard_of(
    options: &AgentOptions,
    settings: &SettingsStore,
    read_only: &[PathBuf],
) -> Result<Guard, GuardError> {
    if let Some(problem) = settings.guard_error() {
        return Err(GuardError::Settings(problem.clone()));
    }
    let environment = &options.environment;
    let mut plan = GuardPlan::new(settings.settings(), environment);
    plan.protected.extend(read_only.iter().cloned());
    let policy = rules::load(environment, settings.is_trusted(), &plan.rules)?;
    let approver = options.approver.clone();
    let (approvals, supervisor) = (options.approvals.clone(), options.supervisor.clone());
    let secrets = Secrets::new(configured_secrets(environment));
    let guard = Guard::new(plan, environment, policy, approver, approvals, supervisor, secrets)?;
    let limits = checkpointing::limits(options, settings.settings(), &environment.cwd);
    if limits.is_ok_and(|limits| limits.is_some()) {
        guard.assume_checkpoints();
    }
    Ok(guard)
}

impl Services {
    /// Checks that no configured restriction is missing: a setting that cannot be used, and, in a
    /// profile that restricts, an extension or a rule file that is not loaded.
    pub(super) fn check_restrictions(&self) -> Result<(), GuardError> {
        let store = self.settings();
        if let Some(problem) = store.guard_error() {
            return Err(GuardError::Settings(problem.clone()));
        }
        drop(store);
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
        let settings = self.settings();
        let profile = GuardPlan::new(settings.settings(), &self.options.environment).profile;
        match profile {
            Profile::Explore => Ok(()),
            profile => Err(GuardError::Omitted { profile, omission }),
        }
    }

    /// Returns the guard of a session. Earlier approvals count for the first session only.
    pub(super) async fn guard(
        &self,
        settings: &Settings,
        provider: &Arc<dyn Provider>,
        model: Option<&Arc<Model>>,
        occasion: Occasion,
    ) -> Result<Arc<Guard>, CreateError> {
        let options = &self.options;
        let trusted = self.settings().is_trusted();
        let plan = GuardPlan::new(settings, &options.environment);
        let policy = rules::load(&options.environment, trusted, &plan.rules);
        let policy = policy.map_err(|error: RulesError| GuardError::from(error))?;
        let approver = match plan.approval {
            ApprovalPolicy::Never => None,
            ApprovalPolicy::Review => self.reviewer(&plan, settings, provider, model).await?,
            ApprovalPolicy::Ask => options.approver.clone().or_else(|| {
                let ui = options.ui.is_present().then(|| Arc::clone(&options.ui))?;
                Some(Arc::new(UiApprover(ui)) as Arc<dyn Approver>)
            }),
        };
        let approvals = match occasion {
            Occasion::Startup => options.approvals.clone(),
            Occasion::Replacement => Approvals::default(),
        };
        let supervisor = options.supervisor.clone();
        let secrets = self.registry.secrets().clone();
        secrets.add(options.api_key.iter().map(|key| key.expose_secret().to_owned()));
        let environment = &options.environment;
        let guard =
            Guard::new(plan, environment, policy, approver, approvals, supervisor, secrets)?;
        if let Some(announce) = &options.announce_calls {
            guard.set_announce(Arc::clone(announce));
        }
        Ok(Arc::new(guard))
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
                options.model.clone_from(named);
                options.provider = None;
                choose_model(&self.registry, &options, settings, None).await?.model
            }
        };
        let timeout = plan.reviewer.timeout;
        let reviewer = model.map(|model| Reviewer::new(Arc::clone(provider), model, timeout));
        Ok(reviewer.map(|reviewer| Arc::new(reviewer) as Arc<dyn Approver>))
    }
}
