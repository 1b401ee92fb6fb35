//! The output contract of a run: the result of each round, and the file that receives it.

use std::path::Path;
use std::sync::Arc;

use pi_agent::Limit;
use pi_coding_agent::session::{InvalidOutput, OutputContract, ResultCollector};
use serde_json::Value;

use super::{Ended, Progress, Running};
use crate::contract::OutputPlan;
use crate::outcome::Outcome;
use crate::report::CheckReport;

/// File in the run directory with a result that stayed invalid.
const INVALID_OUTPUT: &str = "invalid-output.txt";

/// Returns the collector of results; `None` if the contract has no schema. Paths are relative to
/// `directory`.
pub(super) fn collector(
    plan: Option<&OutputPlan>,
    directory: &Path,
) -> Result<Option<ResultCollector>, Ended> {
    let Some(plan) = plan else { return Ok(None) };
    let Some(schema) = &plan.schema else { return Ok(None) };
    let invalid =
        |error: String| Ended::new(Outcome::InvalidTask, format!("output.schema: {error}"));
    let schema = match schema {
        Value::String(path) => &read_schema(&directory.join(path)).map_err(invalid)?,
        schema => schema,
    };
    let contract = OutputContract::compile(schema).map_err(|error| invalid(error.to_string()))?;
    Ok(Some(ResultCollector::new(contract, plan.repairs)))
}

fn read_schema(path: &Path) -> Result<Value, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
    serde_json::from_str(&text).map_err(|error| at(&error))
}

impl Running {
    /// Compiles the schema of the contract.
    pub(super) fn prepare_output(&mut self) -> Result<(), Ended> {
        let directory = &self.options.agent.environment().cwd;
        self.collector = collector(self.contract.output.as_ref(), directory)?.map(Arc::new);
        Ok(())
    }

    /// Returns the check of the result, which only a limit can have prevented; `None` if the
    /// contract has no schema.
    pub(super) fn result_check(&self, limit: Option<Limit>) -> Option<CheckReport> {
        let missing = limit.filter(|_| self.result.is_none());
        let failure = missing.map(|limit| format!("no result before the limit: {limit}"));
        self.collector.as_ref().map(|_| output_check(failure.into_iter().collect()))
    }

    /// Ends a round without a valid result. The last one is saved.
    pub(super) fn invalid_output(&mut self, invalid: InvalidOutput) -> Ended {
        let check = output_check(invalid.problems());
        self.options.report_progress(&Progress::CheckEnd { check: check.clone(), before: false });
        let reason =
            format!("The result does not match the schema: {}.", check.failures.join("; "));
        self.checks = vec![check];
        let file = self.run_directory().join(INVALID_OUTPUT);
        if let Err(error) = pi_fs::replace(&file, invalid.text.as_bytes()) {
            self.work.problems.push(format!("cannot write {}: {error}", file.display()));
        }
        self.invalid = Some(invalid);
        Ended::new(Outcome::InvalidOutput, reason)
    }

    /// Writes the result of a converged run to its file. A run whose result is lost has failed.
    pub(super) fn write_result(&self, ended: Ended) -> Ended {
        let file = self.contract.output.as_ref().and_then(|plan| plan.file.as_ref());
        let is_result = ended.outcome == Outcome::Converged && !self.options.tape.is_replay();
        let Some(file) = file.filter(|_| is_result) else { return ended };
        let mut content = match &self.result {
            Some(result) => serde_json::to_string_pretty(result).unwrap_or_default(),
            None => self.text.clone().unwrap_or_default(),
        };
        content.push('\n');
        let path = self.options.agent.environment().cwd.join(file);
        match pi_fs::replace(&path, content.as_bytes()) {
            Ok(()) => ended,
            Err(error) => {
                let path = path.display();
                let reason = format!("The result cannot be written to {path}: {error}.");
                Ended::new(Outcome::Failed, reason)
            }
        }
    }
}

fn output_check(failures: Vec<String>) -> CheckReport {
    CheckReport {
        name: "output".to_owned(),
        kind: "output".to_owned(),
        passed: failures.is_empty(),
        failures,
        ..CheckReport::default()
    }
}
