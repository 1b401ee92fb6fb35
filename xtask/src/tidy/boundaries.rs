//! The dependencies that must *not* exist between crates: the architecture as a table.
//!
//! A rule may name a crate that does not exist yet. It applies as soon as the crate exists.

use std::collections::BTreeSet;

use super::Finding;
use super::graph::Graph;

/// Packages that speak HTTP or encrypt connections.
const NETWORK: &[&str] = &["reqwest", "hyper", "rustls", "native-tls", "openssl", "ring"];

/// A dependency that a crate must not have.
struct Rule {
    name: &'static str,
    must_not: MustNot,
    why: &'static str,
}

enum MustNot {
    /// Depend on another crate of this repository, except for these.
    DependOnOurs(&'static [&'static str]),
    /// Depend on one of these, directly or indirectly.
    Reach(&'static [&'static str]),
}

use MustNot::{DependOnOurs, Reach};

const RULES: &[Rule] = &[
    Rule { name: "pi-base", must_not: DependOnOurs(&[]), why: "every crate depends on it" },
    Rule { name: "pi-fs", must_not: DependOnOurs(&[]), why: "it knows files and no formats" },
    Rule {
        name: "pi-protocol",
        must_not: DependOnOurs(&["pi-base"]),
        why: "every crate depends on it",
    },
    Rule {
        name: "pi-exec-watch",
        must_not: DependOnOurs(&[]),
        why: "it is an interface of the kernel and nothing else",
    },
    Rule {
        name: "pi-guard",
        must_not: DependOnOurs(&["pi-base", "pi-exec-watch"]),
        why: "it decides about calls without knowing agents",
    },
    Rule {
        name: "pi-web",
        must_not: DependOnOurs(&["pi-base", "pi-protocol"]),
        why: "it speaks HTTP without knowing models",
    },
    Rule { name: "pi-mcp", must_not: Reach(&["pi-ai"]), why: "tools and logins need no model" },
    Rule {
        name: "pi-tui",
        must_not: DependOnOurs(&["pi-base"]),
        why: "it draws without knowing agents",
    },
    Rule {
        name: "pi-config",
        must_not: Reach(&["pi-models", "pi-coding-agent"]),
        why: "it reads files for sessions without knowing them",
    },
    Rule {
        name: "pi-models",
        must_not: Reach(&["pi-coding-agent"]),
        why: "a model is chosen without knowing sessions and extensions",
    },
    Rule {
        name: "pi-protocol",
        must_not: Reach(&["tokio", "reqwest", "hyper", "rustls"]),
        why: "the shared types do no I/O",
    },
    Rule {
        name: "pi-schema",
        must_not: DependOnOurs(&["pi-protocol"]),
        why: "values are checked without knowing agents",
    },
    Rule { name: "pi-agent", must_not: Reach(&["pi-ai"]), why: "a model is any Provider" },
    Rule { name: "pi-agent", must_not: Reach(HEAVY), why: "its tests build in seconds" },
    Rule { name: "pi-session", must_not: Reach(HEAVY), why: "its tests build in seconds" },
    Rule { name: "pi-tools", must_not: Reach(HEAVY), why: "its tests build in seconds" },
];

/// An HTTP client, a JavaScript engine, a terminal library.
const HEAVY: &[&str] = &["reqwest", "hyper", "rustls", "rquickjs", "crossterm"];

/// Dependencies that only one crate may have.
const OWNERS: &[(&str, &str)] = &[
    ("hyper", "pi-web"),
    ("hyper-util", "pi-web"),
    ("reqwest", "pi-web"),
    ("rustls", "pi-web"),
    ("tokio-rustls", "pi-web"),
    ("tokio-tungstenite", "pi-web"),
    ("rquickjs", "pi-extensions"),
    ("pi-exec-watch", "pi-guard"),
];

/// The upper layers: a crate of ours, and the only crates of ours that may depend on it. The agent
/// runs without a screen and without JavaScript; `pi-extensions` sits above both it and the screen.
const UPPER_LAYERS: &[(&str, &[&str])] = &[
    (
        "pi-coding-agent",
        &[
            "pi-acp",
            "pi-converge",
            "pi-extensions",
            "pi-host",
            "pi-mcp-host",
            "pi-rpc",
            "pi-screen",
            "pi-serve",
            "pi",
        ],
    ),
    ("pi-acp", &["pi-serve", "pi"]),
    ("pi-converge", &["pi-serve", "pi"]),
    ("pi-host", &["pi-acp", "pi-screen", "pi-serve", "pi"]),
    ("pi-mcp-host", &["pi-extensions", "pi-screen", "pi"]),
    ("pi-rpc", &["pi-serve", "pi"]),
    ("pi-screen", &["pi"]),
    ("pi-serve", &["pi"]),
    ("pi-tui", &["pi-extensions", "pi-screen", "pi"]),
    ("pi-extensions", &["pi"]),
    ("pi-packages", &["pi-screen", "pi"]),
    ("pi", &[]),
];

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
            DependOnOurs(except) => {
                let is_ours = |name: &&str| graph.own.contains_key(*name) && !except.contains(name);
                for ours in graph.direct(rule.name).filter(is_ours) {
                    broken(format!("{} depends on {ours}", rule.name));
                }
            }
            Reach(targets) => {
                for path in targets.iter().filter_map(|target| graph.path(rule.name, target)) {
                    broken(path.join(" -> "));
                }
            }
        }
    }
    let owners = OWNERS.iter().map(|(dependency, owner)| (dependency, std::slice::from_ref(owner)));
    let layers = UPPER_LAYERS.iter().map(|(dependency, users)| (dependency, *users));
    for (dependency, users) in owners.chain(layers) {
        // The bench measures every layer.
        for (name, manifest) in graph.own.iter().filter(|(name, _)| *name != "bench") {
            let is_user = users.contains(&name.as_str());
            if !is_user && graph.direct(name).any(|found| found == *dependency) {
                let advice = match users {
                    [] => format!("{name} depends on {dependency}: no crate may"),
                    users => {
                        format!("{name} depends on {dependency}: only {} may", users.join(", "))
                    }
                };
                findings.push(Finding::new(manifest, 0, advice));
            }
        }
    }
    findings
}

/// Checks the packages that pi-ai is built from without its `http` feature.
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
    fn permitted_dependencies_pass() {
        let own = ["pi", "pi-ai", "pi-protocol", "pi-tools", "pi-coding-agent", "pi-web"];
        let edges = [
            ("pi-ai", "pi-web"),
            ("pi-web", "pi-protocol"),
            ("pi-web", "reqwest"),
            ("reqwest", "hyper"),
            ("pi-protocol", "serde"),
            ("pi-tools", "pi-protocol"),
            ("pi-extensions", "rquickjs"),
            ("pi-extensions", "pi-coding-agent"),
            ("pi-extensions", "pi-tui"),
            ("pi", "pi-extensions"),
        ];
        assert_eq!(broken(&own, &edges), [] as [&str; 0]);
        assert_eq!(broken(&[], &[]), [] as [&str; 0], "crates that do not exist yet");
    }

    #[test]
    fn forbidden_dependencies_are_found() {
        let own =
            ["pi", "pi-agent", "pi-ai", "pi-coding-agent", "pi-guard", "pi-protocol", "pi-web"];
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("pi-guard", "pi-protocol")], "pi-guard depends on pi-protocol"),
            (&[("pi-web", "pi-ai")], "pi-web depends on pi-ai"),
            (&[("pi-ai", "reqwest")], "pi-ai depends on reqwest: only pi-web may"),
            (&[("pi-protocol", "x"), ("x", "tokio")], "pi-protocol -> x -> tokio"),
            (&[("pi-agent", "pi-ai")], "pi-agent -> pi-ai"),
            (&[("pi-agent", "x"), ("x", "hyper")], "pi-agent -> x -> hyper"),
            (&[("pi", "rustls")], "pi depends on rustls: only pi-web may"),
            (&[("pi-ai", "rquickjs")], "pi-ai depends on rquickjs: only pi-extensions may"),
            (
                &[("pi-coding-agent", "pi-extensions")],
                "pi-coding-agent depends on pi-extensions: only pi may",
            ),
            (&[("pi-coding-agent", "pi-tui")], "pi-tui: only pi-extensions, pi-screen, pi may"),
            (
                &[("pi-ai", "pi-coding-agent")],
                "pi-coding-agent: only pi-acp, pi-converge, pi-extensions, pi-host, pi-mcp-host, pi-rpc, pi-screen, pi-serve, pi may",
            ),
            (&[("pi-agent", "pi")], "pi-agent depends on pi: no crate may"),
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
