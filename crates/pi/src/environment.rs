//! The world as the process finds it, read once and passed down.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pi_coding_agent::Environment;

/// Reads it. Fails if there is no working directory: everything that follows depends on it.
pub(crate) fn read() -> Result<Environment, String> {
    let cwd = std::env::current_dir().map_err(|error| {
        format!("cannot find the working directory ({error}); go to one that exists")
    })?;
    let variables = std::env::vars_os();
    let text = |value: OsString| value.into_string().ok();
    let variables: BTreeMap<String, String> =
        variables.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
    let agent_directory = agent_directory()?;
    Ok(Environment {
        agent_directory: cwd.join(agent_directory),
        cwd,
        home: home(),
        variables: Arc::new(variables),
    })
}

/// Where the user's settings, credentials and sessions are.
pub(crate) fn agent_directory() -> Result<PathBuf, String> {
    match std::env::var_os("PI_CODING_AGENT_DIR").filter(|value| !value.is_empty()) {
        Some(directory) => Ok(match (directory.to_str(), home()) {
            (Some("~"), Some(home)) => home,
            (Some(text), Some(home)) if text.starts_with("~/") => home.join(&text[2..]),
            _ => directory.into(),
        }),
        None => home().map(|home| home.join(".pi").join("agent")).ok_or_else(|| {
            "there is no home directory; set HOME or PI_CODING_AGENT_DIR".to_owned()
        }),
    }
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
