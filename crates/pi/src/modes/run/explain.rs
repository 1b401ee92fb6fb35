//! `pi run --explain` and `--dry-run`: the effective task, and whether a run could start.

use std::process::ExitCode;

use pi_converge::{Examination, Outcome, RunOptions, Task, Verdict, agent_facts, examine};
use serde_json::json;

use crate::exit::print;

/// Prints the effective task.
pub(super) async fn explain(task: &Task, options: &RunOptions, as_json: bool) -> ExitCode {
    let facts = Box::pin(agent_facts(&task.contract, options)).await;
    if as_json {
        let mut explained = task.explain_json();
        match facts {
            Ok(facts) => explained["agent"] = json!(facts),
            Err(ended) => explained["problem"] = ended.reason.into(),
        }
        return print(&format!("{explained:#}\n"));
    }
    let mut text = task.explain();
    text.push_str("\n# On this machine:\n");
    match facts {
        Ok(facts) => {
            let model = facts.model.as_deref().unwrap_or("none");
            text.push_str(&format!("#   model: {model}, thinking {}\n", facts.thinking));
            text.push_str(&format!("#   tools: {}\n", facts.tools.join(", ")));
            let guard = facts.guard.map_or("no restrictions".to_owned(), |guard| guard.to_string());
            text.push_str(&format!("#   policy: {guard}\n"));
        }
        Err(ended) => text.push_str(&format!("#   a run cannot start: {}\n", ended.reason)),
    }
    for note in &task.notes {
        text.push_str(&format!("#   note: {note}\n"));
    }
    print(&text)
}

/// Examines a task and prints the result.
pub(super) async fn dry_run(task: &Task, options: &RunOptions, as_json: bool) -> ExitCode {
    let mut found = Box::pin(examine(&task.contract, options)).await;
    found.add_notes(&task.notes);
    let text = if as_json { format!("{:#}\n", json!(found)) } else { describe(&found) };
    let printed = print(&text);
    if found.could_start() {
        return printed;
    }
    ExitCode::from(Outcome::InvalidTask.exit_code())
}

fn describe(found: &Examination) -> String {
    let mut text = String::new();
    for item in &found.items {
        let verdict = match item.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Problem => "problem",
        };
        text.push_str(&format!("{verdict:8} {}: {}\n", item.part, item.message));
    }
    text.push_str(if found.could_start() {
        "A run could start. No request was sent.\n"
    } else {
        "A run could not start. No request was sent.\n"
    });
    text
}
