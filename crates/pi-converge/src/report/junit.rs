//! The checks as JUnit XML: one suite per run, one case per check.

use std::fmt::Write as _;

use super::{CheckReport, Report};
use crate::outcome::Outcome;

impl Report {
    /// Returns the checks as JUnit XML. A run that ends for another reason than a check has a case
    /// of its own with an error, so that it is never shown as a success.
    pub fn to_junit(&self) -> String {
        let failed = self.checks.iter().filter(|check| check.failed()).count();
        let skipped = self.checks.iter().filter(|check| check.skipped).count();
        let is_error = self.outcome != Outcome::Converged && failed == 0;
        let tests = self.checks.len() + usize::from(is_error);
        let name = self.name.as_deref().unwrap_or("pi run");
        let time = self.limits.spent.wall_time.as_secs_f64();
        let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(
            xml,
            "<testsuites tests=\"{tests}\" failures=\"{failed}\" errors=\"{}\" time=\"{time:.3}\">",
            u8::from(is_error)
        );
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"{}\" \
             skipped=\"{skipped}\" timestamp=\"{}\" time=\"{time:.3}\">",
            escaped(name),
            u8::from(is_error),
            escaped(&self.started),
        );
        self.properties(&mut xml);
        self.checks.iter().for_each(|check| case(check, &mut xml));
        if is_error {
            let (outcome, reason) = (escaped(self.outcome.name()), escaped(&self.reason));
            let _ = writeln!(
                xml,
                "    <testcase name=\"outcome\" classname=\"pi.run\" time=\"{time:.3}\">\n      \
                 <error type=\"{outcome}\" message=\"{reason}\"/>\n    </testcase>"
            );
        }
        xml.push_str("  </testsuite>\n</testsuites>\n");
        xml
    }

    fn properties(&self, xml: &mut String) {
        let spent = &self.limits.spent;
        let reached = self.limits.reached.map(|limit| limit.to_string()).unwrap_or_default();
        let properties = [
            ("run", self.id.clone()),
            ("outcome", self.outcome.name().to_owned()),
            ("reason", self.reason.clone()),
            ("cost_usd", format!("{:.6}", spent.cost)),
            ("tokens", spent.tokens.to_string()),
            ("turns", spent.turns.to_string()),
            ("tool_calls", spent.tool_calls.to_string()),
            ("limits", self.limits.limits.to_string()),
            ("limit_reached", reached),
            ("proves_nothing", self.proves_nothing.to_string()),
            ("version", self.reproduction.version.clone()),
            ("model", self.reproduction.model.clone().unwrap_or_default()),
        ];
        xml.push_str("    <properties>\n");
        for (name, value) in properties.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", escaped(value));
        }
        xml.push_str("    </properties>\n");
    }
}

fn case(check: &CheckReport, xml: &mut String) {
    let (name, kind) = (escaped(&check.name), escaped(&check.kind));
    let time = check.duration_ms as f64 / 1000.0;
    let _ = write!(xml, "    <testcase name=\"{name}\" classname=\"pi.{kind}\" time=\"{time:.3}\"");
    let output = check.output.as_deref().unwrap_or_default();
    if check.passed && output.is_empty() {
        xml.push_str("/>\n");
        return;
    }
    xml.push_str(">\n");
    if check.passed {
        let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(output));
    } else if check.skipped {
        let message = escaped(&check.failures.join("; "));
        let _ = writeln!(xml, "      <skipped message=\"{message}\"/>");
    } else {
        let message = escaped(&check.failures.join("; "));
        let mut text = check.failures.join("\n");
        if !output.is_empty() {
            text.push_str("\n\n");
            text.push_str(output);
        }
        let text = escaped(&text);
        let _ =
            writeln!(xml, "      <failure type=\"{kind}\" message=\"{message}\">{text}</failure>");
    }
    xml.push_str("    </testcase>\n");
}

/// Escapes a text for an element or an attribute. Characters that XML 1.0 does not permit are
/// replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            // Also in `]]>`, which must not occur in text.
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A parser would turn these into spaces in an attribute.
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
