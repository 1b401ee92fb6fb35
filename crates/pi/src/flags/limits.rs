//! The limits of a run. Each sets a key of the settings group `limits` for this run.

use serde_json::{Value as Json, json};

use super::options::{Set, Setting, option};
use super::{Flag, Group::Limits};
use crate::arguments::Arguments;

pub(super) const OPTIONS: &[Setting] = &[
    option(
        Flag::new("max-turns", Limits, "End the run after N requests to the model").takes_word("N"),
        Set::Checked(|a, text| a.limit("maxTurns", whole("max-turns", &text)?)),
    ),
    option(
        Flag::new("max-tool-calls", Limits, "End the run after N tool calls").takes_word("N"),
        Set::Checked(|a, text| a.limit("maxToolCalls", whole("max-tool-calls", &text)?)),
    ),
    option(
        Flag::new("max-tokens", Limits, "End the run after N tokens, input and output together")
            .takes_word("N"),
        Set::Checked(|a, text| a.limit("maxTokens", whole("max-tokens", &text)?)),
    ),
    option(
        Flag::new("max-cost", Limits, "End the run when it has cost this many US dollars")
            .takes_word("DOLLARS")
            .details("Models without prices, such as local ones, cost nothing."),
        Set::Checked(|a, text| a.limit("maxCost", dollars("max-cost", &text)?)),
    ),
    option(
        Flag::new("max-budget-usd", Limits, "Same as --max-cost").takes_word("DOLLARS"),
        Set::Checked(|a, text| a.limit("maxCost", dollars("max-budget-usd", &text)?)),
    ),
    option(
        Flag::new("timeout", Limits, "End the run after this time, such as 90s, 30m or 2h")
            .takes_word("TIME")
            .details("A number without a unit means seconds."),
        Set::Checked(|a, text| a.limit("timeoutSeconds", seconds("timeout", &text)?)),
    ),
    option(
        Flag::new(
            "idle-timeout",
            Limits,
            "End the run after this time without progress of the model or of a tool",
        )
        .takes_word("TIME"),
        Set::Checked(|a, text| a.limit("idleTimeoutSeconds", seconds("idle-timeout", &text)?)),
    ),
    option(
        Flag::new("max-output", Limits, "End the run after this much output, such as 10MB")
            .takes_word("SIZE")
            .details("Answers of the model and the output of tools count. A number without a unit means bytes."),
        Set::Checked(|a, text| a.limit("maxOutputBytes", bytes("max-output", &text)?)),
    ),
    option(
        Flag::new("max-calls", Limits, "End the run after N calls of one tool, such as bash=50")
            .takes_word("TOOL=N")
            .repeats(),
        Set::Checked(|a, text| a.limit_of_tool(&text)),
    ),
];

/// Zero switches a limit off, in the settings and here.
fn whole(option: &str, text: &str) -> Result<Json, String> {
    let number = text.parse::<u32>();
    number.map(Json::from).map_err(|_| format!("--{option}: \"{text}\" is not a whole number"))
}

fn dollars(option: &str, text: &str) -> Result<Json, String> {
    let dollars = text.trim_start_matches('$').parse::<f64>().ok();
    match dollars.filter(|dollars| dollars.is_finite() && *dollars >= 0.0) {
        Some(dollars) => Ok(json!(dollars)),
        None => Err(format!("--{option}: \"{text}\" is not an amount such as 2.50")),
    }
}

fn bytes(option: &str, text: &str) -> Result<Json, String> {
    let invalid = || format!("--{option}: \"{text}\" is not a size such as 500KB or 10MB");
    pi_protocol::parse_size(text).map(Json::from).ok_or_else(invalid)
}

fn seconds(option: &str, text: &str) -> Result<Json, String> {
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let number = number.parse::<u32>().ok();
    match number.zip(factor) {
        Some((number, factor)) => Ok(Json::from(u64::from(number) * factor)),
        None => Err(format!("--{option}: \"{text}\" is not a time such as 90s, 30m or 2h")),
    }
}

impl Arguments {
    fn limit(&mut self, name: &str, value: Json) -> Result<(), String> {
        let limits = self.settings.entry("limits").or_insert_with(|| json!({}));
        if let Json::Object(limits) = limits {
            limits.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn limit_of_tool(&mut self, text: &str) -> Result<(), String> {
        let invalid = || format!("--max-calls: \"{text}\" is not TOOL=N, such as bash=50");
        let (tool, calls) = text.split_once('=').ok_or_else(invalid)?;
        let calls = calls.parse::<u32>().map_err(|_| invalid())?;
        let name = "maxCallsPerTool";
        let earlier = self.settings.get("limits").and_then(|limits| limits.get(name)).cloned();
        let mut tools = earlier.unwrap_or_else(|| json!({}));
        tools[tool] = Json::from(calls);
        self.limit(name, tools)
    }
}
