//! Values that all servers of the command line take: names of hosts, and files with tokens.

use pi_coding_agent::Environment;

/// The longest token.
const TOKEN: u64 = 4096;

/// The shortest token.
const SHORTEST_TOKEN: usize = 16;

/// Checks the name of a host. Requests are compared without their port.
pub(super) fn host(name: &str) -> Result<String, String> {
    if name.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(format!("[{name}]"));
    }
    let rest = name.rsplit_once(']').map_or(name, |(_, rest)| rest);
    match name.is_empty() || name.contains('/') || rest.contains(':') {
        true => Err(format!("--allow-host: expected a host name without a port, not \"{name}\"")),
        false => Ok(name.to_owned()),
    }
}

/// Reads a token. Returns it with a warning about its file.
pub(super) fn token(
    file: &str,
    environment: &Environment,
) -> Result<(String, Option<String>), String> {
    let path = environment.expand(file, &environment.cwd);
    let problem = |error: &dyn std::fmt::Display| format!("--token-file {file}: {error}");
    let metadata = std::fs::metadata(&path).map_err(|error| problem(&error))?;
    if metadata.len() > TOKEN {
        return Err(problem(&format_args!("it is longer than {TOKEN} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| problem(&error))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let expected = format!("a token has {SHORTEST_TOKEN} or more visible ASCII characters");
        return Err(problem(&expected));
    }
    let warning = is_open(&metadata)
        .then(|| format!("other users can read the token in {file}; run `chmod 600 {file}`"));
    Ok((token.to_owned(), warning))
}

/// Returns true if other users can read a file.
#[cfg(unix)]
fn is_open(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o044 != 0
}

#[cfg(not(unix))]
fn is_open(_: &std::fs::Metadata) -> bool {
    false
}
