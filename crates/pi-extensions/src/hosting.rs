//! The host of a program: a thread, and the extensions on it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::Environment;
use pi_coding_agent::extension::ExtensionError;
use pi_config::resources::SourceInfo;

use crate::access::{Access, InvalidRights, Rights};
use crate::host::{ExtensionId, JsThread};
use crate::host_process::ProcessOptions;
use crate::limits::Limits;
use crate::report::Report;
use crate::thread::ThreadOptions;

/// Properties of a host.
#[derive(Clone)]
pub struct HostOptions {
    /// Limits of each runtime.
    pub limits: Limits,
    /// The process that extensions see.
    pub process: ProcessOptions,
    /// Starts extensions that are programs.
    pub programs: pi_tools::Host,
    /// Directory of compiled code; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// Receives errors that no call returns while there is no session, such as those of timers.
    pub reporter: Arc<dyn Fn(Report) + Send + Sync>,
}

pi_protocol::debug_fields!(HostOptions, limits);

/// Opens extension files. The extensions share one runtime, which starts with the first of them.
/// Clones are the same host.
#[derive(Debug, Clone)]
pub struct ExtensionHost(Arc<Shared>);

struct Shared {
    options: HostOptions,
    access: AccessRule,
    /// Threads by the directory of the package for which they are; the one that extensions share
    /// has none.
    threads: Mutex<BTreeMap<Option<PathBuf>, JsThread>>,
    next: AtomicU32,
}

/// The rights of an extension, and with whom it shares its runtime.
#[derive(Debug, Clone)]
pub enum ExtensionAccess {
    /// The runtime of all extensions that are not limited.
    Shared(Access),
    /// A runtime for its package alone.
    Own(Access),
}

/// Decides about the rights of extension files. Called when a file is loaded; with an error it is
/// not.
pub type AccessRule =
    Arc<dyn Fn(&SourceInfo) -> Result<ExtensionAccess, InvalidRights> + Send + Sync>;

impl ExtensionAccess {
    /// Returns the rights of an extension: those given, within what the settings say about its
    /// package.
    pub fn of_package(
        access: Access,
        source: &SourceInfo,
        environment: &Environment,
    ) -> Result<Self, InvalidRights> {
        let Some(limits) = &source.limits else { return Ok(Self::Shared(access)) };
        if let Some(runtime) = limits.runtime.as_ref().filter(|runtime| *runtime != "own") {
            return Err(InvalidRights::Runtime(runtime.clone()));
        }
        let Some(rights) = &limits.rights else { return Ok(Self::Own(access)) };
        let package = source.base_dir.as_deref().unwrap_or(&source.path);
        let (cwd, home) = (&environment.cwd, environment.home.as_deref());
        Ok(Self::Own(access.within(Rights::from_json(rights, package, cwd, home)?)))
    }
}

pi_protocol::debug_fields!(Shared, options);

impl ExtensionHost {
    /// Creates a host of trusted extensions. Nothing runs yet.
    pub fn new(options: HostOptions) -> Self {
        Self::with_access(options, Arc::new(|_| Ok(ExtensionAccess::Shared(Access::trusted()))))
    }

    /// Creates a host of extensions whose rights a rule decides.
    pub fn with_access(options: HostOptions, access: AccessRule) -> Self {
        let (threads, next) = (Mutex::default(), AtomicU32::new(1));
        Self(Arc::new(Shared { options, access, threads, next }))
    }

    /// Returns the thread of an extension file; the first call starts it. Called within the tokio
    /// runtime of the session.
    pub(crate) fn thread(&self, source: &SourceInfo) -> Result<JsThread, ExtensionError> {
        let mut threads = lock(&self.0.threads);
        let access = (self.0.access)(source).map_err(ExtensionError::with_source)?;
        let (package, access) = match access {
            ExtensionAccess::Shared(access) => (None, access),
            ExtensionAccess::Own(access) => {
                let directory = source.base_dir.as_ref().unwrap_or(&source.path);
                (Some(directory.clone()), access)
            }
        };
        if let Some(thread) = threads.get(&package) {
            return Ok(thread.clone());
        }
        let HostOptions { limits, process, cache, reporter, .. } = self.0.options.clone();
        let thread =
            JsThread::start(ThreadOptions { limits, access, process, cache, areas: &[], reporter })
                .map_err(ExtensionError::with_source)?;
        threads.insert(package, thread.clone());
        Ok(thread)
    }

    /// Returns the number of a new extension.
    pub(crate) fn next_id(&self) -> ExtensionId {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn options(&self) -> &HostOptions {
        &self.0.options
    }

    /// Checks the program of an extension that is a program itself.
    pub(crate) fn check_program(
        &self,
        source: &SourceInfo,
        program: &str,
    ) -> Result<(), ExtensionError> {
        let access = (self.0.access)(source).map_err(ExtensionError::with_source)?;
        let (ExtensionAccess::Shared(access) | ExtensionAccess::Own(access)) = access;
        let checked = access.extension_program(program);
        checked.map_err(|error| ExtensionError::new(error.message))
    }
}
