//! The extensions of this program: those that are built in, and the host of extension files.

#[cfg(feature = "extensions")]
mod host;

use pi_coding_agent::{AgentOptions, BuiltinExtension, Environment, OpenExtension, tool_search};

#[cfg(feature = "extensions")]
pub(crate) use host::process;

/// Returns the function that opens extension files, if this build has their host.
pub(crate) fn opener(options: &AgentOptions) -> Option<OpenExtension> {
    #[cfg(feature = "extensions")]
    return Some(host::opener(options));
    #[cfg(not(feature = "extensions"))]
    return None;
}

/// Returns the built-in extensions. They cost nothing until one of their tools is called.
pub(crate) fn builtins(environment: &Environment) -> Vec<BuiltinExtension> {
    let workers = environment.variable("PI_CODEMODE_MAX_WORKERS").map(str::to_owned);
    Vec::from([
        #[cfg(feature = "mcp")]
        pi_mcp_host::builtin(),
        #[cfg(feature = "extensions")]
        pi_extensions::codemode::builtin(workers),
        tool_search::builtin(),
    ])
}
