//! Facts of a run for its report: the actions of the agent with the decisions about them, and what
//! is needed to reproduce the run.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_base::text::cut;
use pi_coding_agent::session::{AgentSession, SessionEvent, Subscription};
use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::record::hash;
use crate::report::{ActionReport, Reproduction};

/// Characters of the description of an action.
const SHOWN: usize = 500;

/// Facts of a run. Clones are the same facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    actions: Vec<ActionReport>,
    reproduction: Reproduction,
}

impl Facts {
    /// Collects the facts of a session until the subscription is dropped.
    pub(crate) fn collect(&self, session: &AgentSession) -> Subscription {
        {
            let found = &mut lock(&self.0).reproduction;
            found.model = session.model().map(|model| format!("{}/{}", model.provider, model.id));
            found.thinking = Some(session.thinking_level().as_str().to_owned());
            found.system_prompt = Some(hash(&Value::from(session.system_prompt())));
            let tools = session.active_tools();
            let tools: Vec<_> = tools.iter().map(|tool| tool.declaration()).collect();
            found.tools = serde_json::to_value(tools).ok().map(|tools| hash(&tools));
        }
        let (facts, weak) = (self.clone(), session.downgrade());
        session.subscribe(move |event| {
            if let Some(session) = weak.upgrade() {
                facts.add(event, &session);
            }
        })
    }

    fn add(&self, event: &SessionEvent, session: &AgentSession) {
        match event {
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                let action = ActionReport {
                    id: tool_call_id.clone(),
                    tool: tool_name.clone(),
                    what: describe(session, tool_name, args),
                    decision: "run".to_owned(),
                    ..ActionReport::default()
                };
                lock(&self.0).actions.push(action);
            }
            SessionEvent::ToolDecision { decision } => self.change(&decision.tool_call_id, |one| {
                one.decision = decision.decision.name().to_owned();
                one.reasons.clone_from(&decision.reasons);
            }),
            SessionEvent::ToolExecutionEnd { tool_call_id, is_error, duration_ms, .. } => {
                self.change(tool_call_id, |one| {
                    one.failed = *is_error;
                    one.duration_ms = *duration_ms;
                });
            }
            _ => {}
        }
    }

    /// Changes the last action with this id. Ids may repeat in later attempts.
    fn change(&self, id: &str, change: impl FnOnce(&mut ActionReport)) {
        if let Some(action) = lock(&self.0).actions.iter_mut().rev().find(|one| one.id == id) {
            change(action);
        }
    }

    /// Returns the actions so far.
    pub(crate) fn actions(&self) -> Vec<ActionReport> {
        lock(&self.0).actions.clone()
    }

    /// Returns what is needed to reproduce the run.
    pub(crate) fn reproduction(&self, contract: &Contract, version: &str) -> Reproduction {
        let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        Reproduction {
            version: version.to_owned(),
            contract: serde_json::to_value(contract).map(|value| hash(&value)).unwrap_or_default(),
            platform: format!("{os}-{architecture}"),
            ..lock(&self.0).reproduction.clone()
        }
    }
}

/// Describes a call: the command, the file, or the arguments.
fn describe(session: &AgentSession, tool: &str, arguments: &Map<String, Value>) -> String {
    let summary = session.effects_of(tool, arguments).summary.map(|summary| summary.text);
    let text = summary.unwrap_or_else(|| Value::Object(arguments.clone()).to_string());
    let text = session.redacted(&text);
    cut(&text, SHOWN).into_owned()
}
