//! The findings of reviews as SARIF 2.1.0.

use serde_json::{Value, json};

use super::{Finding, Report};

impl Report {
    /// Returns the findings of reviews as SARIF. Other checks have no findings that a code scanner
    /// could show.
    pub fn to_sarif(&self) -> Value {
        let reviews = self.checks.iter().filter(|check| check.kind == "review");
        let findings: Vec<&Finding> = reviews.flat_map(|check| &check.findings).collect();
        let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        let described = |rule: &&str| json!({ "id": rule, "shortDescription": { "text": rule } });
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "pi",
                    "version": self.reproduction.version,
                    "rules": rules.iter().map(described).collect::<Vec<_>>(),
                } },
                "automationDetails": { "id": format!("pi-run/{}", self.id) },
                "results": findings.iter().map(|finding| result(finding)).collect::<Vec<_>>(),
            }],
        })
    }
}

fn result(finding: &Finding) -> Value {
    let level = match finding.level.as_str() {
        level @ ("error" | "warning" | "note") => level,
        _ => "warning",
    };
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level,
        "message": { "text": finding.message },
    });
    if let Some(file) = &finding.file {
        let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = finding.line.filter(|line| *line > 0) {
            place["region"] = json!({ "startLine": line });
        }
        result["locations"] = json!([{ "physicalLocation": place }]);
    }
    result
}

/// Returns a relative path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
