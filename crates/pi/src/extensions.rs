//! The extensions of this program: those that are built in, and the host of extension files.

#[cfg(feature = "extensions")]
mod host;

#[cfg(feature = "converge")]
use pi_coding_agent::AgentOptions;
use pi_coding_agent::{BuiltinExtension, Environment, OpenExtension, tool_search};

#[cfg(feature = "extensions")]
pub(crate) use host::process;

/// Returns a function that opens extension files, if this build has their host.
pub(crate) fn opener() -> Option<OpenExtension> {
    #[cfg(feature = "extensions")]
    return Some(host::opener());
    #[cfg(not(feature = "extensions"))]
    return None;
}

/// Returns a function that opens extension files with the rights of these options, for sessions with
/// any options.
#[cfg(feature = "converge")]
pub(crate) fn opener_with(options: AgentOptions) -> Option<OpenExtension> {
    let open = opener()?;
    Some(std::sync::Arc::new(move |source, _| open(source, &options)))
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
