//! The host of extension files: their rights, and the process that they see.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use pi_coding_agent::config::settings::Profile;
use pi_coding_agent::guard::GuardPlan;
use pi_coding_agent::{AgentOptions, OpenExtension, load_guard, load_settings};
use pi_extensions::{
    Access, AccessRule, ExtensionAccess, ExtensionHost, HostOptions, Limits, ProcessOptions, Report,
};

use crate::exit::note;
#[cfg(feature = "screen")]
use crate::terminal_owner;

/// Returns the function that opens extension files. The host costs nothing until it is called. The
/// rights of extensions follow from these options: options that change later need a new function.
pub(super) fn opener(options: &AgentOptions) -> OpenExtension {
    let environment = &options.environment;
    let (cwd, directory) = (environment.cwd.clone(), environment.agent_directory.clone());
    let (host, access) = (OnceLock::new(), access_rule(options.clone()));
    let programs = pi_tools::Host::default().with_supervisor(options.supervisor.clone());
    Arc::new(move |source| {
        let host = host.get_or_init(|| {
            let options = HostOptions {
                limits: Limits::default(),
                process: process(&cwd),
                programs: programs.clone(),
                cache: Some(directory.join("cache/extensions")),
                reporter: Arc::new(report),
            };
            ExtensionHost::with_access(options, Arc::clone(&access))
        });
        host.open(source)
    })
}

/// Returns the rule for the rights of extensions: trusted code, as in pi, unless a profile
/// restricts the tools, within the limits of each package. Until the session has a guard of its
/// own, no one can approve anything.
fn access_rule(options: AgentOptions) -> AccessRule {
    let access = OnceLock::new();
    Arc::new(move |source| {
        let access = access.get_or_init(|| {
            let (settings, _) = load_settings(&options, None, &mut Vec::new());
            let plan = GuardPlan::new(settings.settings(), &options.environment);
            if plan.profile == Profile::Explore {
                return Access::trusted();
            }
            match load_guard(&options) {
                Ok(guard) => Access::guarded(Arc::new(guard)),
                // The session does not start for the same reason, and says so.
                Err(_) => Access::denied(),
            }
        });
        ExtensionAccess::of_package(access.clone(), source, &options.environment)
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
