//! A confinement that was prepared for this machine, and the commands that run in it.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{
    ConfineError, Confinement, ConfinementLevel, HELPER_ARGUMENT, Limits, Machine, Mode, covers,
    roots, seatbelt_profile, without_secrets,
};
#[cfg(target_os = "linux")]
use super::{
    Leftover, Network, Watch, bridge, bubblewrap, descriptors, git,
    kept::Kept,
    launch,
    leftovers::{Dangers, Repositories},
};

/// A confinement that this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    pub(super) confinement: Confinement,
    pub(super) level: ConfinementLevel,
    /// The version of Landlock, 0 without Landlock.
    pub(super) abi: u8,
    pub(super) bubblewrap: Option<PathBuf>,
    pub(super) helper: PathBuf,
    /// Who judges the programs that commands start.
    #[cfg(target_os = "linux")]
    #[serde(default)]
    pub(super) watch: Option<Watch>,
    /// The covered paths that did not exist when this value was made.
    #[serde(skip)]
    covers: Vec<PathBuf>,
    /// The protected paths that are restored after the command.
    #[cfg(target_os = "linux")]
    #[serde(default)]
    pub(super) restored: Vec<PathBuf>,
    #[cfg(target_os = "linux")]
    #[serde(skip)]
    kept: Arc<Kept>,
    /// What could not be disabled or restored.
    #[cfg(target_os = "linux")]
    #[serde(skip)]
    dangers: Arc<Dangers>,
    #[cfg(target_os = "linux")]
    #[serde(skip)]
    repositories: Arc<Repositories>,
    /// The time when this value was made.
    #[cfg(target_os = "linux")]
    #[serde(skip)]
    prepared: Option<SystemTime>,
}

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The program.
    pub program: OsString,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl Confined {
    pub(super) fn new(
        confinement: Confinement,
        level: ConfinementLevel,
        machine: &Machine,
        helper: PathBuf,
    ) -> Result<Self, ConfineError> {
        let mut confined = Self {
            confinement,
            level,
            abi: machine.landlock,
            bubblewrap: machine.bubblewrap.clone(),
            helper,
            #[cfg(target_os = "linux")]
            watch: None,
            covers: Vec::new(),
            #[cfg(target_os = "linux")]
            restored: Vec::new(),
            #[cfg(target_os = "linux")]
            kept: Arc::default(),
            #[cfg(target_os = "linux")]
            dangers: Arc::default(),
            #[cfg(target_os = "linux")]
            repositories: Arc::default(),
            #[cfg(target_os = "linux")]
            prepared: Some(SystemTime::now()),
        };
        roots::plan(&confined.confinement)?;
        confined.covers = confined.covered_paths()?;
        Ok(confined)
    }

    /// Lets a judge decide about every program that commands start, also at the level `None`.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn with_watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Returns true if a judge decides about every program that commands start.
    pub fn is_watched(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.watch.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// The level at which the limits are enforced.
    pub fn level(&self) -> ConfinementLevel {
        self.level
    }

    /// The limits on the resources of a command.
    pub fn resource_limits(&self) -> &Limits {
        &self.confinement.limits
    }

    /// The gaps of this level, as sentences for the user.
    pub fn limits(&self) -> Vec<&'static str> {
        let mut limits = Vec::new();
        if self.level == ConfinementLevel::None {
            limits.push("Commands run without a sandbox, with all your permissions.");
        }
        if self.level == ConfinementLevel::Landlock {
            if self.abi < 6 {
                limits.push("Commands can send signals to your other processes.");
            }
            if self.confinement.mode != Mode::ReadOnly {
                limits
                    .push("Commands can change the modes, times and attributes of all your files.");
                limits.push(
                    "Changes of protected files (.git/config, hooks, .pi) are undone after each \
                     command, not prevented: run no git in this directory meanwhile.",
                );
            }
        }
        limits
    }

    /// The protected paths that do not exist and are covered while commands run. A cover leaves an
    /// empty directory behind, or a file without effect, which [`Self::remove_covers`] removes.
    pub fn covered_paths(&self) -> Result<Vec<PathBuf>, ConfineError> {
        if self.level != ConfinementLevel::Bubblewrap {
            return Ok(Vec::new());
        }
        let plan = roots::plan(&self.confinement)?;
        let files = plan.iter().flat_map(|root| root.covers.iter().map(|(path, _)| path.clone()));
        let files: Vec<PathBuf> = files.collect();
        Ok(plan.iter().flat_map(roots::Root::covered).chain(files).collect())
    }

    /// Removes the empty directories that covers left, after the last command: those that did not
    /// exist when this value was made or were created since, are still empty, and are not in use by
    /// a command of this or another program. Returns the removed paths.
    pub fn remove_covers(&self) -> Vec<PathBuf> {
        covers::remove(&self.own_covers())
    }

    /// The covers that may be left behind: those that did not exist when this value was made, and
    /// those that were created since.
    pub fn own_covers(&self) -> Vec<PathBuf> {
        let mut covers = self.covers.clone();
        #[cfg(target_os = "linux")]
        if let (ConfinementLevel::Bubblewrap, Some(prepared)) = (self.level, self.prepared) {
            for root in roots::plan(&self.confinement).unwrap_or_default() {
                covers.extend(covers::created_since(&root.present, prepared));
                covers.extend(root.covers.into_iter().map(|(path, _)| path));
            }
        }
        covers.sort();
        covers.dedup();
        covers
    }

    /// Takes note of a command that is about to start: of the repositories in the writable roots
    /// before the first one, and with Landlock alone of the content of protected files. It is called
    /// before [`Self::command`], and [`Self::disable_leftovers`] when the command has ended. Without
    /// it, nothing can be created beside a protected file with Landlock alone.
    #[cfg(target_os = "linux")]
    pub fn record_repositories(&self) {
        if self.level == ConfinementLevel::None {
            return;
        }
        let has_mounts = self.level != ConfinementLevel::Landlock;
        self.kept.begin(&roots::plan(&self.confinement).unwrap_or_default(), has_mounts);
        // Commands cannot write what is behind a mount.
        let mut roots = self.confinement.roots();
        roots.retain(|root| !self.confinement.is_mounted(root));
        self.repositories.begin(&roots, self.confinement.private_tmp(), || {
            let roots = roots::plan(&self.confinement).unwrap_or_default();
            // A command may create a repository where nothing covers the path.
            let may_appear = |path: &PathBuf| {
                self.level == ConfinementLevel::Landlock
                    && path.ends_with(".git")
                    && fs::symlink_metadata(path).is_err()
            };
            let protected = roots
                .iter()
                .flat_map(|root| root.protected().filter(|path| !may_appear(path)).cloned());
            let protected = protected.collect();
            let home = self.confinement.home.as_deref();
            let own = |root: &&Path| !self.confinement.is_mounted(root);
            let repositories = self.confinement.roots().into_iter().filter(own);
            let repositories = repositories.map(|root| root.join(".git"));
            (protected, repositories.map(|path| git::named_paths(&path, home)).collect())
        });
    }

    /// Restores protected files that commands changed since the last call, and renames what they
    /// left in the writable roots and with which `git` would run programs outside of the sandbox.
    /// The work of one call is bounded, and the next one continues it; the last call of a session
    /// does the rest.
    #[cfg(target_os = "linux")]
    pub fn disable_leftovers(&self, is_last: bool) -> Vec<Leftover> {
        let mut found = self.kept.end(is_last);
        found.extend(self.repositories.examine(is_last));
        self.dangers.add(&found);
        found
    }

    /// What commands left that could neither be disabled nor restored, as far as it still exists.
    /// No further command should run then.
    #[cfg(target_os = "linux")]
    pub fn dangers(&self) -> Vec<Leftover> {
        self.dangers.left()
    }

    /// Takes note that a recorded command did not start, or that its end is not awaited. The next
    /// examination includes it.
    #[cfg(target_os = "linux")]
    pub(super) fn abandon(&self) {
        self.kept.abandon();
    }

    /// The protected paths that are restored after the commands that run now.
    pub(super) fn restored_paths(&self) -> Vec<PathBuf> {
        #[cfg(target_os = "linux")]
        return self.kept.paths();
        #[cfg(not(target_os = "linux"))]
        Vec::new()
    }

    /// Returns the command that runs `program` confined. It must be started in `cwd`, too.
    pub fn command(
        &self,
        program: &OsString,
        arguments: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Command {
        let confinement = &self.confinement;
        if self.level == ConfinementLevel::None {
            let environment = environment.to_vec();
            return if self.is_watched() {
                self.helper_command(program, arguments, cwd, environment)
            } else {
                let (program, arguments) = (program.clone(), arguments.to_vec());
                Command { program, arguments, environment }
            };
        }
        let is_kept = |(name, _): &&(OsString, OsString)| {
            confinement.kept_variables.iter().any(|kept| name == kept.as_str())
        };
        let kept: Vec<_> = environment.iter().filter(is_kept).cloned().collect();
        let mut environment = without_secrets(environment, &confinement.secret_variables);
        environment.retain(|variable| !is_kept(&variable));
        environment.extend(kept);
        let tmp = match (self.level, confinement.private_tmp()) {
            (ConfinementLevel::Bubblewrap, _) => Some(Path::new("/tmp")),
            (_, tmp) => tmp,
        };
        if let Some(tmp) = tmp {
            const NAMES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];
            environment.retain(|(name, _)| !NAMES.iter().any(|tmp| name == tmp));
            environment.push(("TMPDIR".into(), tmp.into()));
        }
        #[cfg(target_os = "linux")]
        if let Network::Hosts(_) = confinement.network {
            bridge::set_proxy_variables(&mut environment);
        }
        if self.level != ConfinementLevel::Seatbelt {
            return self.helper_command(program, arguments, cwd, environment);
        }
        let mut before: Vec<OsString> =
            vec!["-p".into(), seatbelt_profile(confinement).into(), "--".into(), program.clone()];
        before.extend_from_slice(arguments);
        Command { program: "/usr/bin/sandbox-exec".into(), arguments: before, environment }
    }

    /// Returns the command that starts the helper.
    fn helper_command(
        &self,
        program: &OsString,
        arguments: &[OsString],
        cwd: &Path,
        environment: Vec<(OsString, OsString)>,
    ) -> Command {
        #[cfg(target_os = "linux")]
        let this = &Self { restored: self.kept.paths(), ..self.clone() };
        #[cfg(not(target_os = "linux"))]
        let this = self;
        // Fails for a path that is not UTF-8; the helper then refuses to run the command.
        let specification = serde_json::to_string(this).unwrap_or_default();
        let mut before =
            vec![HELPER_ARGUMENT.into(), specification.into(), cwd.into(), program.clone()];
        before.extend_from_slice(arguments);
        Command { program: self.helper.clone().into(), arguments: before, environment }
    }

    /// Like [`Self::command`], but starts bubblewrap without the helper before it if this process
    /// has no other open files that the command would inherit. That saves the start of a program,
    /// a measurable part of the cost of a command. The standard streams must be made for the
    /// command.
    #[cfg(target_os = "linux")]
    pub fn direct_command(
        &self,
        program: &OsString,
        arguments: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Command {
        let usual = self.command(program, arguments, cwd, environment);
        self.without_outer_helper(&usual, cwd).unwrap_or(usual)
    }

    #[cfg(target_os = "linux")]
    fn without_outer_helper(&self, usual: &Command, cwd: &Path) -> Option<Command> {
        if self.level != ConfinementLevel::Bubblewrap {
            return None;
        }
        let outer = self.bubblewrap.clone()?;
        // The helper may be another program than the running one.
        let helper = match self.helper.to_str() {
            Some("/proc/self/exe") => launch::this_program().ok()?,
            _ => self.helper.clone(),
        };
        if !helper.is_absolute() || !descriptors::inherited().is_empty() {
            return None;
        }
        let roots = roots::plan(&self.confinement).ok()?;
        covers::create(&roots);
        let mut arguments = bubblewrap::arguments(self, &roots, &helper, cwd);
        arguments.extend([helper.into(), HELPER_ARGUMENT.into(), launch::INSIDE.into()]);
        // The arguments that the outer helper would get, after its own first one.
        arguments.extend(usual.arguments.iter().skip(1).cloned());
        let environment = usual.environment.clone();
        Some(Command { program: outer.into(), arguments, environment })
    }
}
