//! The host of a program: threads, and the extensions on them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pi_coding_agent::extension::Extension;

use crate::access::Access;
use crate::extension::JsExtension;
use crate::host::Report;
use crate::host_process::ProcessOptions;
use crate::limits::Limits;
use crate::process::{ProcessExtension, is_manifest};
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
    /// Receives errors that no call returns, such as those of timers.
    pub reporter: Arc<dyn Fn(Report) + Send + Sync>,
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostOptions").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Opens extension files. The extensions share one runtime.
#[derive(Debug)]
pub struct ExtensionHost {
    thread: JsThread,
    next: AtomicU32,
}

impl ExtensionHost {
    /// Starts a host. Called within the tokio runtime of the session.
    pub fn start(options: HostOptions) -> std::io::Result<Self> {
        let HostOptions { limits, process, cache, reporter } = options;
        let access = Access::default();
        let thread = JsThread::start(ThreadOptions { limits, access, process, cache, reporter })?;
        Ok(Self { thread, next: AtomicU32::new(1) })
    }

    /// Returns the extension of a file. The file is read when the extension is loaded.
    pub fn open(&self, path: &Path) -> Arc<dyn Extension> {
        if is_manifest(path) {
            return Arc::new(ProcessExtension::new(path));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        Arc::new(JsExtension::new(self.thread.clone(), id, path))
    }
}
