//! Adds the facts that a summary lost, verbatim.

use super::verify::{Facts, Finding};

const HEADING: &str = "## Carried Over Verbatim";
const NOTE: &str = "Quoted from the conversation, oldest first. Where this differs from the \
    summary above, this is right; later statements override earlier ones.";

/// Returns the summary with what it lost.
///
/// Files are not repeated: they are listed at the end of every summary.
pub(super) fn restore(summary: &str, findings: &[Finding]) -> String {
    let mut lost = Facts::default();
    let mut out = summary.trim_end().to_owned();
    for finding in findings.iter().cloned() {
        match finding {
            Finding::MissingSections { sections } => {
                for section in sections {
                    out.push_str(&format!("\n\n## {section}\n(not stated)"));
                }
            }
            Finding::MissingConstraint { text } => lost.constraints.push(text),
            Finding::MissingInstruction { text } => lost.instruction = Some(text),
            Finding::MissingError { error } => lost.errors.push(error),
            Finding::MissingStep { text } => lost.open_items.push(text),
            _ => {}
        }
    }
    let lost = facts_as_markdown(&lost);
    if !lost.is_empty() {
        out.push_str(&format!("\n\n{HEADING}\n{NOTE}{lost}"));
    }
    out
}

/// Writes facts as sections, files excepted; empty if there are none.
pub(super) fn facts_as_markdown(facts: &Facts) -> String {
    let mut out = String::new();
    let mut section = |heading: &str, items: Vec<String>| {
        if !items.is_empty() {
            out.push_str(&format!("\n\n### {heading}\n{}", items.join("\n")));
        }
    };
    let quoted = facts.instruction.iter().flat_map(|text| text.lines());
    let errors =
        facts.errors.iter().map(|error| format!("- `{}`: {}", error.action, error.message));
    section("User constraints", facts.constraints.iter().map(|text| format!("- {text}")).collect());
    section("Latest user instruction", quoted.map(|line| format!("> {line}")).collect());
    section("Unresolved errors", errors.collect());
    section("Open steps", facts.open_items.iter().map(|text| format!("- [ ] {text}")).collect());
    out
}
