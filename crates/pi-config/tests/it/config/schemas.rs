//! The published JSON Schemas.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pi_config::{FileSchema, schemas, settings::keys};

#[test]
fn the_published_schemas_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    for FileSchema { name, schema, .. } in schemas() {
        let path = directory.join(format!("{name}.schema.json"));
        let expected = format!("{schema:#}\n");
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == expected, "{name} is out of date: run `cargo xtask schemas`");
    }
}

#[test]
fn the_table_of_keys_is_complete() {
    let settings = schemas().into_iter().find(|file| file.name == "settings").unwrap().schema;
    let typed: BTreeSet<&str> =
        settings["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let table: BTreeSet<&str> = keys().map(|key| key.name).collect();
    assert_eq!(typed, table);
    assert_eq!(table.len(), keys().count(), "duplicate key");
}
