//! The environment of the process, read once and passed down.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::Environment;

/// Environment variable that sets the agent directory.
const AGENT: &str = "PI_CODING_AGENT_DIR";

/// Reads the environment. Fails if the working directory does not exist, since everything else
/// depends on it.
pub(crate) fn read() -> Result<Environment, String> {
    let cwd = std::env::current_dir().map_err(|error| {
        format!("cannot find the working directory: {error}; change to a directory that exists")
    })?;
    let variables = std::env::vars_os();
    let text = |value: OsString| value.into_string().ok();
    let variables: BTreeMap<String, String> =
        variables.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
    Ok(Environment {
        agent_directory: agent_directory(&cwd)?,
        cwd,
        home: home(),
        system_directory: Some(PathBuf::from("/etc/pi")),
        variables: Arc::new(variables),
    })
}

/// Returns the directory of the user's settings, credentials and sessions.
pub(crate) fn agent_directory(cwd: &Path) -> Result<PathBuf, String> {
    // It would count as unset otherwise, and a different directory would be used.
    if std::env::var_os(AGENT).is_some_and(|value| value.to_str().is_none()) {
        return Err(format!("{AGENT} is not valid UTF-8; set it to another directory"));
    }
    let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
    pi_config::agent_directory(&variable, home().as_deref(), cwd).map_err(|error| error.to_string())
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
