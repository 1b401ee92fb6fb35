//! The output of `pi run`: the result as text, the report as one object, or every event as a line.

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::AgentRuntime;
use pi_converge::{CheckReport, Interrupt, Outcome, Progress, Report, RunOptions};
use pi_rpc::LineWriter;
use serde_json::{Value, json};

use crate::exit::{Exit, note, on_write_error, print};
use crate::flags::parse::CommandArgs;
use crate::modes::progress::{self, Detail};

/// The output of a run. Clones write to the same output.
#[derive(Debug, Clone)]
pub(super) struct Output {
    format: Format,
    is_verbose: bool,
}

#[derive(Debug, Clone)]
enum Format {
    Text,
    Report,
    Events(LineWriter),
}

impl Output {
    /// Returns the output that the options select.
    pub(super) fn of(args: &CommandArgs) -> Self {
        let has_events = args.value("mode") == Some("json");
        let format = match args.value("output-format") {
            Some("stream-json") => Format::Events(LineWriter::default()),
            _ if has_events => Format::Events(LineWriter::default()),
            Some("json") => Format::Report,
            _ => Format::Text,
        };
        Self { format, is_verbose: args.has("verbose") }
    }

    /// Returns true if stdout is for a program.
    pub(super) fn is_json(&self) -> bool {
        !matches!(self.format, Format::Text)
    }

    /// Shows the progress of a run, and writes its events.
    pub(super) fn show(&self, options: &mut RunOptions) {
        let is_verbose = self.is_verbose;
        match &self.format {
            Format::Text | Format::Report => {
                options.on_progress = Arc::new(move |progress| show(progress, is_verbose));
                let detail = Detail::of_run(is_verbose);
                options.on_session =
                    Arc::new(move |runtime| progress::show(runtime, detail, false));
            }
            Format::Events(lines) => {
                let events = lines.clone();
                options.on_progress = Arc::new(move |progress| {
                    write(&events, progress);
                    // Everything else is an event on stdout.
                    if is_verbose {
                        show(progress, true);
                    }
                });
                let events = lines.clone();
                options.on_session = Arc::new(move |runtime| follow(&events, runtime, is_verbose));
            }
        }
    }

    /// Does the work, and writes the events meanwhile. If they cannot be written, the run ends.
    pub(super) async fn during(
        &self,
        work: impl Future<Output = ExitCode>,
        interrupt: &Interrupt,
    ) -> ExitCode {
        let Format::Events(lines) = &self.format else { return work.await };
        let work = async {
            let exit = work.await;
            lines.finish();
            exit
        };
        tokio::pin!(work);
        let drain = lines.drain(tokio::io::stdout());
        tokio::pin!(drain);
        let (exit, written) = tokio::select! {
            exit = &mut work => (exit, drain.await),
            written = &mut drain => {
                interrupt.interrupt(Outcome::Terminated);
                (work.await, written)
            }
        };
        match written {
            Err(error) if exit == ExitCode::SUCCESS => on_write_error(&error),
            _ => exit,
        }
    }

    /// Writes the report of a run that has ended, or its result.
    pub(super) fn write_report(&self, report: &Report) -> ExitCode {
        match &self.format {
            Format::Text => match result(report) {
                Some(text) => print(&format!("{text}\n")),
                None => Exit::Completed.into(),
            },
            Format::Report => print_line(&json!(report)),
            Format::Events(lines) => {
                // A closed output is noticed where the lines are written.
                let _ = lines.add(&last_line(report));
                Exit::Completed.into()
            }
        }
    }

    /// Writes the report of a run that could not start.
    pub(super) fn refuse(&self, report: &Report) {
        // The exit code already is that of a failure.
        let _ = match &self.format {
            Format::Text => Exit::Completed.into(),
            Format::Report => print_line(&json!(report)),
            Format::Events(_) => print_line(&last_line(report)),
        };
    }
}

/// Returns the text for stdout. A result that is invalid or was not verified stays off it: a reader
/// could rely on it.
fn result(report: &Report) -> Option<String> {
    match (&report.result, report.outcome) {
        (Some(result), Outcome::Converged) => serde_json::to_string_pretty(result).ok(),
        (Some(_), _) | (None, Outcome::InvalidOutput) => None,
        (None, _) => report.text.clone(),
    }
}

/// Returns the last line of the events.
fn last_line(report: &Report) -> Value {
    let mut line = json!(report);
    line["type"] = "report".into();
    line
}

fn print_line(value: &Value) -> ExitCode {
    print(&format!("{value}\n"))
}

/// Writes the events of a session.
fn follow(lines: &LineWriter, runtime: &AgentRuntime, is_verbose: bool) {
    // A closed output is noticed where the lines are written.
    let _ = runtime.session().with_log(|log| lines.add(log.header()));
    runtime.add_listener(Arc::new(lines.clone())).forever();
    let detail = if is_verbose { Detail::Requests } else { Detail::Failures };
    progress::show(runtime, detail, false);
}

/// Writes the progress of a run without secrets, which the output of a check may contain.
fn write(lines: &LineWriter, progress: &Progress) {
    let mut value = json!(progress);
    crate::secrets::own().redact_json(&mut value);
    // A closed output is noticed where the lines are written.
    let _ = lines.add(&value);
}

fn show(progress: &Progress, is_verbose: bool) {
    match progress {
        Progress::RunStart { directory, .. } if is_verbose => {
            note(&format!("run: {}", directory.display()));
        }
        Progress::AttemptStart { number, count } if *count > 1 => {
            note(&format!("attempt {number} of {count}"));
        }
        Progress::RoundStart { number } => note(&format!("round {number}")),
        Progress::CheckStart { name, .. } if is_verbose => note(&format!("check: {name}")),
        Progress::CheckEnd { check, before: true } if check.passed => {
            note(&format!("passed already before the run: {}", described(check, is_verbose)));
        }
        Progress::CheckEnd { check, before: true } => {
            note(&format!("fails before the run: {}", described(check, is_verbose)));
            check.denied.iter().for_each(|denied| note(&format!("warning: {denied}")));
        }
        Progress::CheckEnd { check, .. } if check.passed => {
            note(&format!("passed: {}", described(check, is_verbose)));
        }
        Progress::CheckEnd { check, .. } => {
            let failures = check.failures.join("; ");
            note(&format!("failed: {}: {failures}", described(check, is_verbose)));
        }
        Progress::Warning { message } => note(&format!("warning: {message}")),
        _ => {}
    }
}

fn described(check: &CheckReport, is_verbose: bool) -> String {
    match is_verbose {
        true => format!("{} (after {:.1} s)", check.name, check.duration_ms as f64 / 1000.0),
        false => check.name.clone(),
    }
}
