//! Tests of the rows, the filters and the folding of the tree.

use pi_session::EntryKind;

use super::filter::Filter;
use super::nodes::{Node, Nodes};

/// Returns nodes from lines `id parent kind`; a `*` after the id marks the active branch.
fn nodes(text: &str) -> Nodes {
    let mut ids: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let id = words[0].trim_end_matches(['*', '!']).to_owned();
        let kind = match words[2] {
            "user" => EntryKind::User,
            "answer" | "silent" => EntryKind::Assistant,
            "tool" => EntryKind::ToolResult,
            "model" => EntryKind::ModelChange,
            other => panic!("{other}"),
        };
        all.push(Node {
            parent: ids.iter().position(|known| known == words[1]),
            kind,
            is_silent: words[2] == "silent",
            label: words.get(3).map(|label| (*label).to_owned()),
            labeled_at: None,
            is_active: words[0].contains('*'),
            is_leaf: words[0].contains('!'),
            id: id.clone(),
        });
        ids.push(id);
    }
    Nodes::new(all)
}

const TREE: &str = "
    m* - model
    a* m user
    b* a answer
    c b user
    d c silent
    e d tool
    f e answer marked
    g* b user
    h*! g answer
";

fn rows(nodes: &Nodes, filter: Filter) -> Vec<String> {
    let rows = nodes.rows(filter, None);
    rows.iter().map(|row| format!("{}{}", row.guides, nodes.get(row.node).unwrap().id)).collect()
}

#[test]
fn the_active_branch_is_first_and_only_branches_indent() {
    let nodes = nodes(TREE);
    assert_eq!(
        rows(&nodes, Filter::Default),
        ["a", "b", "├⊟ g", "│     h", "└⊟ c", "      e", "      f"]
    );
}

#[test]
fn filters_connect_what_they_show() {
    let nodes = nodes(TREE);
    let cases: &[(Filter, &[&str])] = &[
        (Filter::NoTools, &["a", "b", "├⊟ g", "│     h", "└⊟ c", "      f"]),
        (Filter::UserOnly, &["a", "├─ g", "└─ c"]),
        (Filter::LabeledOnly, &["f"]),
        (Filter::All, &["m", "a", "b", "├⊟ g", "│     h", "└⊟ c", "      e", "      f"]),
    ];
    for (filter, expected) in cases {
        assert_eq!(rows(&nodes, *filter), *expected, "{filter:?}");
    }
}

#[test]
fn folded_branches_hide_what_follows() {
    let mut nodes = nodes(TREE);
    let g = nodes.find("g").unwrap();
    nodes.fold(g, true);
    assert_eq!(rows(&nodes, Filter::Default), ["a", "b", "├⊞ g", "└⊟ c", "      e", "      f"]);
    let found = |at: usize| nodes.get(at).is_some_and(|node| node.id == "h" || node.id == "g");
    assert_eq!(nodes.rows(Filter::Default, Some(&found)).len(), 2, "a search unfolds");
    nodes.fold(g, false);
    assert_eq!(rows(&nodes, Filter::Default).len(), 7);
}

#[test]
fn several_roots_are_branches() {
    let nodes = nodes("a - user\n b a answer\n c* - user\n d*! c answer");
    assert_eq!(rows(&nodes, Filter::Default), ["├⊟ c", "│     d", "└⊟ a", "      b"]);
}

#[test]
fn filters_cycle_through_all() {
    let mut filter = Filter::named("no-tools");
    assert_eq!(filter, Filter::NoTools);
    for _ in 0..5 {
        filter = filter.cycled(1);
    }
    assert_eq!(filter, Filter::NoTools);
    assert_eq!(filter.previous(), Filter::Default);
    assert_eq!(Filter::named("unknown"), Filter::Default);
}

#[test]
fn a_chain_of_any_length_stays_in_one_column() {
    let all = (0..20_000_usize).map(|at| Node {
        id: format!("n{at}"),
        parent: at.checked_sub(1),
        kind: EntryKind::User,
        is_silent: false,
        label: None,
        labeled_at: None,
        is_active: true,
        is_leaf: false,
    });
    let rows = Nodes::new(all.collect()).rows(Filter::Default, None);
    assert_eq!(rows.len(), 20_000);
    assert!(rows.iter().all(|row| row.guides.is_empty()));
}
