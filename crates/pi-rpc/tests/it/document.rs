//! `docs/rpc.md` has all commands of the protocol and no others.

use std::collections::BTreeSet;

use pi_rpc::Command;

const DOCUMENT: &str = include_str!("../../../../docs/rpc.md");

#[test]
fn every_command_is_documented() {
    let section = DOCUMENT.split("## Commands and answers").nth(1).unwrap();
    let section = section.split("\n### ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let names: BTreeSet<&str> = Command::names().iter().copied().collect();
    assert_eq!(documented, names);
}

#[test]
fn additions_are_explained() {
    let section = DOCUMENT.split("\n## Additions").nth(1).unwrap();
    for name in ["hello", "list_sessions", "navigate_tree", "set_label"] {
        assert!(section.contains(&format!("- `{name}`: ")), "{name}");
    }
}
