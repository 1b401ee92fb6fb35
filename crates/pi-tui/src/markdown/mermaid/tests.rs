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

/// Returns charts with their drawings.
fn drawings(charts: &[&str]) -> String {
    let drawing =
        |chart: &&str| format!("{chart}\n\n{}\n", drawn(chart).unwrap_or("(source)".to_owned()));
    charts.iter().map(drawing).collect::<Vec<_>>().join("\n")
}

#[test]
fn cycles() {
    insta::assert_snapshot!(drawings(&[
        "graph TD; A-->B; B-->A",
        "graph LR; A-->B; B-->A",
        "flowchart TD\n  A[Write code] --> B{Tests pass?}\n  B -->|no| C[Fix]\n  C --> A\n  B -->|yes| D[Ship]",
        "flowchart LR\n  A[Idle] --> B[Running]\n  B -->|pause| C[Paused]\n  C -->|resume| B\n  B -->|stop| A",
        "flowchart TD\n  A[Idle] --> B[Running]\n  B -->|pause| C[Paused]\n  C -->|resume| B\n  B -->|stop| A",
        "graph TD\n  A -->|again| A\n  A --> B",
        "graph LR\n  A -->|again| A\n  A --> B",
        "graph LR\nA --> C\nB -->|x| C",
    ]));
}

#[test]
fn subgraphs() {
    insta::assert_snapshot!(drawings(&[
        "graph TD\n  subgraph Frontend\n    A[Web] --> B[App]\n  end\n  subgraph back [Back end]\n    C[API] --> D[(Database)]\n    C --> E[Cache]\n  end\n  B --> C",
        "graph LR\n  U[User] --> A\n  subgraph Server\n    A[API] --> B[(DB)]\n  end\n  B --> R[Report]",
        "graph TD\n  A --> B\n  subgraph one\n    B --> C\n    C --> B\n  end\n  C --> A",
    ]));
}

#[test]
fn states() {
    insta::assert_snapshot!(drawings(&[
        "stateDiagram-v2\n  [*] --> Idle\n  Idle --> Running : start\n  Running --> Paused : pause\n  Paused --> Running : resume\n  Running --> Idle : stop\n  Running --> [*]",
        "stateDiagram-v2\n  direction LR\n  [*] --> Still\n  Still --> Moving\n  Moving --> Still\n  Moving --> Crash\n  Crash --> [*]",
        "stateDiagram-v2\n  state \"Waits for input\" as W\n  [*] --> W\n  W --> Work\n  state Work {\n    [*] --> Read\n    Read --> Write\n    Write --> [*]\n  }\n  Work --> [*]",
        "stateDiagram\n  A : a description\n  A --> B\n  A --> C\n  B --> C : later",
    ]));
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
        "graph RL\nA --> B",
        // A subgraph inside of another, without nodes, without an end, as the end of an edge.
        "graph LR\nsubgraph x\nsubgraph y\nA --> B\nend\nend",
        "graph LR\nsubgraph x\nend\nA --> B",
        "graph LR\nsubgraph x\nA --> B",
        "graph LR\nsubgraph x\nA --> B\nend\nC --> x",
        "graph LR\nA --> B\nend",
        "stateDiagram-v2\nA --> B\nnote right of A: why",
        "stateDiagram-v2\nstate A {\nB --> C\n--\nD --> E\n}",
        "graph LR\nA[open --> B",
        "graph LR\n--> B",
        "graph LR\nA -->",
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
