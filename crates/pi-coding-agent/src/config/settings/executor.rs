//! The setting `executor`: the machine or container in which tools work.
//!
//! An invalid value is an error and not ignored: a misspelled name must not mean this machine.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The machine or container in which tools work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutorSetting {
    /// This machine.
    #[default]
    Local,
    /// Another machine.
    Ssh {
        /// Host as `ssh` takes it, for example `user@host`.
        host: String,
        /// Working directory on that machine; `None` for the login directory.
        directory: Option<String>,
    },
    /// A running container of Docker.
    Docker {
        /// Name or id of the container.
        name: String,
    },
    /// A running container of Podman.
    Podman {
        /// Name or id of the container.
        name: String,
    },
}

/// A text that names no executor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid executor \"{0}\": expected local, ssh:HOST, ssh:HOST:DIR, docker:NAME or podman:NAME"
)]
pub struct InvalidExecutor(String);

impl FromStr for ExecutorSetting {
    type Err = InvalidExecutor;

    fn from_str(text: &str) -> Result<Self, InvalidExecutor> {
        let invalid = || InvalidExecutor(text.to_owned());
        if text == "local" {
            return Ok(Self::Local);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(invalid)?;
        let name = |name: &str| {
            if is_name(name) { Ok(name.to_owned()) } else { Err(invalid()) }
        };
        match kind {
            "ssh" => {
                let (host, directory) = split_host(rest);
                let directory = directory.filter(|directory| !directory.is_empty());
                Ok(Self::Ssh { host: name(host)?, directory: directory.map(str::to_owned) })
            }
            "docker" => Ok(Self::Docker { name: name(rest)? }),
            "podman" => Ok(Self::Podman { name: name(rest)? }),
            _ => Err(invalid()),
        }
    }
}

/// Splits `HOST:DIR`. The colons of an IPv6 address in brackets belong to the host.
fn split_host(text: &str) -> (&str, Option<&str>) {
    let from = text.find(']').unwrap_or(0);
    match text[from..].find(':') {
        Some(at) => (&text[..from + at], Some(&text[from + at + 1..])),
        None => (text, None),
    }
}

/// Returns true if the text is a name and not an option of the program that receives it.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

impl fmt::Display for ExecutorSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Ssh { host, directory: None } => write!(f, "ssh:{host}"),
            Self::Ssh { host, directory: Some(directory) } => write!(f, "ssh:{host}:{directory}"),
            Self::Docker { name } => write!(f, "docker:{name}"),
            Self::Podman { name } => write!(f, "podman:{name}"),
        }
    }
}

impl<'de> Deserialize<'de> for ExecutorSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for ExecutorSetting {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Executor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = r"^(local|ssh:[^-\s].*|(docker|podman):[^-\s]\S*)$";
        json_schema!({ "type": "string", "pattern": pattern })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_are_parsed_and_displayed() {
        let ssh = |host: &str, directory: Option<&str>| ExecutorSetting::Ssh {
            host: host.to_owned(),
            directory: directory.map(str::to_owned),
        };
        for (text, expected) in [
            ("local", ExecutorSetting::Local),
            ("ssh:host", ssh("host", None)),
            ("ssh:user@host:/work", ssh("user@host", Some("/work"))),
            ("ssh:host:a:b", ssh("host", Some("a:b"))),
            ("ssh:[::1]:~/work", ssh("[::1]", Some("~/work"))),
            ("docker:box", ExecutorSetting::Docker { name: "box".to_owned() }),
            ("podman:box", ExecutorSetting::Podman { name: "box".to_owned() }),
        ] {
            let parsed: ExecutorSetting = text.parse().unwrap();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.to_string(), text);
        }
        assert_eq!("ssh:host:".parse(), Ok(ssh("host", None)));
        for text in [
            "",
            "Local",
            "ssh",
            "ssh:",
            "ssh::/x",
            "ssh:-oProxyCommand=x",
            "docker:a b",
            "docker:",
            "vm:x",
        ] {
            let error = text.parse::<ExecutorSetting>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid executor \"{text}\"")), "{error}");
        }
    }
}
