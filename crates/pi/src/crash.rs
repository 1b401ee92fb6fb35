//! Crash reports: a panic writes a report to disk, prints a message and sets the exit code.
//!
//! A report contains the version, the location and a backtrace, and nothing of the session. The
//! panic message is included only if it is a literal of the program, since a formatted message may
//! quote anything.
//!
//! Panics of tools and listeners are contained where they happen: they write a report as well, and
//! the program continues.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::environment::agent_directory;
use crate::exit::{Exit, fail};
use crate::secrets::redacted_in_crash;

/// Maximum number of reports per run: repeated panics must not fill the disk.
const REPORTS_PER_RUN: usize = 5;
/// Maximum number of reports to keep; the oldest are removed.
const REPORTS_KEPT: usize = 20;

/// The last report of this process: its path, or its text if it could not be written.
static LAST: Mutex<Option<Result<PathBuf, String>>> = Mutex::new(None);
/// The terminal of the interactive mode, whose modes a crash must not leave behind.
static TERMINAL: Mutex<Option<pi_tui::terminal::Guard>> = Mutex::new(None);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Runs the program. A panic ends it with [`Exit::Crashed`].
pub(crate) fn guard(run: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(on_panic));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        if let Ok(Some(terminal)) = TERMINAL.lock().map(|mut terminal| terminal.take()) {
            // The message below is worth more than a mode that cannot be taken back.
            let _ = terminal.restore();
        }
        let last = LAST.lock().map(|mut last| last.take());
        let message = match last.ok().flatten() {
            Some(Ok(path)) => format!(
                "crashed; sessions on disk are intact. Please report this and attach {}, which \
                 contains nothing of your sessions",
                path.display()
            ),
            Some(Err(report)) => {
                format!("crashed. Please report this with the following, which could not be written to a file:\n{report}")
            }
            None => "crashed".to_owned(),
        };
        fail(&message, Exit::Crashed)
    })
}

/// Restores a terminal if the program crashes.
pub(crate) fn restore_after_crash(terminal: pi_tui::terminal::Guard) {
    if let Ok(mut slot) = TERMINAL.lock() {
        *slot = Some(terminal);
    }
}

fn on_panic(info: &PanicHookInfo<'_>) {
    if COUNT.fetch_add(1, Ordering::Relaxed) >= REPORTS_PER_RUN {
        return;
    }
    let report = redacted_in_crash(&report(info));
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
    line("location", &info.location().map_or_else(|| "unknown".to_owned(), ToString::to_string));
    line("thread", std::thread::current().name().unwrap_or("unnamed"));
    let message = info.payload().downcast_ref::<&'static str>();
    line("message", message.unwrap_or(&"omitted, since it may quote the session"));
    let _ = write!(report, "\n{}", Backtrace::force_capture());
    report
}

/// Writes a report atomically, under a unique name.
fn write(directory: &Path, report: &str) -> Option<PathBuf> {
    std::fs::create_dir_all(directory).ok()?;
    let time = jiff::Timestamp::now().to_string().replace([':', '.'], "-");
    let path = directory.join(format!("{time}-{}.txt", std::process::id()));
    pi_fs::write(&path, pi_fs::Access::Private, report.as_bytes()).ok()?;
    remove_oldest(directory);
    Some(path)
}

/// Removes the oldest reports. File names begin with the time, so they sort by age.
fn remove_oldest(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut reports: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    reports.sort();
    let surplus = reports.len().saturating_sub(REPORTS_KEPT);
    for old in &reports[..surplus] {
        // The next crash retries.
        let _ = std::fs::remove_file(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The process that the tests below start, since a panic hook is global to a process.
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
                Exit::Completed.into()
            }
        });
        let crashed = code == ExitCode::from(Exit::Crashed);
        std::process::exit(if crashed { 101 } else { 0 });
    }

    #[allow(clippy::disallowed_methods, reason = "a test starts a program directly")]
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
            ("formatted", "message: omitted, since it may quote the session\n"),
        ];
        for (what, message) in cases {
            let directory = tempfile::tempdir().unwrap();
            let (code, stderr, reports) = crash(what, directory.path());
            assert_eq!(code, Some(101), "{stderr}");
            assert!(stderr.contains("pi: crashed; sessions on disk are intact."), "{stderr}");
            assert!(stderr.contains("crashes"), "{stderr}");
            let [report] = reports.as_slice() else { panic!("{reports:?}") };
            assert!(report.contains(message), "{report}");
            assert!(report.contains("location: crates/pi/src/crash.rs:"), "{report}");
            assert!(!report.contains("own words") && !stderr.contains("own words"), "{report}");
        }
    }

    #[test]
    fn a_report_that_cannot_be_written_is_printed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (code, stderr, _) = crash("literal", file.path());
        assert_eq!(code, Some(101), "{stderr}");
        assert!(stderr.contains("could not be written to a file:\npi: "), "{stderr}");
    }

    #[test]
    fn the_number_of_reports_per_run_is_limited() {
        let directory = tempfile::tempdir().unwrap();
        let (code, stderr, reports) = crash("contained", directory.path());
        assert_eq!(code, Some(0), "{stderr}");
        assert!(!stderr.contains("crashed"), "{stderr}");
        assert_eq!(reports.len(), REPORTS_PER_RUN);
    }

    #[test]
    fn old_reports_are_removed() {
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
