//! Tests of diagrams.

use super::draw;
use crate::text::Line;
use crate::theme::Theme;

fn drawn(source: &str) -> Option<String> {
    let lines = draw(source)?.lines(&Theme::plain());
    Some(lines.iter().map(Line::text).collect::<Vec<_>>().join("\n"))
}

#[test]
fn flowcharts() {
    let charts = [
        "graph LR\n  A[Start] --> B{Choice}\n  B -->|yes| C[Do it]\n  B -->|no| D[Stop]",
        "graph TD\n  A[Start] --> B{Choice}\n  B -->|yes| C[Do it]\n  B -->|no| D[Stop]\n  C --> E(End)\n  D --> E",
        "flowchart LR\n  A --> B --> C\n  A --> C",
        "flowchart TD\n  A & B --> C; C -- text --> D\n  A -.-> E",
        "graph LR\n  A --> C\n  A --> D\n  B --> C\n  B --> D",
        "flowchart TD\n  Client[\"Web (client)\"] --> API[API server]\n  API --> DB[(Database)]\n  API --> Cache\n  API --> Queue\n  Queue --> Worker\n  Worker --> DB",
        "graph LR\n  A[日本] --- B[語]",
    ];
    let drawings: Vec<String> = charts
        .iter()
        .map(|chart| format!("{chart}\n\n{}\n", drawn(chart).unwrap_or("(source)".to_owned())))
        .collect();
    insta::assert_snapshot!(drawings.join("\n"));
}

#[test]
fn sequences() {
    insta::assert_snapshot!(drawn("sequenceDiagram\n  participant A as Alice\n  participant B as Bob\n  A->>B: Hello Bob, how are you?\n  loop every minute\n  B-->>A: Fine\n  end\n  B->>B: Think\n  Note over A,B: A note\n  A-xC: Lost\n").unwrap());
}

#[test]
fn unsupported_diagrams_are_not_drawn() {
    for source in [
        "",
        "pie title Pets",
        "graph LR\nA --> B\nB --> A",
        "graph LR\nA --> A",
        "graph RL\nA --> B",
        "graph LR\nsubgraph x\nA --> B\nend",
        "graph LR\nA[open --> B",
        "graph LR\n--> B",
        "graph LR\nA -->",
        // The label would stand for both edges.
        "graph LR\nA --> C\nB -->|x| C",
        "sequenceDiagram\nA B",
    ] {
        assert_eq!(drawn(source), None, "{source}");
    }
}

#[test]
fn large_diagrams_are_refused_quickly() {
    let chain: String = (0..100).map(|at| format!("N{at} --> N{}\n", at + 1)).collect();
    assert_eq!(drawn(&format!("graph LR\n{chain}")), None);
    let full: String =
        (0..11).flat_map(|a| (a + 1..11).map(move |b| format!("N{a} --> N{b}\n"))).collect();
    drawn(&format!("graph TD\n{full}"));
    drawn(&format!("graph LR\n{}", "A & ".repeat(2000) + "A"));
}
