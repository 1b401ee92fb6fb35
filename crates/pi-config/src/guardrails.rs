//! The format of guardrails in settings and task files, and their rules about texts.
//!
//! Nothing here runs a command or asks a model: that belongs to the sessions.

mod rule;

use std::time::Duration;

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::DEFAULT_TIMEOUT;
use crate::matcher::Matcher;
pub use rule::strings;

/// Number of times that an answer is asked for again by default.
const RETRIES: u32 = 2;

/// A guardrail as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Guardrail")]
#[non_exhaustive]
pub struct GuardrailPlan {
    /// Name in reports.
    pub name: String,
    /// What is checked: prompts (`input`), final answers (`output`), tool calls or tool results.
    pub on: GuardrailPosition,
    /// Tool calls and results that are checked; all if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<GuardrailScope>,
    /// A rule about the text. Exactly one of `rule`, `command` and `model` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<GuardrailRule>,
    /// A command that decides: it reads a JSON object on stdin and answers like a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// `false` runs the command without the sandbox of the session, with the root directory as the
    /// working directory. It cannot name files that the agent can write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<bool>,
    /// A model that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<GuardrailModel>,
    /// Seconds after which a command or model counts as failed. Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub timeout: Option<f64>,
    /// Consequence: `block` (default), `rewrite`, `stop` or `note`.
    #[serde(default)]
    pub action: GuardrailAction,
    /// Text in place of what `rewrite` removes. Default: `[removed]`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "replace_with")]
    pub replace_with: Option<String>,
    /// Reason that the model and the user read, instead of a description of the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Number of times that the model is asked for another answer after a blocked one, before the
    /// run is stopped. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// The position of a guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardrailPosition {
    /// Prompts, before they reach the model.
    Input,
    /// Final answers, before they are shown or stored.
    Output,
    /// Tool calls, before they run.
    ToolCall,
    /// Tool results, before the model reads them.
    ToolResult,
}

impl GuardrailPosition {
    /// Returns the name, as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::ToolCall => "tool-call",
            Self::ToolResult => "tool-result",
        }
    }
}

/// The consequence of a tripped guardrail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardrailAction {
    /// The prompt, answer, call or result does not pass.
    #[default]
    Block,
    /// The finding is removed.
    Rewrite,
    /// The run ends.
    Stop,
    /// The finding is recorded and nothing changes.
    Note,
}

/// The tool calls and results that a guardrail checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardrailScope {
    /// Pattern for the name of the tool: names separated by `|`, a glob or a regular expression.
    pub tool: String,
}

/// A rule about a text. It is tripped if one of its conditions holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardrailRule {
    /// A regular expression that must not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// A regular expression that must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// The most characters that the text may have.
    #[serde(skip_serializing_if = "Option::is_none", alias = "max_chars")]
    pub max_chars: Option<usize>,
    /// True if the text must not contain a credential.
    #[serde(skip_serializing_if = "std::ops::Not::not", alias = "contains_secret")]
    pub contains_secret: bool,
}

/// A model that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardrailModel {
    /// The model as `provider/id`; that of the session by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the text must not contain or do.
    #[serde(alias = "rubric")]
    pub prompt: String,
}

/// A valid guardrail.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "GuardrailPlan", into = "GuardrailPlan")]
pub struct Guardrail {
    plan: GuardrailPlan,
    tool: Matcher,
    matches: Option<Regex>,
    lacks: Option<Regex>,
}

impl PartialEq for Guardrail {
    fn eq(&self, other: &Self) -> bool {
        self.plan == other.plan
    }
}

impl From<Guardrail> for GuardrailPlan {
    fn from(guardrail: Guardrail) -> Self {
        guardrail.plan
    }
}

impl TryFrom<GuardrailPlan> for Guardrail {
    type Error = String;

    fn try_from(plan: GuardrailPlan) -> Result<Self, String> {
        check(&plan).map_err(|problem| format!("guardrail \"{}\": {problem}", plan.name))?;
        let named = |problem: String| format!("guardrail \"{}\": {problem}", plan.name);
        let tool = plan.when.as_ref().map_or("*", |when| when.tool.as_str());
        let tool = Matcher::parse(tool).map_err(|error| named(error.to_string()))?;
        let rule = plan.rule.clone().unwrap_or_default();
        let compile = |pattern: Option<String>| match pattern {
            None => Ok(None),
            Some(pattern) => Regex::new(&pattern)
                .map(Some)
                .map_err(|error| named(format!("invalid pattern \"{pattern}\": {error}"))),
        };
        let (matches, lacks) = (compile(rule.matches)?, compile(rule.lacks)?);
        Ok(Self { plan, tool, matches, lacks })
    }
}

/// Checks what the types do not express.
fn check(plan: &GuardrailPlan) -> Result<(), String> {
    let checks = [plan.rule.is_some(), plan.command.is_some(), plan.model.is_some()];
    if checks.into_iter().filter(|given| *given).count() != 1 {
        return Err("expected exactly one of rule, command and model".to_owned());
    }
    if plan.name.trim().is_empty() {
        return Err("the name is empty".to_owned());
    }
    if let Some(rule) = &plan.rule {
        if *rule == GuardrailRule::default() {
            return Err("the rule has no condition".to_owned());
        }
        let needs_text = plan.action == GuardrailAction::Rewrite && rule.lacks.is_some();
        if needs_text && plan.replace_with.is_none() {
            return Err(
                "a text that lacks something is rewritten as a whole: add replaceWith".into()
            );
        }
    }
    if plan.sandbox.is_some() && plan.command.is_none() {
        return Err("sandbox is for commands".to_owned());
    }
    if plan.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
        return Err("the command is empty".to_owned());
    }
    let is_of_tools =
        matches!(plan.on, GuardrailPosition::ToolCall | GuardrailPosition::ToolResult);
    if plan.when.is_some() && !is_of_tools {
        return Err(format!("`when` has no effect on {}", plan.on.name()));
    }
    if plan.retries.is_some() && plan.on != GuardrailPosition::Output {
        return Err(format!("`retries` has no effect on {}", plan.on.name()));
    }
    match plan.timeout {
        Some(seconds) if !(seconds > 0.0 && seconds <= 86_400.0) => {
            Err(format!("the timeout {seconds} is not a number of seconds up to a day"))
        }
        _ => Ok(()),
    }
}

impl Guardrail {
    /// Returns the guardrail as it is written.
    pub fn plan(&self) -> &GuardrailPlan {
        &self.plan
    }

    /// Returns true if the guardrail checks calls of a tool.
    pub fn concerns(&self, tool: &str) -> bool {
        self.tool.matches(tool)
    }

    /// Returns the time limit of the command or model.
    pub fn timeout(&self) -> Duration {
        self.plan.timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs_f64)
    }

    /// Returns the number of times that another answer is asked for.
    pub fn retries(&self) -> u32 {
        self.plan.retries.unwrap_or(RETRIES)
    }

    /// Returns the text in place of what is removed.
    fn replacement(&self) -> &str {
        self.plan.replace_with.as_deref().unwrap_or("[removed]")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_guardrails_are_refused() {
        let cases = [
            json!({ "name": "a", "on": "input" }),
            json!({ "name": "a", "on": "input", "rule": {} }),
            json!({ "name": "a", "on": "input", "rule": { "matches": "(" } }),
            json!({ "name": "a", "on": "input", "rule": { "match": "x" } }),
            json!({ "name": "a", "on": "input", "rule": { "matches": "x" }, "command": "true" }),
            json!({ "name": " ", "on": "input", "command": "true" }),
            json!({ "name": "a", "on": "input", "command": " " }),
            json!({ "name": "a", "on": "tools", "command": "true" }),
            json!({ "name": "a", "on": "input", "command": "true", "action": "warn" }),
            json!({ "name": "a", "on": "input", "command": "true", "timeout": 0 }),
            json!({ "name": "a", "on": "input", "command": "true", "when": { "tool": "bash" } }),
            json!({ "name": "a", "on": "input", "command": "true", "retries": 1 }),
            json!({ "name": "a", "on": "tool-call", "command": "true", "when": { "tool": "(" } }),
            json!({ "name": "a", "on": "output", "rule": { "lacks": "x" }, "action": "rewrite" }),
        ];
        let errors = cases.map(|case| {
            let error = serde_json::from_value::<Guardrail>(case.clone()).unwrap_err();
            format!("{case}\n    {error}")
        });
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn a_guardrail_is_stored_as_it_was_written() {
        let written = json!({
            "name": "keys", "on": "tool-result", "when": { "tool": "bash" },
            "rule": { "matches": "key", "maxChars": 10, "containsSecret": true },
            "action": "rewrite", "replaceWith": "-",
        });
        let guardrail: Guardrail = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&guardrail).unwrap(), written);
        let snake = json!({
            "name": "keys", "on": "tool-result", "when": { "tool": "bash" },
            "rule": { "matches": "key", "max_chars": 10, "contains_secret": true },
            "action": "rewrite", "replace_with": "-",
        });
        assert_eq!(serde_json::from_value::<Guardrail>(snake).unwrap(), guardrail);
    }
}
