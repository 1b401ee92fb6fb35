//! The host of a program: a thread, and the extensions on it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pi_coding_agent::extension::Extension;
use pi_coding_agent::resources::SourceInfo;

use crate::access::Access;
use crate::extension::JsExtension;
use crate::host_process::ProcessOptions;
use crate::limits::Limits;
use crate::process::{ProcessExtension, is_manifest};
use crate::report::Report;
use crate::thread::{JsThread, ThreadOptions};

/// Properties of a host.
#[derive(Clone)]
pub struct HostOptions {
    /// Limits of each runtime.
    pub limits: Limits,
    /// The process that extensions see.
    pub process: ProcessOptions,
    /// Directory of compiled code; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// Receives errors that no call returns while there is no session, such as those of timers.
    pub reporter: Arc<dyn Fn(Report) + Send + Sync>,
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostOptions").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Opens extension files. The extensions share one runtime, which starts with the first of them.
/// Clones are the same host.
#[derive(Debug, Clone)]
pub struct ExtensionHost(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: HostOptions,
    thread: Mutex<Option<JsThread>>,
    next: AtomicU32,
}

impl ExtensionHost {
    /// Creates a host. Nothing runs yet.
    pub fn new(options: HostOptions) -> Self {
        let (thread, next) = (Mutex::default(), AtomicU32::new(1));
        Self(Arc::new(Shared { options, thread, next }))
    }

    /// Returns the extension of a file, a new one for each session. The file is read when the
    /// extension is loaded.
    pub fn open(&self, source: &SourceInfo) -> Arc<dyn Extension> {
        if is_manifest(&source.path) {
            return Arc::new(ProcessExtension::new(&source.path));
        }
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        Arc::new(JsExtension::new(self.clone(), id, source))
    }

    /// Returns the thread; the first call starts it. Called within the tokio runtime of the session.
    pub(crate) fn thread(&self) -> std::io::Result<JsThread> {
        let mut slot = self.0.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*slot {
            return Ok(thread.clone());
        }
        let HostOptions { limits, process, cache, reporter } = self.0.options.clone();
        let access = Access::default();
        let thread = JsThread::start(ThreadOptions {
            limits,
            access,
            process,
            cache,
            is_test: false,
            reporter,
        })?;
        *slot = Some(thread.clone());
        Ok(thread)
    }
}
