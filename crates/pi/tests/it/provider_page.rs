//! The page of providers lists all of them, with their variables and formats.

use std::collections::BTreeSet;

use pi_ai::{catalog, providers};

const PAGE: &str = include_str!("../../../../docs/providers.md");

/// Returns the texts in backticks of a cell.
fn names(cell: &str) -> BTreeSet<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_is_complete() {
    let rows: Vec<Vec<&str>> = PAGE
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let listed: Vec<&str> = rows.iter().flat_map(|row| names(row[0])).collect();
    let known: Vec<&str> = providers::PROVIDERS.iter().map(|provider| provider.id).collect();
    assert_eq!(listed, known);
    for (row, provider) in rows.iter().zip(providers::PROVIDERS) {
        let id = provider.id;
        assert_eq!(row[1], provider.name, "{id}");
        assert_eq!(names(row[2]), provider.key_env.iter().copied().collect(), "{id}");
        let models: Vec<_> = catalog::models(id).collect();
        let formats: BTreeSet<&str> = match models.is_empty() {
            true => [provider.api].into(),
            false => models.iter().map(|model| model.api.as_str()).collect(),
        };
        assert_eq!(names(row[3]), formats, "{id}");
        assert!(!row[4].is_empty(), "{id}");
    }
}
