//! The effective configuration of the guard: the profile, and the settings that override it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_config::Settings;
use pi_config::settings::{
    ApprovalPolicy, LimitSettings, NetworkSetting, NetworkSwitch, Profile, RequiredLevel,
    SandboxMode,
};
use pi_guard::confine::{ConfinementLevel, Limits, Mount, Network, Tracing};
use pi_guard::policy::Defaults;
use pi_models::hidden_paths;
use pi_tools::ExecutorSpec;

use super::ChangeObserver;
use crate::Environment;

/// Longest time of a command in the profile `unattended`, unless the settings give another.
const UNATTENDED_SECONDS: u64 = 1800;

/// Time limit of a reviewing model, unless the settings give another.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(30);

/// The effective configuration of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardPlan {
    /// Safety profile.
    pub profile: Profile,
    /// Policy for actions that need approval.
    pub approval: ApprovalPolicy,
    /// Files that commands can write.
    pub sandbox: SandboxMode,
    /// Hosts that commands can reach.
    pub network: Network,
    /// The least confinement that the machine must support.
    pub require: ConfinementLevel,
    /// Directories that commands can write besides the working directory.
    pub writable_roots: Vec<PathBuf>,
    /// Files that neither commands nor tools can read.
    pub hidden: Vec<PathBuf>,
    /// Files that stay read-only besides the default ones.
    pub protected: Vec<PathBuf>,
    /// Links that lead to protected files, which are restored after each command.
    pub(crate) links: Vec<PathBuf>,
    /// Files that make other programs run something stay as they are.
    pub protects_agent_files: bool,
    /// Directories that sandboxed commands find at other paths.
    pub mounts: Vec<Mount>,
    /// The working directory is a copy that no one keeps, in which nothing is protected.
    pub is_disposable: bool,
    /// Collects what commands use.
    pub(crate) tracing: Option<Tracing>,
    /// Observes what calls change.
    pub(crate) changes: Option<ChangeObserver>,
    /// Additional rule files of this run.
    pub rules: Vec<PathBuf>,
    /// Credentials in tool results are redacted.
    pub redact_secrets: bool,
    /// The model that decides if the approval policy is `review`.
    pub reviewer: ReviewerPlan,
    /// Limits on the resources of sandboxed commands.
    pub limits: Limits,
    /// Longest time of a command.
    pub longest_command: Option<Duration>,
    /// Tools work on this machine, so that it can sandbox them and resolve their paths.
    pub(super) is_local: bool,
    /// An approved command runs without the sandbox: the sandbox follows from a profile that asks,
    /// and not from a setting of the user.
    pub(super) approval_lifts_sandbox: bool,
}

/// The model that decides about approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReviewerPlan {
    /// Pattern of the model; `None` for the model of the session.
    pub model: Option<String>,
    /// Time limit of one review.
    pub timeout: Duration,
}

impl GuardPlan {
    /// Derives the configuration from the settings. Anything that they leave open follows from the
    /// profile.
    pub fn new(settings: &Settings, environment: &Environment) -> Self {
        let is_local = settings.executor == ExecutorSpec::Local;
        let mut hidden = hidden_paths(settings, environment);
        let settings = settings.guard.clone().unwrap_or_default();
        let profile = settings.profile.unwrap_or_default();
        let unattended = profile == Profile::Unattended;
        // Another machine cannot be sandboxed, so `careful` asks about everything there.
        let careful = profile == Profile::Careful && is_local;
        let is_configured = settings.sandbox.is_some() || settings.network.is_some();
        let sandbox_is_off = settings.sandbox == Some(SandboxMode::Off);
        let network = match settings.network {
            Some(NetworkSetting::Switch(NetworkSwitch::Off)) => Network::Off,
            Some(NetworkSetting::Switch(NetworkSwitch::On)) => Network::On,
            Some(NetworkSetting::Hosts(hosts)) => Network::Hosts(hosts),
            None if unattended || (careful && !sandbox_is_off) => Network::Off,
            None => Network::On,
        };
        // Only a sandbox can limit the network.
        let default_sandbox = if unattended || careful || network != Network::On {
            SandboxMode::WorkspaceWrite
        } else {
            SandboxMode::Off
        };
        let sandbox = settings.sandbox.unwrap_or(default_sandbox);
        // A sandbox that was asked for must have an effect in every profile. Without one, `careful`
        // asks about everything instead.
        let is_off = sandbox == SandboxMode::Off && network == Network::On;
        let sandboxed = unattended || !is_off && (is_configured || !careful);
        let require = match settings.require {
            Some(RequiredLevel::None) => ConfinementLevel::None,
            Some(RequiredLevel::Landlock) => ConfinementLevel::Landlock,
            Some(RequiredLevel::Bubblewrap) => ConfinementLevel::Bubblewrap,
            None if sandboxed => ConfinementLevel::Landlock,
            None => ConfinementLevel::None,
        };
        let paths = |named: Option<Vec<String>>| -> Vec<PathBuf> {
            let named = named.unwrap_or_default();
            named.iter().map(|path| environment.expand(path, &environment.cwd)).collect()
        };
        hidden.extend(paths(settings.hidden));
        let default_approval = if unattended { ApprovalPolicy::Never } else { ApprovalPolicy::Ask };
        let reviewer = settings.reviewer.unwrap_or_default();
        let limits = settings.limits.unwrap_or_default();
        let default_seconds = if unattended { UNATTENDED_SECONDS } else { 0 };
        let seconds = limits.seconds.unwrap_or(default_seconds);
        Self {
            profile,
            approval: settings.approval.unwrap_or(default_approval),
            sandbox,
            network,
            require,
            writable_roots: paths(settings.writable_roots),
            hidden,
            protected: paths(settings.protected),
            links: Vec::new(),
            protects_agent_files: unattended && settings.protect_agent_files != Some(false),
            mounts: Vec::new(),
            is_disposable: false,
            tracing: None,
            changes: None,
            rules: paths(settings.rules),
            redact_secrets: settings.redact_secrets != Some(false),
            reviewer: ReviewerPlan {
                model: reviewer.model,
                timeout: reviewer.timeout_ms.map_or(REVIEW_TIMEOUT, Duration::from_millis),
            },
            limits: resource_limits(&limits),
            longest_command: (seconds > 0).then(|| Duration::from_secs(seconds)),
            is_local,
            approval_lifts_sandbox: careful && !is_configured,
        }
    }

    /// Returns true if commands run in the sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.sandbox != SandboxMode::Off
    }

    /// Returns the real paths of the directories whose files of the user the sandbox could change:
    /// none in a copy that no one keeps, and none on another machine.
    pub(crate) fn roots_of_user(&self, cwd: &Path) -> Vec<PathBuf> {
        if self.is_disposable || !self.is_local || self.sandbox == SandboxMode::ReadOnly {
            return Vec::new();
        }
        let roots = std::iter::once(cwd).chain(self.writable_roots.iter().map(PathBuf::as_path));
        roots.map(super::real_path).collect()
    }

    /// Returns true if the guard restricts more than rules do, so that the user should be told.
    pub fn is_restrictive(&self) -> bool {
        self.profile != Profile::Explore || self.is_sandboxed()
    }

    /// Returns the decisions where no rule applies. `sandboxed` is true if the machine does
    /// confine commands.
    pub(super) fn defaults(&self, sandboxed: bool) -> Defaults {
        match self.profile {
            Profile::Explore => Defaults::explore(),
            Profile::Careful => Defaults::careful(),
            Profile::Unattended if sandboxed => Defaults::unattended(),
            Profile::Unattended => Defaults::unattended_without_sandbox(),
        }
    }
}

/// Returns the usual limits, changed by the settings.
fn resource_limits(settings: &LimitSettings) -> Limits {
    let set = |limit: &mut Option<u64>, setting: Option<u64>, unit: u64| {
        if let Some(number) = setting {
            *limit = (number > 0).then(|| number.saturating_mul(unit));
        }
    };
    let mut limits = Limits::usual();
    set(&mut limits.processes, settings.processes, 1);
    set(&mut limits.memory, settings.memory_mb, 1 << 20);
    // Only on request: programs that reserve more memory than they use do not work with it.
    set(&mut limits.process_memory, settings.memory_mb, 1 << 20);
    set(&mut limits.file_size, settings.file_size_mb, 1 << 20);
    limits
}
