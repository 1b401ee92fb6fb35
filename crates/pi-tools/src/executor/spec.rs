//! Names of executors as users write them: `local`, `ssh:HOST:DIR`, `docker:NAME`.

use std::fmt;
use std::str::FromStr;

/// The machine or container on which the tools work.
///
/// [`FromStr`] accepts `local`, `ssh:[USER@]HOST[:DIR]`, `docker:NAME[:DIR]` and
/// `podman:NAME[:DIR]`; [`Display`](fmt::Display) prints the same form. An IPv6 address is written
/// in brackets: `ssh:user@[::1]:/srv`. Here, `host` has no brackets.
///
/// A relative directory is relative to the directory in which a shell starts there: the home
/// directory over SSH, the working directory of the image in a container. A leading `~` is the
/// home directory. Without a directory, the tools work where a shell starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // The comment above covers the fields.
pub enum ExecutorSpec {
    /// The machine on which this program runs.
    #[default]
    Local,
    /// Another machine, reached with the user's `ssh` and its configuration.
    Ssh { host: String, directory: Option<String> },
    /// A running container of Docker, by name or id.
    Docker { container: String, directory: Option<String> },
    /// A running container of Podman, by name or id.
    Podman { container: String, directory: Option<String> },
}

/// A text that names no executor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid executor {value:?}: {reason}; expected local, ssh:[USER@]HOST[:DIR], docker:NAME[:DIR] or podman:NAME[:DIR]"
)]
pub struct ParseExecutorError {
    value: String,
    reason: &'static str,
}

impl FromStr for ExecutorSpec {
    type Err = ParseExecutorError;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        let parsed = match value.split_once(':') {
            None if value == "local" => Ok(Self::Local),
            Some(("ssh", rest)) => {
                target(rest).map(|(host, directory)| Self::Ssh { host, directory })
            }
            Some(("docker", rest)) => {
                name(rest).map(|(container, directory)| Self::Docker { container, directory })
            }
            Some(("podman", rest)) => {
                name(rest).map(|(container, directory)| Self::Podman { container, directory })
            }
            _ => Err("unknown kind"),
        };
        parsed.map_err(|reason| ParseExecutorError { value: value.to_owned(), reason })
    }
}

type Parsed = Result<(String, Option<String>), &'static str>;

/// Parses `[USER@]HOST[:DIR]`, where HOST may be an address in brackets.
fn target(text: &str) -> Parsed {
    let bracket = text.find('[').filter(|at| *at == 0 || text[..*at].ends_with('@'));
    let Some(open) = bracket.filter(|at| !text[..*at].contains(':')) else {
        let (host, directory) = name(text)?;
        if host.starts_with('@') || host.ends_with('@') {
            return Err("the user or the host is empty");
        }
        return Ok((host, directory));
    };
    let (user, rest) = text.split_at(open);
    let (address, rest) = rest[1..].split_once(']').ok_or("the bracket is not closed")?;
    check(address)?;
    if user == "@" || address.contains('@') {
        return Err("the user or the host is empty");
    }
    if !user.is_empty() {
        check(&user[..user.len() - 1])?;
    }
    let directory = match rest.split_once(':') {
        None if rest.is_empty() => None,
        Some(("", directory)) => Some(check_directory(directory)?),
        _ => return Err("the bracket must be followed by a colon and a directory"),
    };
    Ok((format!("{user}{address}"), directory))
}

/// Parses `NAME[:DIR]`.
fn name(text: &str) -> Parsed {
    let (name, directory) = match text.split_once(':') {
        Some((name, directory)) => (name, Some(check_directory(directory)?)),
        None => (text, None),
    };
    check(name)?;
    Ok((name.to_owned(), directory))
}

/// Refuses names that another program would not take for a name.
fn check(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("the name is empty");
    }
    if name.starts_with('-') {
        return Err("a name must not begin with a hyphen");
    }
    let is_invalid = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']');
    if name.contains(is_invalid) {
        return Err("a name must not contain spaces, control characters or brackets");
    }
    Ok(())
}

fn check_directory(directory: &str) -> Result<String, &'static str> {
    match directory {
        "" => Err("the directory is empty"),
        _ if directory.contains('\0') => Err("a directory must not contain a zero character"),
        _ => Ok(directory.to_owned()),
    }
}

/// A remote executor, and the program that connects to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemoteTarget<'a> {
    pub(super) program: &'static str,
    pub(super) name: &'a str,
    pub(super) directory: Option<&'a str>,
}

impl ExecutorSpec {
    /// Returns the parts of a remote executor; `None` for this machine.
    pub(super) fn remote(&self) -> Option<RemoteTarget<'_>> {
        let (program, name, directory) = match self {
            Self::Local => return None,
            Self::Ssh { host, directory } => ("ssh", host, directory),
            Self::Docker { container, directory } => ("docker", container, directory),
            Self::Podman { container, directory } => ("podman", container, directory),
        };
        Some(RemoteTarget { program, name, directory: directory.as_deref() })
    }
}

impl fmt::Display for ExecutorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(RemoteTarget { program, name, directory }) = self.remote() else {
            return f.write_str("local");
        };
        match name.rsplit_once('@') {
            _ if !name.contains(':') => write!(f, "{program}:{name}")?,
            Some((user, address)) => write!(f, "{program}:{user}@[{address}]")?,
            None => write!(f, "{program}:[{name}]")?,
        }
        match directory {
            Some(directory) => write!(f, ":{directory}"),
            None => Ok(()),
        }
    }
}
