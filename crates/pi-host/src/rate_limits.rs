//! The limits of providers, for people.

use pi_coding_agent::session::ReportedLimits;

use pi_base::text::grouped;

/// A limit: the resource or window, and what is left of it.
#[derive(Debug, PartialEq, Eq)]
pub struct LimitLine {
    /// Name of the resource or window.
    pub name: String,
    /// The rest and the time of the reset.
    pub text: String,
}

/// Describes limits. `now` is in milliseconds since 1970.
pub fn describe(reported: &ReportedLimits, now: f64) -> Vec<LimitLine> {
    let limits = &reported.limits;
    let mut lines = Vec::new();
    for (name, limit) in limits.resources() {
        let left = match (limit.remaining, limit.limit) {
            (Some(left), Some(limit)) => format!("{} of {} left", grouped(left), grouped(limit)),
            (Some(left), None) => format!("{} left", grouped(left)),
            (None, Some(limit)) => format!("at most {}", grouped(limit)),
            (None, None) => continue,
        };
        let period = limit.period.as_deref().map(|period| format!(" per {period}"));
        let reset = reset(limit.reset, now);
        let text = format!("{left}{}{reset}", period.unwrap_or_default());
        lines.push(LimitLine { name: name.to_owned(), text });
    }
    for window in &limits.windows {
        let reset = reset(window.reset, now);
        let text = format!("{} % used{reset}", window.used_percent);
        lines.push(LimitLine { name: format!("{} window", window.name), text });
    }
    lines
}

/// Describes limits in one line.
pub fn in_one_line(reported: &ReportedLimits, now: f64) -> Option<String> {
    let lines = describe(reported, now);
    let parts: Vec<String> =
        lines.into_iter().map(|LimitLine { name, text }| format!("{name}: {text}")).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the time until a reset as a part of a sentence; empty if it is over or unknown.
fn reset(at: Option<u64>, now: f64) -> String {
    let Some(at) = at else { return String::new() };
    let seconds = ((at as f64 - now) / 1000.0).ceil();
    if seconds <= 0.0 {
        return String::new();
    }
    let (days, hours, minutes) =
        ((seconds / 86_400.0).floor(), seconds / 3600.0 % 24.0, seconds / 60.0 % 60.0);
    let text = if days >= 1.0 {
        format!("{days} d {} h", hours.floor())
    } else if seconds >= 3600.0 {
        format!("{} h {} min", hours.floor(), minutes.floor())
    } else if seconds >= 60.0 {
        format!("{} min", minutes.ceil())
    } else {
        format!("{seconds} s")
    };
    format!(", reset in {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_described() {
        let limits = serde_json::json!({
            "requests": {"limit": 14_400, "remaining": 14_370, "reset": 180_560, "period": "day"},
            "tokens": {"remaining": 0, "reset": 1000},
            "inputTokens": {"limit": 2_000_000},
            "outputTokens": {"reset": 5},
            "windows": [
                {"name": "5h", "usedPercent": 14, "reset": 11_001_000},
                {"name": "7d", "usedPercent": 94, "reset": 260_001_000},
            ],
        });
        let reported = ReportedLimits::new(0.0, serde_json::from_value(limits).unwrap());
        let lines = describe(&reported, 1000.0);
        let lines: Vec<String> =
            lines.iter().map(|line| format!("{}: {}", line.name, line.text)).collect();
        assert_eq!(
            lines,
            [
                "requests: 14,370 of 14,400 left per day, reset in 3 min",
                "tokens: 0 left",
                "input tokens: at most 2,000,000",
                "5h window: 14 % used, reset in 3 h 3 min",
                "7d window: 94 % used, reset in 3 d 0 h",
            ]
        );
        let nothing = ReportedLimits::new(0.0, Default::default());
        assert_eq!(in_one_line(&nothing, 0.0), None);
    }
}
