//! What does *not* depend on what: the architecture, as a table.
//!
//! A rule may name a crate that does not exist yet. It applies from the day the crate does.

use std::collections::BTreeSet;

use super::Finding;
use super::graph::Graph;

/// What speaks HTTP or encrypts a connection.
const NETWORK: &[&str] = &["reqwest", "hyper", "rustls", "native-tls", "openssl", "ring"];

/// Something that a crate must not do.
struct Rule {
    name: &'static str,
    must_not: MustNot,
    why: &'static str,
}

enum MustNot {
    /// Depend on another crate of this repository.
    DependOnOurs,
    /// Depend on one of these, however indirectly.
    Reach(&'static [&'static str]),
}

use MustNot::{DependOnOurs, Reach};

const RULES: &[Rule] = &[
    Rule { name: "pi-protocol", must_not: DependOnOurs, why: "every crate depends on it" },
    Rule { name: "pi-guard", must_not: DependOnOurs, why: "it decides; it knows no agents" },
    Rule { name: "pi-tui", must_not: DependOnOurs, why: "it draws; it knows no agents" },
    Rule {
        name: "pi-protocol",
        must_not: Reach(&["tokio", "reqwest", "hyper", "rustls"]),
        why: "the vocabulary does no I/O",
    },
    Rule { name: "pi-agent", must_not: Reach(&["pi-ai"]), why: "a model is any Provider" },
    Rule { name: "pi-agent", must_not: Reach(HEAVY), why: "its tests build in seconds" },
    Rule { name: "pi-session", must_not: Reach(HEAVY), why: "its tests build in seconds" },
    Rule { name: "pi-tools", must_not: Reach(HEAVY), why: "its tests build in seconds" },
];

/// An HTTP client, a JavaScript engine, a terminal library.
const HEAVY: &[&str] = &["reqwest", "hyper", "rustls", "rquickjs", "crossterm"];

/// Dependencies that one crate has to itself.
const OWNERS: &[(&str, &str)] =
    &[("reqwest", "pi-ai"), ("rustls", "pi-ai"), ("rquickjs", "pi-extensions")];

/// Checks the table against the workspace.
pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        let Some(manifest) = graph.own.get(rule.name) else { continue };
        let mut broken = |what: String| {
            let advice = format!("{what}; remove that dependency: {}", rule.why);
            findings.push(Finding::new(manifest, 0, advice));
        };
        match rule.must_not {
            DependOnOurs => {
                for ours in graph.direct(rule.name).filter(|name| graph.own.contains_key(*name)) {
                    broken(format!("{} depends on {ours}", rule.name));
                }
            }
            Reach(targets) => {
                for way in targets.iter().filter_map(|target| graph.way(rule.name, target)) {
                    broken(way.join(" -> "));
                }
            }
        }
    }
    for (dependency, owner) in OWNERS {
        for (name, manifest) in graph.own.iter().filter(|(name, _)| name != owner) {
            if graph.direct(name).any(|found| found == *dependency) {
                let advice = format!("{name} depends on {dependency}: only {owner} may");
                findings.push(Finding::new(manifest, 0, advice));
            }
        }
    }
    findings
}

/// Checks what pi-ai is built from without its `http` feature.
pub(super) fn check_without_http(names: &BTreeSet<String>) -> Vec<Finding> {
    let network = NETWORK.iter().filter(|name| names.contains(**name));
    let finding = |name| {
        let advice = format!("{name} is built without the `http` feature; make it part of that");
        Finding::new("crates/pi-ai/Cargo.toml", 0, advice)
    };
    network.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(own: &[&str], edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        graph.own.extend(own.iter().map(|name| ((*name).to_owned(), format!("{name}.toml"))));
        for (from, to) in edges {
            graph.edges.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    }

    fn broken(own: &[&str], edges: &[(&str, &str)]) -> Vec<String> {
        check(&graph(own, edges)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_allowed() {
        let own = ["pi-ai", "pi-protocol", "pi-tools", "pi-extensions"];
        let edges = [
            ("pi-ai", "pi-protocol"),
            ("pi-ai", "reqwest"),
            ("reqwest", "hyper"),
            ("pi-protocol", "serde"),
            ("pi-tools", "pi-protocol"),
            ("pi-extensions", "rquickjs"),
        ];
        assert_eq!(broken(&own, &edges), [] as [&str; 0]);
        assert_eq!(broken(&[], &[]), [] as [&str; 0], "crates that do not exist yet");
    }

    #[test]
    fn what_is_not() {
        let own = ["pi", "pi-agent", "pi-ai", "pi-guard", "pi-protocol"];
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("pi-guard", "pi-protocol")], "pi-guard depends on pi-protocol"),
            (&[("pi-protocol", "x"), ("x", "tokio")], "pi-protocol -> x -> tokio"),
            (&[("pi-agent", "pi-ai")], "pi-agent -> pi-ai"),
            (&[("pi-agent", "x"), ("x", "hyper")], "pi-agent -> x -> hyper"),
            (&[("pi", "rustls")], "pi depends on rustls: only pi-ai may"),
            (&[("pi-ai", "rquickjs")], "pi-ai depends on rquickjs: only pi-extensions may"),
        ];
        for (edges, expected) in cases {
            let found = broken(&own, edges);
            assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn network_without_http_is_found() {
        let names = BTreeSet::from(["serde".to_owned(), "rustls".to_owned()]);
        let found = check_without_http(&names);
        assert!(found.len() == 1 && found[0].advice.starts_with("rustls"), "{found:?}");
    }
}
