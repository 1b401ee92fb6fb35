//! The most that a caller of a server can get: what the program and the settings give.

use std::time::Duration;

use pi_agent::Limits;
use pi_config::settings::Profile;
use serde_json::{Map, Value, json};

/// The limits that a caller can lower: their names for callers and in the settings.
pub const LIMITS: [(&str, &str); 5] = [
    ("turns", "maxTurns"),
    ("tool_calls", "maxToolCalls"),
    ("tokens", "maxTokens"),
    ("cost_usd", "maxCost"),
    ("seconds", "timeoutSeconds"),
];

/// What a caller wishes of a run: less than it can get.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wishes {
    /// Safety profile.
    pub profile: Option<String>,
    /// Limits, by their names for callers.
    pub limits: Map<String, Value>,
}

impl Wishes {
    /// Returns these wishes, with the earlier ones of the session where there are none.
    pub fn after(mut self, earlier: Self) -> Self {
        let mut limits = earlier.limits;
        limits.extend(self.limits);
        self.limits = limits;
        self.profile = self.profile.or(earlier.profile);
        self
    }
}

/// The most that a caller can get.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    profile: Profile,
    /// In the order of [`LIMITS`].
    limits: [Option<f64>; 5],
}

impl Ceiling {
    /// Creates the ceiling of a server with this profile and these limits.
    pub fn new(profile: Profile, limits: &Limits) -> Self {
        let limits = [
            limits.turns.map(f64::from),
            limits.tool_calls.map(f64::from),
            limits.tokens.map(|tokens| tokens as f64),
            limits.cost,
            limits.wall_time.as_ref().map(Duration::as_secs_f64),
        ];
        Self { profile, limits }
    }

    /// Adds what a caller wishes to the settings of its run. The error is a message for the caller.
    pub fn narrow(&self, wishes: &Wishes, settings: &mut Map<String, Value>) -> Result<(), String> {
        let profile = self.profile(wishes.profile.as_deref())?;
        set(settings, "guard", "profile", json!(profile.as_str()));
        for (name, wished) in &wishes.limits {
            let Some(at) = LIMITS.iter().position(|(known, _)| known == name) else {
                let known = LIMITS.map(|(name, _)| name).join(", ");
                return Err(format!("unknown limit \"{name}\": expected {known}"));
            };
            let wished = wished.as_f64().filter(|wished| wished.is_finite() && *wished > 0.0);
            let Some(wished) = wished else {
                return Err(format!("the limit {name} must be a positive number"));
            };
            let value = self.limits[at].map_or(wished, |most| most.min(wished));
            let value = match name.as_str() {
                "cost_usd" => json!(value),
                // A part of a turn or second is none.
                _ => json!(value.ceil() as u64),
            };
            set(settings, "limits", LIMITS[at].1, value);
        }
        Ok(())
    }

    /// Returns the most that a run with these wishes can cost, in US dollars.
    pub fn cost(&self, wishes: &Wishes) -> Option<f64> {
        let [_, _, _, own, _] = self.limits;
        let wished = wishes.limits.get("cost_usd").and_then(Value::as_f64);
        own.into_iter().chain(wished).reduce(f64::min)
    }

    fn profile(&self, wished: Option<&str>) -> Result<Profile, String> {
        let Some(wished) = wished else { return Ok(self.profile) };
        let profile: Profile =
            wished.parse().map_err(|_| format!("unknown profile \"{wished}\""))?;
        // `careful` and `unattended` cannot be compared: `unattended` asks no one, but runs things
        // in its sandbox that `careful` refuses without an approval.
        if profile != self.profile && self.profile != Profile::Explore {
            let own = self.profile.as_str();
            let problem = format!("the profile {wished} is not stricter than {own}");
            return Err(format!("{problem}, that of this server; leave out profile"));
        }
        Ok(profile)
    }
}

/// Limits what a run can cost, in US dollars.
pub fn limit_cost(settings: &mut Map<String, Value>, cost: f64) {
    set(settings, "limits", "maxCost", json!(cost));
}

fn set(settings: &mut Map<String, Value>, group: &str, key: &str, value: Value) {
    let group = settings.entry(group).or_insert_with(|| json!({}));
    if let Value::Object(group) = group {
        group.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(profile: Profile, wish: Option<&str>, limits: Value) -> Result<Value, String> {
        let mut given = Limits::default();
        given.turns = Some(10);
        given.cost = Some(1.5);
        let ceiling = Ceiling::new(profile, &given);
        let Value::Object(limits) = limits else { panic!("{limits}") };
        let wishes = Wishes { profile: wish.map(str::to_owned), limits };
        let mut settings = Map::new();
        ceiling.narrow(&wishes, &mut settings).map(|()| Value::Object(settings))
    }

    #[test]
    fn a_profile_can_only_become_stricter() {
        use Profile::{Careful, Explore, Unattended};
        let cases = [
            (Explore, None, Ok("explore")),
            (Explore, Some("explore"), Ok("explore")),
            (Explore, Some("careful"), Ok("careful")),
            (Explore, Some("unattended"), Ok("unattended")),
            (Careful, None, Ok("careful")),
            (Careful, Some("careful"), Ok("careful")),
            (Careful, Some("unattended"), Err("not stricter than careful")),
            (Careful, Some("explore"), Err("not stricter than careful")),
            (Unattended, None, Ok("unattended")),
            (Unattended, Some("unattended"), Ok("unattended")),
            (Unattended, Some("careful"), Err("not stricter than unattended")),
            (Unattended, Some("explore"), Err("not stricter than unattended")),
            (Careful, Some("root"), Err("unknown")),
        ];
        for (given, wish, expected) in cases {
            match (narrowed(given, wish, json!({})), expected) {
                (Ok(settings), Ok(profile)) => assert_eq!(settings["guard"]["profile"], profile),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (found, _) => panic!("{given:?} {wish:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn wishes_hold_until_others_replace_them() {
        let limits = |value: Value| value.as_object().cloned().unwrap_or_default();
        let careful = Some("careful".to_owned());
        let earlier =
            Wishes { profile: careful.clone(), limits: limits(json!({ "turns": 2, "tokens": 9 })) };
        assert_eq!(Wishes::default().after(earlier.clone()), earlier);
        let wished = Wishes { profile: None, limits: limits(json!({ "turns": 5 })) };
        let expected =
            Wishes { profile: careful, limits: limits(json!({ "turns": 5, "tokens": 9 })) };
        assert_eq!(wished.after(earlier), expected);
    }

    #[test]
    fn limits_can_only_become_lower() {
        let wish = json!({ "turns": 1e6, "cost_usd": 0.25, "tokens": 5.0 });
        let settings = narrowed(Profile::Careful, None, wish).expect("limits");
        let expected = json!({ "maxTurns": 10, "maxCost": 0.25, "maxTokens": 5 });
        assert_eq!(settings["limits"], expected);
        for wish in [json!({ "turns": 0 }), json!({ "turns": -1 }), json!({ "turns": "9" })] {
            let error = narrowed(Profile::Careful, None, wish).expect_err("refused");
            assert!(error.contains("positive"), "{error}");
        }
        let error =
            narrowed(Profile::Careful, None, json!({ "maxTurns": 1 })).expect_err("unknown");
        assert!(error.contains("unknown limit"), "{error}");
    }
}
