//! The agent spec of a run.
//!
//! The resolved specs are kept in the directory of the run, so that a run that is resumed elsewhere
//! continues with the same agents.

use pi_coding_agent::AgentOptions;

use super::{Ended, Running};
use crate::agents::{AgentLibrary, AgentSet};
use crate::contract::OutputPlan;
use crate::outcome::Outcome;

/// Name of the file with the specs.
const AGENT: &str = "agent.json";

impl Running {
    /// Loads the spec that the contract names. Its output contract applies if the contract has
    /// none.
    pub(super) fn load_agent(&mut self) -> Result<(), Ended> {
        let Some(reference) = self.contract.agent.clone() else { return Ok(()) };
        let failed = |error: &dyn std::fmt::Display| Ended::new(Outcome::Failed, error.to_string());
        let kept: Option<AgentSet> = self.directory.read(AGENT).map_err(|error| failed(&error))?;
        let set = match kept {
            Some(set) => set,
            None => {
                let set = load(&reference, &self.options.agent)?;
                self.directory.write(AGENT, &set).map_err(|error| failed(&error))?;
                set
            }
        };
        let warnings = set.warnings().iter().map(ToString::to_string);
        self.work.problems.extend(warnings);
        if let Some(spec) = set.root()
            && self.contract.output.is_none()
            && spec.output_schema.is_some()
        {
            let schema = spec.output_schema.clone();
            self.contract.output = Some(OutputPlan { schema, ..OutputPlan::default() });
        }
        self.agents = Some(set);
        Ok(())
    }

    /// Returns the options of an attempt with the spec applied.
    pub(super) fn with_agent(&self, options: AgentOptions) -> AgentOptions {
        match &self.agents {
            Some(set) => set.apply(&options),
            None => options,
        }
    }
}

/// Loads a spec by its file or name.
pub(crate) fn load(reference: &str, options: &AgentOptions) -> Result<AgentSet, Ended> {
    let library = AgentLibrary::of(&options.project);
    library.load(reference, &options.environment().cwd).map_err(|error| {
        Ended::new(Outcome::InvalidTask, format!("the agent spec cannot be used: {error}"))
    })
}
