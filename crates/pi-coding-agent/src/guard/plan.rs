//! What is to hold in a session: the profile, and what settings say otherwise.

use std::path::PathBuf;
use std::time::Duration;

use pi_guard::confine::{ConfinementLevel, Network};
use pi_guard::policy::Defaults;

use crate::Environment;
use crate::config::Settings;
use crate::config::settings::{
    ApprovalPolicy, NetworkChoice, NetworkSwitch, Profile, RequiredRung, SandboxMode,
};

/// How long a reviewing model may take.
const REVIEW: Duration = Duration::from_secs(30);

/// Where other programs keep keys that no command of a model needs.
const HIDDEN: &[&str] = &[
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".docker/config.json",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".vault-token",
];

/// What is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardPlan {
    /// How much is asked and held.
    pub profile: Profile,
    /// Who says yes.
    pub approval: ApprovalPolicy,
    /// What commands can write.
    pub sandbox: SandboxMode,
    /// Who commands can reach.
    pub network: Network,
    /// What the machine must be able to hold.
    pub require: ConfinementLevel,
    /// What commands can write besides the working directory.
    pub writable_roots: Vec<PathBuf>,
    /// What cannot be read.
    pub hidden: Vec<PathBuf>,
    /// What stays read-only, besides the usual.
    pub protected: Vec<PathBuf>,
    /// Rule files of this run.
    pub rules: Vec<PathBuf>,
    /// Credentials are masked.
    pub mask_secrets: bool,
    /// The reviewing model, and how long it may take.
    pub reviewer: (Option<String>, Duration),
}

impl GuardPlan {
    /// What the settings say; the rest follows from the profile.
    pub fn new(settings: &Settings, environment: &Environment) -> Self {
        let said = settings.guard.clone().unwrap_or_default();
        let profile = said.profile.unwrap_or_default();
        let alone = profile == Profile::Unattended;
        let network = match said.network {
            Some(NetworkChoice::Whole(NetworkSwitch::Off)) => Network::Off,
            Some(NetworkChoice::Whole(NetworkSwitch::On)) => Network::On,
            Some(NetworkChoice::Hosts(hosts)) => Network::Hosts(hosts),
            None if alone => Network::Off,
            None => Network::On,
        };
        // Only what is confined can be kept from the network.
        let usual = if alone || network != Network::On {
            SandboxMode::WorkspaceWrite
        } else {
            SandboxMode::Off
        };
        let sandbox = said.sandbox.unwrap_or(usual);
        // Whoever asks for a sandbox wants one, whatever the profile.
        let held = alone || sandbox != SandboxMode::Off || network != Network::On;
        let require = match said.require {
            Some(RequiredRung::None) => ConfinementLevel::None,
            Some(RequiredRung::Landlock) => ConfinementLevel::Landlock,
            Some(RequiredRung::Bubblewrap) => ConfinementLevel::Bubblewrap,
            None if held => ConfinementLevel::Landlock,
            None => ConfinementLevel::None,
        };
        let paths = |named: Option<Vec<String>>| -> Vec<PathBuf> {
            let named = named.unwrap_or_default();
            named.iter().map(|path| environment.expand(path, &environment.cwd)).collect()
        };
        // Keeping what is not there from appearing costs every command; worth it only if asked for.
        let mut hidden = keys(environment);
        hidden.retain(|path| path.exists());
        hidden.extend(paths(said.hidden));
        let reviewer = said.reviewer.unwrap_or_default();
        Self {
            profile,
            approval: said.approval.unwrap_or(if alone {
                ApprovalPolicy::Never
            } else {
                ApprovalPolicy::Ask
            }),
            sandbox,
            network,
            require,
            writable_roots: paths(said.writable_roots),
            hidden,
            protected: paths(said.protected),
            rules: paths(said.rules),
            mask_secrets: said.mask_secrets != Some(false),
            reviewer: (reviewer.model, reviewer.timeout_ms.map_or(REVIEW, Duration::from_millis)),
        }
    }

    /// Whether commands are confined from the start.
    pub fn is_confined(&self) -> bool {
        self.sandbox != SandboxMode::Off
    }

    /// Whether there is something to tell about: anything but what pi has always done.
    pub fn is_unusual(&self) -> bool {
        self.profile != Profile::Explore || self.is_confined()
    }

    /// What is decided where no rule speaks, given whether something really holds commands.
    pub fn defaults(&self, held: bool) -> Defaults {
        match self.profile {
            Profile::Explore => Defaults::explore(),
            Profile::Careful => Defaults::careful(),
            Profile::Unattended if held => Defaults::unattended(),
            Profile::Unattended => Defaults::unattended_without_sandbox(),
        }
    }
}

/// Where this program and others keep keys.
fn keys(environment: &Environment) -> Vec<PathBuf> {
    let own = ["auth.json", "models.json"].map(|name| environment.agent_directory.join(name));
    let home = environment.home.iter();
    home.flat_map(|home| HIDDEN.iter().map(|name| home.join(name))).chain(own).collect()
}
