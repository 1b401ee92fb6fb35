//! Writes the reports that a task asks for, and tells GitHub Actions about the run.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pi_coding_agent::Environment;
use pi_converge::Report;

use crate::exit::note;

/// Bytes of a step summary that GitHub accepts.
const SUMMARY_LIMIT: usize = 1_000_000;

/// Writes all reports. Problems are reported; they do not change the outcome.
pub(super) fn write(report: &Report, environment: &Environment) {
    let plan = &report.plan;
    let json = |value: Result<String, serde_json::Error>| value.unwrap_or_default() + "\n";
    let files: [(&Option<PathBuf>, &dyn Fn() -> String); 4] = [
        (&plan.json, &|| json(serde_json::to_string_pretty(report))),
        (&plan.junit, &|| report.to_junit()),
        (&plan.sarif, &|| json(serde_json::to_string_pretty(&report.to_sarif()))),
        (&plan.summary, &|| report.to_markdown()),
    ];
    for (path, render) in files {
        let Some(path) = path else { continue };
        let path = environment.cwd.join(path);
        if let Err(error) = write_file(&path, &render()) {
            note(&format!("error: cannot write {}: {error}", path.display()));
        }
    }
    let is_action = environment.variable("GITHUB_ACTIONS") == Some("true");
    if plan.github.unwrap_or(is_action) {
        tell_github(report, environment);
    }
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

/// Prints annotations, and appends to the summary and the outputs of the step.
fn tell_github(report: &Report, environment: &Environment) {
    let annotations = report.to_github_annotations();
    // A closed stderr cannot be reported.
    let _ = io::stderr().lock().write_all(annotations.as_bytes());
    let mut summary = report.to_markdown();
    if summary.len() > SUMMARY_LIMIT {
        summary.truncate(summary.floor_char_boundary(SUMMARY_LIMIT));
    }
    let parts = [("GITHUB_STEP_SUMMARY", summary), ("GITHUB_OUTPUT", report.to_github_outputs())];
    for (variable, text) in parts {
        let Some(path) = environment.variable(variable) else { continue };
        let appended = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        if let Err(error) = appended {
            note(&format!("error: cannot write to ${variable} ({path}): {error}"));
        }
    }
}
