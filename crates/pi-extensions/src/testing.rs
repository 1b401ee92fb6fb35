//! Tests of extensions: files that use the module `pi/test` run on a thread of their own, and the
//! sessions that they start have a scripted model and a scripted user.
//!
//! `pi extension test` is the command for it.

mod session;
mod ui;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_base::lock;
use serde::Deserialize;

use crate::access::Access;
use crate::error::ScriptError;
use crate::host::JsThread;
use crate::host_process::ProcessOptions;
use crate::limits::Limits;
use crate::thread::ThreadOptions;

/// The result of one test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TestResult {
    /// Name of the test.
    pub name: String,
    /// The error with its stack; `None` if the test passed.
    pub error: Option<String>,
}

/// A file of tests that cannot be run.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct TestFileError(String);

/// Runs the tests of one file, one after another, with the variables of `process`. Called within a
/// tokio runtime.
pub async fn run_file(
    path: &Path,
    process: ProcessOptions,
) -> Result<Vec<TestResult>, TestFileError> {
    let failed = |error: ScriptError| TestFileError(error.stack);
    let errors: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&errors);
    let thread = JsThread::start(ThreadOptions {
        limits: Limits::default(),
        access: Access::default(),
        process,
        cache: None,
        areas: &[("testing", &[session::FUNCTIONS])],
        reporter: Arc::new(move |report| {
            let mut errors = lock(&seen);
            errors.push(report.error);
        }),
    });
    let thread = thread.map_err(|error| TestFileError(error.to_string()))?;
    let file = path.to_string_lossy().into_owned();
    let results = thread.call(0, "runTests", vec![file.into()]).await.map_err(failed)?;
    let mut results: Vec<TestResult> =
        serde_json::from_value(results).map_err(|error| TestFileError(error.to_string()))?;
    // An error outside of every test is a failure too.
    let errors = lock(&errors);
    results.extend(errors.iter().map(|error| TestResult {
        name: "no error outside of the tests".to_owned(),
        error: Some(error.clone()),
    }));
    Ok(results)
}

/// Returns the files of tests below a path: itself, or files that end in `.test.ts` or `.test.js`.
pub fn find_files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        std::fs::metadata(path)?;
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                if name != "node_modules" && !name.starts_with('.') {
                    directories.push(entry.path());
                }
            } else if [".test.ts", ".test.js", ".test.mjs"].iter().any(|end| name.ends_with(end)) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}
