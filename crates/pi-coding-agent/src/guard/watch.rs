//! Rules and the profile at the moment a program starts: the judge of the programs that commands of a session
//! start, created when it is first needed.

use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::{Arc, RwLock};

use pi_guard::Decision;
use pi_guard::confine::Confined;
#[cfg(target_os = "linux")]
use pi_guard::confine::{
    Confinement, ConfinementLevel, ExecWatch, FileUse, Machine, Mode, Network, Observed, Observer,
    Observing, Tracing,
};
use pi_guard::policy::{Part, Policy};
use pi_guard::shell;

#[cfg(target_os = "linux")]
use super::directory::SandboxDirectory;
#[cfg(target_os = "linux")]
use super::{AgentChange, ChangeObserver};
use super::{Approvals, Guard, GuardPlan};
use crate::Environment;

/// The rules that count for the programs that a command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watching {
    /// Rules that ask or forbid: no one has approved the command.
    Unapproved,
    /// Rules that forbid.
    Approved,
    /// Rules that ask or forbid, also for the first program, which is not a shell of our own.
    WithFirst,
    /// None: the command raises its privileges, which a watched one cannot.
    Off,
}

/// The judge of a session.
pub(super) struct Watcher {
    /// A rule asks about a command or forbids one, the profile refuses destruction, or the use of
    /// files is traced, and commands run on this machine.
    is_wanted: bool,
    #[cfg(target_os = "linux")]
    parts: Parts,
    #[cfg(target_os = "linux")]
    started: OnceLock<Result<Started, String>>,
}

/// Parts of the judge.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
struct Parts {
    policy: Arc<RwLock<Policy>>,
    approvals: Approvals,
    environment: Environment,
    plan: GuardPlan,
}

/// A judge at work. Its socket is removed before the directory.
#[cfg(target_os = "linux")]
struct Started {
    watch: ExecWatch,
    directory: SandboxDirectory,
}

impl Watcher {
    pub(super) fn new(
        plan: &GuardPlan,
        policy: &Arc<RwLock<Policy>>,
        approvals: &Approvals,
        environment: &Environment,
    ) -> Self {
        let is_observed = plan.tracing.is_some() || plan.changes.is_some();
        let has_task = super::read(policy).restricts_programs() || is_observed;
        #[cfg(not(target_os = "linux"))]
        let _ = (approvals, environment);
        Self {
            is_wanted: plan.is_local && has_task,
            #[cfg(target_os = "linux")]
            parts: Parts {
                policy: Arc::clone(policy),
                approvals: approvals.clone(),
                environment: environment.clone(),
                plan: plan.clone(),
            },
            #[cfg(target_os = "linux")]
            started: OnceLock::new(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Watcher {
    pub(super) fn is_active(&self) -> bool {
        false
    }

    pub(super) fn problem(&self) -> Option<&str> {
        self.is_wanted.then_some("this operating system does not report them")
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        None
    }

    pub(super) fn remove_directory(&self) {}

    pub(super) fn apply(
        &self,
        confined: Option<Arc<Confined>>,
        _: Watching,
        _: Option<PathBuf>,
    ) -> Option<Arc<Confined>> {
        confined
    }

    pub(super) fn take_refused(&self) -> Vec<Part> {
        Vec::new()
    }
}

#[cfg(target_os = "linux")]
impl Watcher {
    /// Returns true if programs are judged when they start.
    pub(super) fn is_active(&self) -> bool {
        self.started().is_some()
    }

    /// Returns the reason why programs are not judged although there are rules.
    pub(super) fn problem(&self) -> Option<&str> {
        self.started();
        self.started.get()?.as_ref().err().map(String::as_str)
    }

    /// Returns the directory of the judge, which commands must not change.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.started().map(|started| started.directory.path())
    }

    /// Removes the directory of a judge that was started, when no command follows.
    pub(super) fn remove_directory(&self) {
        if let Some(Ok(started)) = self.started.get() {
            started.directory.remove();
        }
    }

    /// Adds the judge to the confinement of a command, or to a command without one, which `helper`
    /// starts then.
    pub(super) fn apply(
        &self,
        confined: Option<Arc<Confined>>,
        watching: Watching,
        helper: Option<PathBuf>,
    ) -> Option<Arc<Confined>> {
        if watching == Watching::Off {
            return confined;
        }
        let Some(started) = self.started() else { return confined };
        let mut watch = started.watch.watch().approved(watching == Watching::Approved);
        if watching != Watching::WithFirst {
            watch = watch.own_start();
        }
        let is_confined = |confined: &Arc<Confined>| confined.level() > ConfinementLevel::None;
        if let Some(confined) = confined.as_ref().filter(|confined| is_confined(confined)) {
            return Some(Arc::new((**confined).clone().with_watch(watch)));
        }
        let Some(helper) = helper else { return confined };
        let off = Confinement::new(Mode::Off, Network::On);
        let off = off.prepare(&Machine::default(), ConfinementLevel::None, helper).ok()?;
        Some(Arc::new(off.with_watch(watch)))
    }

    /// Returns the programs that were refused since the last call of this method.
    pub(super) fn take_refused(&self) -> Vec<Part> {
        let started = self.started.get().and_then(|started| started.as_ref().ok());
        started.map(|started| started.watch.take_refused()).unwrap_or_default()
    }

    fn started(&self) -> Option<&Started> {
        if !self.is_wanted {
            return None;
        }
        self.started.get_or_init(|| self.parts.start()).as_ref().ok()
    }
}

#[cfg(target_os = "linux")]
impl Parts {
    fn start(&self) -> Result<Started, String> {
        use pi_guard::policy::PolicyContext;
        use pi_tools::checkpoint::{Limits, uncovered};

        use super::{absolute_name, program_files};

        if let Some(problem) = pi_guard::confine::exec_watch_problem() {
            return Err(problem);
        }
        let files = program_files(&self.environment, &self.plan);
        let named = |name: &str| files.named(&absolute_name(&self.environment, name));
        let programs = super::read(&self.policy).restricted_programs(&named);
        let (policy, approvals) = (Arc::clone(&self.policy), self.approvals.clone());
        // Processes have no links in the paths of their directories.
        let cwd = super::real_path(&self.environment.cwd);
        let (home, is_disposable) = (self.environment.home.clone(), self.plan.is_disposable);
        let filter = Arc::new(move |exec: &pi_guard::policy::Exec<'_>, approved: bool| {
            let lost = |path: &Path| uncovered(&cwd, path, Limits::default().file_bytes);
            let context = PolicyContext::new(&cwd).with_home(home.as_deref());
            let context = context.with_disposable(is_disposable).with_uncovered_files(&lost);
            let part = super::read(&policy).check_exec(exec, &context)?;
            let may_be_approved = part.decision == Decision::Ask;
            let is_approved = may_be_approved && (approved || approvals.covers(&part.scope));
            (!is_approved).then_some(part)
        });
        let directory = SandboxDirectory::new(&self.environment.temporary());
        let directory = directory.map_err(|error| error.to_string())?;
        let changes = || self.plan.changes.clone().map(observer_of_changes);
        let observer = self.plan.tracing.clone().map(observer_of_uses).or_else(changes);
        let watch = ExecWatch::start(&directory.private(), programs, files, filter, observer);
        let watch = watch.map_err(|error| error.to_string())?;
        Ok(Started { watch, directory })
    }
}

/// Returns an observer that passes on what commands change.
#[cfg(target_os = "linux")]
fn observer_of_changes(changes: ChangeObserver) -> Observer {
    Observer::new(Observing::Changes, move |observed| {
        if let Observed::Change { paths, is_move } = observed {
            changes.observe(AgentChange::Paths { paths: &paths, is_move });
        }
    })
}

/// Returns an observer that collects a trace.
#[cfg(target_os = "linux")]
fn observer_of_uses(tracing: Tracing) -> Observer {
    Observer::new(Observing::Uses, move |observed| match observed {
        Observed::File { path, use_of: FileUse::Read, program } => {
            tracing.note_file(path, true, program);
        }
        Observed::File { path, use_of: FileUse::Look, .. } => {
            tracing.note_file(path, false, || None);
        }
        Observed::Program { path, cwd, arguments, lineage } => {
            tracing.note_program(&path, &cwd, &arguments(), &lineage());
        }
        _ => {}
    })
}

impl Guard {
    /// Returns the rules that count for the programs that scripts start. Without the sandbox, those
    /// of a script that raises its privileges are judged by its text alone: an ordinary user can
    /// have one or the other.
    pub(super) fn watching(&self, scripts: &[String], approved: bool, confined: bool) -> Watching {
        let raises = |script: &String| shell::analyze(script).raises_privileges();
        if !confined && !is_privileged() && scripts.iter().any(raises) {
            Watching::Off
        } else if approved {
            Watching::Approved
        } else {
            Watching::Unapproved
        }
    }

    /// Examines what the commands of the session left, after the last one, and removes the covers and
    /// the directories of the sandbox. Returns what was found since the last examination and everything dangerous.
    pub fn finish_sandbox(&self) -> pi_tools::Aftermath {
        let aftermath = self.sandbox.finish();
        self.sandbox.remove_directories();
        aftermath
    }

    /// Returns the programs that rules refused to commands since the last call of this method.
    pub fn take_refused_programs(&self) -> Vec<Part> {
        self.sandbox.watcher().take_refused()
    }
}

fn is_privileged() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    false
}

/// Describes refused programs and what refused them; `None` without any.
pub(crate) fn describe(refused: &[Part]) -> Option<String> {
    /// The most programs that are named.
    const MOST: usize = 5;
    let line = |part: &Part| {
        let rule = part.rule.as_deref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let why = match part.decision {
            Decision::Ask => "needs approval",
            Decision::Allow | Decision::Forbid => "is not allowed",
        };
        format!("`{}` {why} and was not run: {}{rule}", part.what, part.reason)
    };
    let mut lines: Vec<String> = refused.iter().take(MOST).map(line).collect();
    if refused.len() > MOST {
        lines.push(format!("{} other programs were not run", refused.len() - MOST));
    }
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Describes refused programs to the model, with advice.
pub(super) fn note(refused: &[Part]) -> Option<String> {
    let advice = if refused.iter().any(|part| part.decision == Decision::Ask) {
        "Run what needs approval as a command of its own, or continue without it."
    } else {
        "Do not work around this: continue without it, or tell the user."
    };
    describe(refused).map(|text| format!("[{text}. {advice}]"))
}
