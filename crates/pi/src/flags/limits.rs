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
        Set::Checked(|a, text| {
            let dollars = text.trim_start_matches('$').parse::<f64>().ok();
            match dollars.filter(|dollars| dollars.is_finite() && *dollars >= 0.0) {
                Some(dollars) => a.limit("maxCost", json!(dollars)),
                None => Err(format!("--max-cost: \"{text}\" is not an amount such as 2.50")),
            }
        }),
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
];

/// Zero switches a limit off, in the settings and here.
fn whole(option: &str, text: &str) -> Result<Json, String> {
    let number = text.parse::<u32>();
    number.map(Json::from).map_err(|_| format!("--{option}: \"{text}\" is not a whole number"))
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
}
