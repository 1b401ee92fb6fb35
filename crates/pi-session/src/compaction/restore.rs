//! Putting back what a summary lost, word for word.

use super::verify::{Facts, Finding, OpenError};

/// The heading under which lost facts are put back.
const HEADING: &str = "## Carried Over Verbatim";

/// The summary with what it lost; unchanged if that is nothing.
///
/// Files are not repeated here: they are listed at the end of every summary.
pub(super) fn restore(summary: &str, findings: &[Finding]) -> String {
    let lost = Lost::from(findings);
    if lost.is_empty() {
        return summary.to_owned();
    }
    let mut out = summary.trim_end().to_owned();
    for section in &lost.sections {
        out.push_str(&format!("\n\n## {section}\n(not stated)"));
    }
    let text = lost.to_markdown();
    if !text.is_empty() {
        out.push_str(&format!("\n\n{HEADING}\n"));
        out.push_str("Taken from the conversation as it was said. Where it differs from the summary above, this holds.");
        out.push_str(&text);
    }
    out
}

/// All facts, in the same form: the heart of a summary that no model wrote.
pub(super) fn facts_as_markdown(facts: &Facts) -> String {
    Lost {
        sections: Vec::new(),
        constraints: facts.constraints.iter().map(String::as_str).collect(),
        instruction: facts.instruction.as_deref(),
        errors: facts.errors.iter().collect(),
        steps: facts.open_items.iter().map(String::as_str).collect(),
    }
    .to_markdown()
}

#[derive(Default)]
struct Lost<'a> {
    sections: Vec<&'a str>,
    constraints: Vec<&'a str>,
    instruction: Option<&'a str>,
    errors: Vec<&'a OpenError>,
    steps: Vec<&'a str>,
}

impl<'a> Lost<'a> {
    fn from(findings: &'a [Finding]) -> Self {
        let mut lost = Self::default();
        for finding in findings {
            match finding {
                Finding::MissingSections { sections } => {
                    lost.sections.extend(sections.iter().map(String::as_str));
                }
                Finding::MissingConstraint { text } | Finding::ContradictedConstraint { text } => {
                    lost.constraints.push(text);
                }
                Finding::MissingInstruction { text } => lost.instruction = Some(text),
                Finding::MissingError { error } => lost.errors.push(error),
                Finding::MissingStep { text } => lost.steps.push(text),
                _ => {}
            }
        }
        lost
    }

    fn is_empty(&self) -> bool {
        self.sections.is_empty() && self.to_markdown().is_empty()
    }

    fn to_markdown(&self) -> String {
        let mut out = String::new();
        let mut list = |heading: &str, items: Vec<String>| {
            if !items.is_empty() {
                out.push_str(&format!("\n\n### {heading}\n{}", items.join("\n")));
            }
        };
        list("The user's constraints", self.constraints.iter().map(|c| format!("- {c}")).collect());
        list("The user's latest instruction", self.instruction.map(quote).into_iter().collect());
        let errors = self.errors.iter().map(|e| format!("- `{}`: {}", e.action, e.message));
        list("Errors not put right", errors.collect());
        list("Steps not done", self.steps.iter().map(|step| format!("- [ ] {step}")).collect());
        out
    }
}

fn quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}
