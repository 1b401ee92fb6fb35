//! Limits of a run, and durations as people write them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pi_agent::Limits;
use pi_protocol::parse_size;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Limits of the whole run. 0 turns a limit off.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ContractLimits {
    /// Requests to models; 500 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tool calls; 2000 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    /// Tokens, input and output together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Time from the start of the run; 4 hours by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Time>,
    /// Time without an event of the model or progress of a tool; 1 hour by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Time>,
    /// Bytes of answers and tool results, or a text such as `10MB`; 64 MiB by default.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "size")]
    #[schemars(with = "Option<Size>")]
    pub output_bytes: Option<u64>,
    /// Calls of single tools, by the name of the tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub per_tool: BTreeMap<String, u32>,
}

impl ContractLimits {
    /// Sets the limits that the contract leaves open to those of the user's settings.
    pub fn complete(&mut self, configured: &Limits) {
        self.turns = self.turns.or(configured.turns);
        self.tool_calls = self.tool_calls.or(configured.tool_calls);
        self.tokens = self.tokens.or(configured.tokens);
        self.cost_usd = self.cost_usd.or(configured.cost);
        self.wall = self.wall.or(configured.wall_time.map(Time));
        self.idle = self.idle.or(configured.idle_time.map(Time));
        self.output_bytes = self.output_bytes.or(configured.output_bytes);
        for (tool, calls) in &configured.calls_per_tool {
            self.per_tool.entry(tool.clone()).or_insert(*calls);
        }
    }

    /// Returns the limits in force: with the defaults, and without those that are off.
    pub fn in_force(&self) -> Self {
        let limits = self.limits();
        Self {
            turns: limits.turns,
            tool_calls: limits.tool_calls,
            tokens: limits.tokens,
            cost_usd: limits.cost,
            wall: limits.wall_time.map(Time),
            idle: limits.idle_time.map(Time),
            output_bytes: limits.output_bytes,
            per_tool: limits.calls_per_tool,
        }
    }

    /// Returns the limits of the run, with the defaults of unattended runs.
    pub fn limits(&self) -> Limits {
        let time = |given: Option<Time>, default: u64| {
            let time = given.map_or(Duration::from_secs(default), |time| time.0);
            if time.is_zero() { None } else { Some(time) }
        };
        let mut limits = Limits::default();
        limits.turns = Some(self.turns.unwrap_or(500)).filter(|limit| *limit > 0);
        limits.tool_calls = Some(self.tool_calls.unwrap_or(2_000)).filter(|limit| *limit > 0);
        limits.tokens = self.tokens.filter(|limit| *limit > 0);
        limits.cost = self.cost_usd.filter(|limit| *limit > 0.0);
        limits.wall_time = time(self.wall, 4 * 3600);
        limits.idle_time = time(self.idle, 3600);
        limits.output_bytes =
            Some(self.output_bytes.unwrap_or(64 << 20)).filter(|limit| *limit > 0);
        limits.calls_per_tool.clone_from(&self.per_tool);
        limits.calls_per_tool.retain(|_, calls| *calls > 0);
        limits
    }
}

/// A number of bytes, or a text with a unit. Only for the schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)] // The published schema is made from it.
enum Size {
    Bytes(u64),
    Text(#[schemars(regex(pattern = r"^[0-9]+ ?([kKmMgG]?i?[bB]?)$"))] String),
}

/// Reads a number of bytes, or a text with a unit.
fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Bytes(u64),
        Text(String),
    }
    let parsed = match Option::<Written>::deserialize(deserializer) {
        Ok(None) => return Ok(None),
        Ok(Some(Written::Bytes(bytes))) => Some(bytes),
        Ok(Some(Written::Text(text))) => parse_size(&text),
        Err(_) => None,
    };
    let invalid = "invalid size: expected bytes, or a text such as 10MB";
    parsed.map(Some).ok_or_else(|| serde::de::Error::custom(invalid))
}

/// Repetitions at which a run ends early. 0 turns a check off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct StuckLimits {
    /// Identical tool calls in a row with the same result.
    pub identical_calls: u32,
    /// Tool calls in a row that fail with the same error.
    pub same_error: u32,
    /// Returns of a file to an earlier content.
    pub oscillating_edits: u32,
    /// Turns in a row without a new file content or a new tool result.
    pub turns_without_progress: u32,
    /// Rounds in a row whose checks fail in the same way.
    pub same_failure: u32,
    /// Commands that wait on purpose; their repetition is no sign of being stuck. Patterns with `*`.
    pub polling: Vec<String>,
}

impl Default for StuckLimits {
    fn default() -> Self {
        Self {
            identical_calls: 5,
            same_error: 4,
            oscillating_edits: 3,
            turns_without_progress: 12,
            same_failure: 3,
            polling: Vec::new(),
        }
    }
}

/// A duration: seconds as a number, or a text such as `90s`, `30m`, `1h30m`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// Parses a duration.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(Self(Duration::from_secs(seconds)));
        }
        let mut total = Duration::ZERO;
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
            let (number, tail) = rest.split_at(digits);
            let number: u64 = number.parse().ok()?;
            let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit);
            let part = match unit.trim() {
                "ms" => Duration::from_millis(number),
                "s" => Duration::from_secs(number),
                "m" => Duration::from_secs(number.checked_mul(60)?),
                "h" => Duration::from_secs(number.checked_mul(3600)?),
                "d" => Duration::from_secs(number.checked_mul(86_400)?),
                _ => return None,
            };
            total = total.checked_add(part)?;
            rest = tail;
        }
        if text.is_empty() { None } else { Some(Self(total)) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if !millis.is_multiple_of(1000) {
            return write!(f, "{millis}ms");
        }
        let seconds = millis / 1000;
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if seconds > 0 || (hours == 0 && minutes == 0) {
            write!(f, "{seconds}s")?;
        }
        Ok(())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Seconds(u64),
            Text(String),
        }
        let parsed = match Written::deserialize(deserializer) {
            Ok(Written::Seconds(seconds)) => Some(Self(Duration::from_secs(seconds))),
            Ok(Written::Text(text)) => Self::parse(&text),
            Err(_) => None,
        };
        parsed.ok_or_else(|| {
            serde::de::Error::custom("invalid duration: expected seconds, or a text such as 30m")
        })
    }
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration: seconds, or a text such as 90s, 30m or 1h30m.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                {
                    "description": "a duration: seconds, or a text such as 90s, 30m or 1h30m",
                    "type": "string",
                    "pattern": "^([0-9]+(ms|s|m|h|d)?)+$"
                }
            ]
        })
    }
}
