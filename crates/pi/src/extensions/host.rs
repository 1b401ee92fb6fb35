//! The host of extension files: their rights, and the process that they see.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use pi_coding_agent::guard::GuardPlan;
use pi_coding_agent::{AgentOptions, OpenExtension, load_guard};
use pi_config::settings::Profile;
use pi_extensions::{
    Access, AccessRule, ExtensionAccess, ExtensionHost, HostOptions, Limits, ProcessOptions, Report,
};

use crate::exit::note;
#[cfg(feature = "screen")]
use crate::terminal_owner;

/// Returns a function that opens extension files, all of them in one host. The host costs nothing
/// until the first call, and the rights of extensions follow from the options of that call.
pub(super) fn opener() -> OpenExtension {
    let host = OnceLock::new();
    Arc::new(move |source, options| host.get_or_init(|| open_host(options)).open(source))
}

fn open_host(options: &AgentOptions) -> ExtensionHost {
    let environment = options.environment();
    let host = HostOptions {
        limits: Limits::default(),
        process: process(&environment.cwd),
        programs: pi_tools::Host::default().with_supervisor(options.tools.supervisor.clone()),
        cache: Some(environment.agent_directory.join("cache/extensions")),
        reporter: Arc::new(report),
    };
    // Without the extensions of the options and what opens them, which would keep the host alive.
    let mut guarded = AgentOptions::in_project(options.project.clone());
    guarded.tools.supervisor.clone_from(&options.tools.supervisor);
    guarded.guard.approver.clone_from(&options.guard.approver);
    guarded.guard.approvals = options.guard.approvals.clone();
    guarded.guard.checkpoints = options.guard.checkpoints;
    ExtensionHost::with_access(host, access_rule(guarded))
}

/// Returns the rule for the rights of extensions: trusted code, as in pi, unless a profile
/// restricts the tools, within the limits of each package. Until the session has a guard of its
/// own, no one can approve anything.
fn access_rule(options: AgentOptions) -> AccessRule {
    let access = OnceLock::new();
    Arc::new(move |source| {
        let access = access.get_or_init(|| {
            let plan = GuardPlan::new(options.project.settings(), options.environment());
            if plan.profile == Profile::Explore {
                return Access::trusted();
            }
            match load_guard(&options) {
                Ok(guard) => Access::guarded(Arc::new(guard)),
                // The session does not start for the same reason, and says so.
                Err(_) => Access::denied(),
            }
        });
        ExtensionAccess::of_package(access.clone(), source, options.environment())
    })
}

/// Returns the process that extensions see: this one.
pub(crate) fn process(cwd: &Path) -> ProcessOptions {
    let mut process = ProcessOptions::new(cwd);
    #[cfg(feature = "screen")]
    {
        process.output = Arc::new(terminal_owner::write);
        process.inherited = Arc::new(terminal_owner::inherited);
        process.terminal = Arc::new(terminal_owner::size);
    }
    let text = |text: OsString| text.into_string().ok();
    let variables = std::env::vars_os();
    process.variables =
        variables.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
    process.arguments = std::env::args_os().skip(1).filter_map(text).collect();
    if let Ok(executable) = std::env::current_exe() {
        process.executable = executable;
    }
    process
}

/// Reports an error that no call returned: in the session, or on stderr if there is none.
#[allow(clippy::needless_pass_by_value)] // The type of a reporter.
fn report(report: Report) {
    if report.send_to_session() {
        return;
    }
    let Report { extension, error, .. } = report;
    match extension {
        Some(path) => note(&format!("Extension error ({path}): {error}")),
        None => note(&format!("Extension error: {error}")),
    }
}
