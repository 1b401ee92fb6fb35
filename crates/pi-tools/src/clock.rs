//! `clock`: the current time.

use std::sync::Arc;

use pi_agent::{FnTool, ToolError};
use pi_protocol::Effects;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::toolset::Builtin;
use crate::workspace::Workspace;

/// `clock` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "clock",
    active_by_default: false,
    needs_background: false,
    build: |workspace| Some(clock(workspace)),
    effects,
};

fn effects(_: &Map<String, Value>) -> Effects {
    Effects::none().summary("now", true)
}

/// The tool takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {}

fn clock(_: Arc<Workspace>) -> FnTool {
    FnTool::typed("clock", "Return the current time.", |_: Arguments, _| async {
        Ok::<_, ToolError>(format!("{} ms since the epoch", pi_protocol::now_ms()))
    })
    .effects(effects)
    .prompt_snippet("Return the current time")
}
