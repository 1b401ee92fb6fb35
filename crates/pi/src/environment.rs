//! The world as the process finds it, read once and passed down.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::{Environment, config};

/// The variable that names the agent's directory.
const AGENT: &str = "PI_CODING_AGENT_DIR";

/// Reads it. Fails if there is no working directory: everything that follows depends on it.
pub(crate) fn read() -> Result<Environment, String> {
    let cwd = std::env::current_dir().map_err(|error| {
        format!("cannot find the working directory ({error}); go to one that exists")
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

/// Where the user's settings, credentials and sessions are.
pub(crate) fn agent_directory(cwd: &Path) -> Result<PathBuf, String> {
    // Otherwise it would count as not set, and everything would be in another place.
    if std::env::var_os(AGENT).is_some_and(|value| value.to_str().is_none()) {
        return Err(format!("{AGENT} is not valid UTF-8; name another directory"));
    }
    let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
    config::agent_directory(&variable, home().as_deref(), cwd).map_err(|error| error.to_string())
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
