//! Rights that settings give to one package.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::{FileAccess, Launch, refused};
use crate::error::NativeError;

/// One kind of rights in the settings: everything, nothing, or a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Grant {
    /// Everything or nothing.
    All(bool),
    /// Files by patterns, programs, hosts or variables by name.
    Only(Vec<String>),
}

impl Default for Grant {
    fn default() -> Self {
        Self::All(true)
    }
}

/// Rights as settings write them. A kind that is left out is not limited.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    read: Grant,
    write: Grant,
    run: Grant,
    net: Grant,
    env: Grant,
}

/// An error in the rights of a package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRights {
    /// The value is not an object of grants.
    #[error("invalid rights: {0}; expected read, write, run, net, env: true, false or a list")]
    Value(#[from] serde_json::Error),
    /// A pattern of files is invalid.
    #[error("invalid pattern of files: {0}")]
    Pattern(#[from] globset::Error),
    /// The runtime is none that there is.
    #[error("invalid runtime: {0}; expected \"own\"")]
    Runtime(serde_json::Value),
}

/// The rights of one package.
///
/// A program that may be started has all the rights of the user: `run` should name few.
#[derive(Debug, Clone)]
pub struct Rights {
    read: Files,
    write: Files,
    run: Grant,
    net: Grant,
    env: Grant,
    /// The package itself, which it may always read.
    package: PathBuf,
}

#[derive(Debug, Clone)]
enum Files {
    All(bool),
    Only(GlobSet),
}

impl Rights {
    /// Reads the rights of a package from the settings: `read`, `write`, `run`, `net` and `env`,
    /// each `true`, `false` or a list. Patterns of files are relative to `cwd`; `~` is `home`.
    pub fn from_json(
        value: &serde_json::Value,
        package: &Path,
        cwd: &Path,
        home: Option<&Path>,
    ) -> Result<Self, InvalidRights> {
        let written = Written::deserialize(value)?;
        let files = |grant: Grant| -> Result<Files, InvalidRights> {
            let patterns = match grant {
                Grant::All(all) => return Ok(Files::All(all)),
                Grant::Only(patterns) => patterns,
            };
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                for pattern in expand(&pattern, cwd, home) {
                    set.add(GlobBuilder::new(&pattern).literal_separator(true).build()?);
                }
            }
            Ok(Files::Only(set.build()?))
        };
        Ok(Self {
            read: files(written.read)?,
            write: files(written.write)?,
            run: written.run,
            net: written.net,
            env: written.env,
            package: package.canonicalize().unwrap_or_else(|_| package.to_owned()),
        })
    }

    /// Returns no rights at all.
    pub(super) fn none() -> Self {
        let none = Grant::All(false);
        Self {
            read: Files::All(false),
            write: Files::All(false),
            run: none.clone(),
            net: none.clone(),
            env: none,
            package: PathBuf::from("/dev/null"),
        }
    }

    /// Checks a real path.
    pub(super) fn file(&self, real: PathBuf, access: FileAccess) -> Result<PathBuf, NativeError> {
        let allowed = match access {
            FileAccess::Read => real.starts_with(&self.package) || matches(&self.read, &real),
            FileAccess::Write => matches(&self.write, &real),
        };
        if allowed {
            return Ok(real);
        }
        let verb = if access == FileAccess::Read { "read" } else { "write" };
        Err(refused(&format!("{verb} {}", real.display())))
    }

    /// Checks the file of a module.
    pub(super) fn module(&self, real: &Path) -> Result<(), NativeError> {
        self.file(real.to_owned(), FileAccess::Read).map(drop)
    }

    /// Checks a program, by the name that it is started with. A bare name means the program on the
    /// search path of this program, not on one that JavaScript sets.
    pub(super) fn run(&self, mut launch: Launch) -> Result<Launch, NativeError> {
        let program = launch.program.to_string_lossy();
        self.program(&program)?;
        if !program.contains('/') {
            let search = launch.search.as_deref().unwrap_or_default();
            let mut found = search.split(':').map(|directory| Path::new(directory).join(&*program));
            if let Some(found) = found.find(|path| path.is_absolute() && path.is_file()) {
                launch.program = found.into_os_string();
            }
        }
        Ok(launch)
    }

    /// Checks the name of a program.
    pub(super) fn program(&self, program: &str) -> Result<(), NativeError> {
        check(&self.run, "run", program, |name| name == program)
    }

    pub(super) fn connect(&self, host: &str, port: u16) -> Result<(), NativeError> {
        let with_port = format!("{host}:{port}");
        check(&self.net, "connect to", &with_port, |name| {
            name == with_port
                || pi_guard::confine::host_matches(std::slice::from_ref(&name.to_owned()), host)
        })
    }

    pub(super) fn visible(&self, variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
        match &self.env {
            Grant::All(true) => variables,
            Grant::All(false) => BTreeMap::new(),
            Grant::Only(names) => {
                variables.into_iter().filter(|(name, _)| names.contains(name)).collect()
            }
        }
    }
}

fn check(
    grant: &Grant,
    verb: &str,
    what: &str,
    is: impl Fn(&str) -> bool,
) -> Result<(), NativeError> {
    let allowed = match grant {
        Grant::All(all) => *all,
        Grant::Only(names) => names.iter().any(|name| is(name)),
    };
    if allowed { Ok(()) } else { Err(refused(&format!("{verb} {what}"))) }
}

fn matches(files: &Files, real: &Path) -> bool {
    match files {
        Files::All(all) => *all,
        Files::Only(set) => set.is_match(real),
    }
}

/// Returns the absolute patterns of a pattern: of what it names, and of everything below it. The
/// directory of a pattern may be a link; the files that are checked have none.
fn expand(pattern: &str, cwd: &Path, home: Option<&Path>) -> Vec<String> {
    let absolute = match (pattern.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if pattern == "~" => home.unwrap_or(cwd).to_owned(),
        _ => cwd.join(pattern),
    };
    let literal: PathBuf = absolute
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']))
        .collect();
    let rest = absolute.strip_prefix(&literal).map(Path::to_owned).unwrap_or_default();
    let real = super::path::real(&literal, super::Links::Follow);
    // The literal part may contain characters that are special in patterns.
    let real = globset::escape(&real.to_string_lossy());
    let whole = match rest.as_os_str().is_empty() {
        true => real,
        false => format!("{}/{}", real.trim_end_matches('/'), rest.display()),
    };
    let below = format!("{}/**", whole.trim_end_matches('/'));
    vec![whole, below]
}
