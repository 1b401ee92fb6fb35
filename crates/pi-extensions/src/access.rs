//! Capabilities: what the JavaScript of one thread may reach outside the engine.
//!
//! Every native function that touches files, processes, the network or the environment asks here
//! first, sync and async forms by the same function. Capabilities belong to a thread, because code
//! in one realm shares all its objects: an extension with fewer rights runs on a thread of its own.
//!
//! The answer is a [`Permission`]: the value to work with, such as the real path of a file, and an
//! approval that may have to be waited for. A function that cannot wait blocks the thread of the
//! JavaScript, never the screen.

mod guarded;
mod limited;
mod path;
mod permission;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_base::process::{self, Variables};
use pi_coding_agent::guard::Guard;
use pi_guard::confine::Examination;

use crate::error::NativeError;
use guarded::Guarded;
pub use limited::{Grant, InvalidRights, Rights};
pub(crate) use path::Links;
pub(crate) use permission::{PendingApproval, Permission};

/// The rights of the JavaScript of one thread: those of a program of the user, unless something
/// limits them.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Limits that the settings of the user set.
    rights: Option<Arc<Rights>>,
    /// Limits that the guard of the session sets for its tools.
    guarded: Option<Guarded>,
}

/// The kind of an access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// Reading a file, listing a directory, looking at its properties.
    Read,
    /// Creating, changing or removing a file or directory.
    Write,
}

/// A program that JavaScript wants to start.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Search path of this program, which JavaScript cannot change.
    pub(crate) search: Option<String>,
    /// The examination of the program if it starts in the sandbox, once access was granted.
    pub(crate) confined: Option<Arc<Examination>>,
}

impl Launch {
    /// Returns the command that was allowed.
    pub(crate) fn command(&self) -> std::process::Command {
        let (directory, rights) = (Some(self.cwd.as_path()), process::Rights::Judged);
        let mut command = process::command(&self.program, directory, Variables::Empty, rights);
        command
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Access {
    /// Returns the rights of a program of the user, which pi's extensions have by default.
    pub fn trusted() -> Self {
        Self::default()
    }

    /// Returns rights that settings limit.
    pub fn limited(rights: Rights) -> Self {
        Self::trusted().within(rights)
    }

    /// Returns no rights at all.
    pub fn denied() -> Self {
        Self::limited(Rights::none())
    }

    /// Returns the rights that a guard gives to the tools of a session. Called within the runtime
    /// of the session, on which approvals are asked for.
    pub fn guarded(guard: Arc<Guard>) -> Self {
        Self { rights: None, guarded: Some(Guarded::new(guard)) }
    }

    /// Returns these rights, limited by settings too. No rights stay none.
    #[must_use]
    pub fn within(self, rights: Rights) -> Self {
        Self { rights: self.rights.or_else(|| Some(Arc::new(rights))), ..self }
    }

    /// Returns true if every access is allowed.
    pub(crate) fn is_trusted(&self) -> bool {
        self.rights.is_none() && self.guarded.is_none()
    }

    /// Sets the guard of the session that began, if a guard decides.
    pub(crate) fn set_guard(&self, guard: &Arc<Guard>) {
        if let Some(guarded) = &self.guarded {
            guarded.set(guard);
        }
    }

    /// Checks an access to a file by its absolute path. The permission has the path to use, without
    /// symbolic links if the access is restricted.
    pub(crate) fn file(
        &self,
        path: &Path,
        access: FileAccess,
        links: Links,
    ) -> Result<Permission<PathBuf>, NativeError> {
        if self.is_trusted() {
            return Ok(Permission::granted(path.to_owned()));
        }
        let mut real = path::real(path, links);
        if path::is_of_a_process(&real) {
            return Err(refused(&format!("{} belongs to a process", path.display())));
        }
        if let Some(rights) = &self.rights {
            real = rights.file(real, access)?;
        }
        match &self.guarded {
            None => Ok(Permission::granted(real)),
            Some(guarded) => guarded.file(real, access),
        }
    }

    /// Checks reading a file or listing a directory, of modules: what is imported is part of the
    /// extension that the user installed, so no approval is asked for.
    pub(crate) fn module(&self, path: &Path) -> Result<(), NativeError> {
        match &self.rights {
            None => Ok(()),
            Some(rights) => rights.module(&path::real(path, Links::Follow)),
        }
    }

    /// Checks reading a file, for callers that cannot wait: an approval that is needed is a refusal.
    pub(crate) fn read(&self, path: &Path) -> Result<(), NativeError> {
        self.file(path, FileAccess::Read, Links::Follow)?.at_once().map(drop)
    }

    /// Checks writing a file, like [`Self::read`].
    pub(crate) fn write(&self, path: &Path) -> Result<(), NativeError> {
        self.file(path, FileAccess::Write, Links::Follow)?.at_once().map(drop)
    }

    /// Checks starting a program. The permission has the program to start, which may be one that
    /// confines it.
    pub(crate) fn run(&self, mut launch: Launch) -> Result<Permission<Launch>, NativeError> {
        if let Some(rights) = &self.rights {
            launch = rights.run(launch)?;
        }
        match &self.guarded {
            None => Ok(Permission::granted(launch)),
            Some(guarded) => guarded.run(launch),
        }
    }

    /// Checks the program of an extension that is a program itself.
    pub(crate) fn extension_program(&self, program: &str) -> Result<(), NativeError> {
        // What the program does cannot be judged call by call.
        if self.guarded.is_some() {
            let message =
                "programs as extensions do not run in the profiles careful and unattended";
            return Err(NativeError::new(message));
        }
        self.rights.as_ref().map_or(Ok(()), |rights| rights.program(program))
    }

    /// Checks an effect on processes that JavaScript did not start, this one included.
    pub(crate) fn processes(&self) -> Result<(), NativeError> {
        if self.is_trusted() { Ok(()) } else { Err(refused("an effect on other processes")) }
    }

    /// Checks a connection to a host. Waits for an approval.
    pub(crate) fn connect(&self, host: &str, port: u16) -> Result<(), NativeError> {
        if let Some(rights) = &self.rights {
            rights.connect(host, port)?;
        }
        match &self.guarded {
            None => Ok(()),
            Some(guarded) => guarded.connect(host)?.wait(),
        }
    }

    /// Checks listening on a port, which is the right to reach it.
    pub(crate) fn listen(&self, host: &str, port: u16) -> Result<(), NativeError> {
        self.connect(host, port)
    }

    /// Returns the variables of the environment that JavaScript may see.
    pub(crate) fn visible(
        &self,
        mut variables: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        if let Some(rights) = &self.rights {
            variables = rights.visible(variables);
        }
        match &self.guarded {
            None => variables,
            Some(_) => guarded::without_secrets(variables),
        }
    }
}

/// The error of an access that is not allowed, in the shape of one of the operating system.
fn refused(what: &str) -> NativeError {
    NativeError::new(format!("{what}: this extension is not allowed to do that"))
        .with("code", "ERR_ACCESS_DENIED")
}
