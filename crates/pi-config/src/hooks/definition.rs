//! The settings group `hooks`: hooks by event, in the layout that people know.
//!
//! Anything that is not understood is an error and not ignored: a misspelled event or matcher must
//! not mean that a restriction is missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use pi_base::text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{DEFAULT_TIMEOUT, HookEvent};
use crate::matcher::Matcher;

/// The longest time limit of a hook in seconds: a day.
const LONGEST: f64 = 86_400.0;

/// Length at which a command is cut that stands for the name of its hook.
const NAME_LENGTH: usize = 60;

/// A hook: a command that runs at an event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hook {
    /// Event at which the command runs.
    pub event: HookEvent,
    /// Name of the event as the settings have it.
    pub written_event: String,
    /// Pattern of the tools, reasons or agents for which the command runs.
    pub matcher: Matcher,
    /// Name in reports; the command if it has none.
    pub name: String,
    /// Command for the shell.
    pub command: String,
    /// Time limit.
    pub timeout: Duration,
    /// Consequence of a failure; by default it follows from the event and the profile.
    pub on_failure: Option<OnHookFailure>,
    /// `false` lets the command run without the sandbox of the session.
    pub sandbox: Option<bool>,
}

impl Hook {
    /// Returns the pattern of the tools, reasons or agents, as it was written.
    pub fn pattern(&self) -> &str {
        self.matcher.pattern()
    }
}

/// Consequence of a hook that fails, takes too long or answers with something invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnHookFailure {
    /// The failure is reported, and the action continues.
    Report,
    /// The failure is reported, and the action is refused.
    Refuse,
}

/// The group `hooks`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HooksGroup(pub Vec<Hook>);

/// The hooks of an event for one matcher.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HookList {
    /// Tools for which the hooks run: a name, names separated by `|`, a glob such as `mcp__*`, or a
    /// regular expression. All tools if it is absent, empty or `*`. For other events, the reason,
    /// the type of the notification or the name of the agent.
    #[serde(default)]
    matcher: Option<String>,
    /// The commands, in order.
    hooks: Vec<HookCommand>,
}

/// A command that runs at an event.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HookCommand {
    /// Kind of the hook: `command`.
    #[serde(default, rename = "type")]
    #[allow(dead_code)] // Checked when it is read; there is one kind.
    kind: Option<HookKind>,
    /// Command for the shell. It runs in the project directory, reads a JSON object on stdin, and
    /// decides with a JSON object on stdout or with its exit code.
    command: String,
    /// Seconds after which the command and everything it started are ended. Default: 60.
    #[serde(default)]
    #[schemars(range(min = 0))]
    timeout: Option<f64>,
    /// Name in reports, instead of the command.
    #[serde(default)]
    name: Option<String>,
    /// Consequence of a failure: `report` or `refuse`. By default, the failure of a hook before a
    /// tool, a prompt, a sub-agent or a run is a refusal in the profiles `careful` and
    /// `unattended`; all other failures are reported.
    #[serde(default)]
    on_failure: Option<OnHookFailure>,
    /// `false` runs the command without the sandbox of the session, with the root directory as the
    /// working directory. It cannot name files that the agent can write.
    #[serde(default)]
    sandbox: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum HookKind {
    Command,
}

impl<'de> Deserialize<'de> for HooksGroup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let events = BTreeMap::<String, Vec<HookList>>::deserialize(deserializer)?;
        let mut hooks = Vec::new();
        for (written_event, lists) in events {
            let Some(event) = HookEvent::find(&written_event) else {
                let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.name()).collect();
                return Err(D::Error::custom(format!(
                    "unknown event \"{written_event}\"; expected one of {}",
                    known.join(", ")
                )));
            };
            for list in lists {
                let pattern = list.matcher.as_deref().unwrap_or_default();
                let matcher = Matcher::parse(pattern).map_err(D::Error::custom)?;
                if event.subject().is_none() && !matcher.matches_all() {
                    return Err(D::Error::custom(format!(
                        "the event {written_event} has no matcher; remove \"{pattern}\""
                    )));
                }
                for command in list.hooks {
                    let hook = command.define(event, &written_event, &matcher);
                    hooks.push(hook.map_err(D::Error::custom)?);
                }
            }
        }
        Ok(Self(hooks))
    }
}

impl HookCommand {
    fn define(self, event: HookEvent, written: &str, matcher: &Matcher) -> Result<Hook, String> {
        if self.command.trim().is_empty() {
            return Err("a hook needs a command".to_owned());
        }
        let timeout = match self.timeout {
            None => DEFAULT_TIMEOUT,
            Some(seconds) if seconds > 0.0 && seconds <= LONGEST => {
                Duration::from_secs_f64(seconds)
            }
            Some(seconds) => {
                return Err(format!(
                    "the timeout {seconds} is not a number of seconds up to a day"
                ));
            }
        };
        let name = self.name.filter(|name| !name.trim().is_empty());
        let name = name.unwrap_or_else(|| short(&self.command));
        Ok(Hook {
            event,
            written_event: written.to_owned(),
            matcher: matcher.clone(),
            name,
            command: self.command,
            timeout,
            on_failure: self.on_failure,
            sandbox: self.sandbox,
        })
    }
}

/// Returns a command in one line of limited length.
fn short(command: &str) -> String {
    text::cut(&text::one_line(command), NAME_LENGTH).into_owned()
}

impl JsonSchema for HooksGroup {
    fn schema_name() -> Cow<'static, str> {
        "HooksGroup".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let lists = generator.subschema_for::<Vec<HookList>>().to_value();
        let mut properties = Map::new();
        for event in HookEvent::ALL {
            let mut property = lists.clone();
            property["description"] = json!(event.meaning());
            properties.insert(event.name().to_owned(), property);
        }
        let aliases: Vec<&str> = HookEvent::ALL.iter().filter_map(|event| event.alias()).collect();
        let aliases = format!("^({})$", aliases.join("|"));
        let others = Value::Object(Map::from_iter([(aliases, lists)]));
        json_schema!({
            "type": "object",
            "properties": properties,
            "patternProperties": others,
            "additionalProperties": false,
        })
    }
}
