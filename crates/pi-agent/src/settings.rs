//! The settings of a run.

use std::sync::Arc;

use pi_protocol::{Model, StreamOptions, ThinkingLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::hooks::Hooks;
use crate::limits::Limits;
use crate::repetition::RepetitionLimits;
use crate::tool::{AgentTool, ExecutionMode};
use crate::transcript::Convert;

/// The moment at which steering messages are delivered in a turn with several tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SteeringDelivery {
    /// After all tool calls of the turn.
    #[default]
    AfterTurn,
    /// After the tool call that is executing. Calls that have not begun are skipped; their results
    /// say so.
    AfterTool,
}

/// The settings of a run.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunSettings {
    /// The model that receives the requests.
    pub model: Arc<Model>,
    /// The thinking level of the requests.
    pub thinking_level: ThinkingLevel,
    /// The other options of the requests.
    pub options: StreamOptions,
    /// The tools that the model can call.
    pub tools: Vec<Arc<dyn AgentTool>>,
    /// The order in which the tool calls of one turn are executed. A tool can require sequential
    /// execution.
    pub tool_execution: ExecutionMode,
    /// The moment at which steering messages are delivered. Unlike other settings, a change takes
    /// effect during a run; see
    /// [`Agent::set_steering_delivery`](crate::Agent::set_steering_delivery).
    pub steering_delivery: SteeringDelivery,
    /// Converts messages to the form that models read. Without it, messages of the application's
    /// own roles are left out.
    pub convert: Option<Convert>,
    /// The application's hooks.
    pub hooks: Hooks,
    /// The limits at which the run ends.
    pub limits: Limits,
    /// A budget that the run shares with others, such as its retries and the runs of other agents.
    pub budget: Option<Budget>,
    /// The repetitions at which the run ends.
    pub repetition: RepetitionLimits,
}

impl RunSettings {
    /// Creates settings for a model: no tools, no hooks, no limits.
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            thinking_level: ThinkingLevel::Off,
            options: StreamOptions::default(),
            tools: Vec::new(),
            tool_execution: ExecutionMode::default(),
            steering_delivery: SteeringDelivery::default(),
            convert: None,
            hooks: Hooks::default(),
            limits: Limits::default(),
            budget: None,
            repetition: RepetitionLimits::default(),
        }
    }

    /// Returns the budget of a run with these settings.
    pub(crate) fn run_budget(&self) -> Budget {
        match &self.budget {
            Some(shared) => shared.child(self.limits.clone()),
            None => Budget::new(self.limits.clone()),
        }
    }
}

impl std::fmt::Debug for RunSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunSettings").field("model", &self.model.id).finish_non_exhaustive()
    }
}
