//! The host of extension files in this program.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use pi_coding_agent::{Environment, OpenExtension};
use pi_extensions::{ExtensionHost, HostOptions, Limits, ProcessOptions, Report};

use crate::exit::note;

/// Returns the function that opens extension files. The host costs nothing until it is called.
pub(crate) fn opener(environment: &Environment) -> OpenExtension {
    let (cwd, directory) = (environment.cwd.clone(), environment.agent_directory.clone());
    let host = OnceLock::new();
    Arc::new(move |source| {
        let host = host.get_or_init(|| {
            ExtensionHost::new(HostOptions {
                limits: Limits::default(),
                process: process(&cwd),
                cache: Some(directory.join("cache/extensions")),
                reporter: Arc::new(report),
            })
        });
        host.open(source)
    })
}

/// Returns the process that extensions see: this one.
pub(crate) fn process(cwd: &Path) -> ProcessOptions {
    let mut process = ProcessOptions::new(cwd);
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
