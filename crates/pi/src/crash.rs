//! When the program panics: a report on disk, a hint on stderr, a code that says so.
//!
//! A report says which version, where, and how it got there. It says nothing about the
//! conversation: the text of a panic is included only if it was written into the program, since
//! one that was put together at run time may quote anything.
//!
//! Panics of tools and listeners are contained where they happen; they leave a report too, and the
//! program goes on.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::environment::agent_directory;
use crate::exit::{Exit, complain};
use crate::secrets::masked_in_a_crash;

/// A program that panics again and again must not fill the disk.
const REPORTS_PER_RUN: usize = 5;
const REPORTS_KEPT: usize = 20;

/// The last report of this process: where it is, or its text if it could not be written.
static LAST: Mutex<Option<Result<PathBuf, String>>> = Mutex::new(None);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Runs the program. Whatever panics in it ends it with [`Exit::Crashed`].
pub(crate) fn guard(run: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(on_panic));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let last = LAST.lock().map(|mut last| last.take());
        let message = match last.ok().flatten() {
            Some(Ok(path)) => format!(
                "crashed, sorry. Your sessions are on disk as they were. A report without any of \
                 their content is in {}; please attach it when you report this",
                path.display()
            ),
            Some(Err(report)) => {
                format!("crashed, sorry. The report could not be written:\n{report}")
            }
            None => "crashed, sorry".to_owned(),
        };
        complain(&message, Exit::Crashed)
    })
}

fn on_panic(info: &PanicHookInfo<'_>) {
    if COUNT.fetch_add(1, Ordering::Relaxed) >= REPORTS_PER_RUN {
        return;
    }
    let report = masked_in_a_crash(&report(info));
    let agent = agent_directory(&std::env::current_dir().unwrap_or_default());
    let written = agent.ok().and_then(|agent| write(&agent.join("crashes"), &report));
    if let Ok(mut last) = LAST.lock() {
        *last = Some(written.ok_or(report));
    }
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let mut report = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(report, "{name}: {value}");
    };
    line("pi", env!("CARGO_PKG_VERSION"));
    line("system", &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    line("time", &jiff::Timestamp::now().to_string());
    line("place", &info.location().map_or_else(|| "unknown".to_owned(), ToString::to_string));
    line("thread", std::thread::current().name().unwrap_or("without a name"));
    let message = info.payload().downcast_ref::<&'static str>();
    line("message", message.unwrap_or(&"left out, since it may quote the conversation"));
    let _ = write!(report, "\n{}", Backtrace::force_capture());
    report
}

/// Writes a report under a name of its own, all of it or nothing.
fn write(directory: &Path, report: &str) -> Option<PathBuf> {
    std::fs::create_dir_all(directory).ok()?;
    let time = jiff::Timestamp::now().to_string().replace([':', '.'], "-");
    let path = directory.join(format!("{time}-{}.txt", std::process::id()));
    let mut file = tempfile::NamedTempFile::new_in(directory).ok()?;
    file.write_all(report.as_bytes()).ok()?;
    file.persist(&path).ok()?;
    forget_oldest(directory);
    Some(path)
}

/// Names begin with the time, so they are in order.
fn forget_oldest(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut reports: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    reports.sort();
    let surplus = reports.len().saturating_sub(REPORTS_KEPT);
    for old in &reports[..surplus] {
        // The next crash tries again.
        let _ = std::fs::remove_file(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Not a test of its own: what the test below runs in another process, since a panic hook
    /// belongs to a whole process.
    #[test]
    fn child() {
        let Some(what) = std::env::var_os("PI_TEST_CRASH") else { return };
        let secret = "the user's own words";
        let code = guard(|| match what.to_str() {
            Some("literal") => panic!("a mistake in the program, with a quoted secret"),
            Some("formatted") => panic!("cannot handle {secret}"),
            _ => {
                for _ in 0..30 {
                    let contained = catch_unwind(|| panic!("contained"));
                    assert!(contained.is_err());
                }
                Exit::Success.into()
            }
        });
        let crashed = code == ExitCode::from(Exit::Crashed);
        std::process::exit(if crashed { 101 } else { 0 });
    }

    fn crash(what: &str, agent: &Path) -> (Option<i32>, String, Vec<String>) {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::tests::child", "--nocapture", "--test-threads=1"])
            .env("PI_TEST_CRASH", what)
            .env("PI_CODING_AGENT_DIR", agent)
            .env("PI_TEST_TOKEN", "quoted secret")
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let reports = std::fs::read_dir(agent.join("crashes")).map(|entries| {
            entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
        });
        (output.status.code(), stderr, reports.unwrap_or_default())
    }

    #[test]
    fn a_crash_leaves_a_report_without_content() {
        let cases = [
            ("literal", "message: a mistake in the program, with a [masked:own-secret:"),
            ("formatted", "message: left out, since it may quote the conversation\n"),
        ];
        for (what, message) in cases {
            let directory = tempfile::tempdir().unwrap();
            let (code, stderr, reports) = crash(what, directory.path());
            assert_eq!(code, Some(101), "{stderr}");
            assert!(stderr.contains("pi: crashed, sorry."), "{stderr}");
            assert!(stderr.contains("crashes"), "{stderr}");
            let [report] = reports.as_slice() else { panic!("{reports:?}") };
            assert!(report.contains(message), "{report}");
            assert!(report.contains("place: crates/pi/src/crash.rs:"), "{report}");
            assert!(!report.contains("own words") && !stderr.contains("own words"), "{report}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_written_costs_the_file_only() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (code, stderr, _) = crash("literal", file.path());
        assert_eq!(code, Some(101), "{stderr}");
        assert!(stderr.contains("could not be written:\npi: "), "{stderr}");
    }

    #[test]
    fn contained_panics_are_reported_a_few_times() {
        let directory = tempfile::tempdir().unwrap();
        let (code, stderr, reports) = crash("contained", directory.path());
        assert_eq!(code, Some(0), "{stderr}");
        assert!(!stderr.contains("crashed"), "{stderr}");
        assert_eq!(reports.len(), REPORTS_PER_RUN);
    }

    #[test]
    fn old_reports_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..30 {
            std::fs::write(directory.path().join(format!("0000-{number:02}.txt")), "").unwrap();
        }
        let written = write(directory.path(), "report").unwrap();
        assert!(written.exists());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), REPORTS_KEPT);
        assert!(!directory.path().join("0000-00.txt").exists());
    }
}
