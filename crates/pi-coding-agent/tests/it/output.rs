//! The output contract: schemas that compile, schemas that do not, and the problems of values.

use std::sync::Arc;

use pi_coding_agent::session::OutputContract;
use serde_json::{Value, json};

async fn problems(schema: &Value, value: Value) -> Vec<String> {
    let contract = OutputContract::compile(schema).unwrap();
    let violations = contract.check(&Arc::new(value)).await;
    violations.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn problems_have_a_pointer_and_plain_words() {
    let order = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[A-Z]+$"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
            "state": {"enum": ["open", "closed"]},
            "day": {"type": "string", "format": "date"},
        },
        "required": ["id", "items"],
        "additionalProperties": false,
        "$defs": {
            "item": {"oneOf": [
                {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}},
                    "required": ["price"]},
                {"type": "string", "minLength": 2},
            ]},
        },
    });
    let cases = [
        (json!({"id": "A", "items": [{"price": 1}, "ab"], "day": "2026-02-28"}), vec![]),
        (json!([]), vec!["expected object, got array"]),
        (json!({}), vec!["missing properties \"id\", \"items\""]),
        (
            json!({"id": "a", "items": [], "extra": 1}),
            vec![
                "unexpected property \"extra\"",
                "/id: \"a\" does not match the pattern ^[A-Z]+$",
                "/items: expected at least 1 items, got 0",
            ],
        ),
        (
            json!({"id": "A", "items": [{"price": -1}]}),
            vec![
                "/items/0: matches none of the alternatives: (1) /price: expected at least 0, got \
                 -1; (2) expected string, got object",
            ],
        ),
        (
            json!({"id": "A", "items": ["ab"], "state": "done", "day": "2026-02-30"}),
            vec![
                "/day: \"2026-02-30\" is not a valid date",
                "/state: expected one of \"open\", \"closed\"",
            ],
        ),
    ];
    for (value, mut expected) in cases {
        let mut found = problems(&order, value.clone()).await;
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "{value}");
    }
}

#[tokio::test]
async fn older_drafts_keep_their_meaning() {
    let exclusive = |draft: &str| json!({"$schema": draft, "minimum": 1, "exclusiveMinimum": true});
    let four = exclusive("http://json-schema.org/draft-04/schema#");
    assert_eq!(problems(&four, json!(1)).await, ["expected more than 1, got 1"]);
    // In later drafts, the keyword is a number.
    let seven = OutputContract::compile(&exclusive("http://json-schema.org/draft-07/schema#"));
    let error = seven.unwrap_err().to_string();
    assert_eq!(error, "the schema is invalid at /exclusiveMinimum: expected number, got boolean");
}

#[test]
fn schemas_that_cannot_be_used_are_refused_with_the_place() {
    let cases = [
        (json!("object"), "the schema is invalid at the root: expected an object, got string"),
        (
            json!({"type": "objekt"}),
            "the schema is invalid at /type: matches none of the alternatives",
        ),
        (
            json!({"properties": {"a": {"minLength": -1}}}),
            "the schema is invalid at /properties/a/minLength: expected at least 0, got -1",
        ),
        (json!({"pattern": "("}), "the schema is invalid at /pattern: \"(\" is not a valid regex"),
        (
            json!({"$ref": "#/$defs/missing"}),
            "the schema is invalid at /$defs/missing: the reference leads to nothing",
        ),
        (
            json!({"$ref": "https://example.com/a.json"}),
            "the schema refers to https://example.com/a.json; only references within the schema",
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "the schema refers to file:///etc/passwd; only references within the schema",
        ),
        (json!({"$ref": "other.json"}), "the schema refers to other.json; only references"),
    ];
    for (schema, expected) in cases {
        let error = OutputContract::compile(&schema).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{schema}: {error}");
    }
}

/// A schema in which each definition refers to the next one twice.
fn doubling(levels: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert(format!("d{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[tokio::test]
async fn schemas_that_expand_without_bound_are_refused() {
    assert_eq!(problems(&doubling(3), json!("text")).await, Vec::<String>::new());
    let error = OutputContract::compile(&doubling(60)).unwrap_err().to_string();
    assert!(error.contains("expand to more than"), "{error}");
    // References that lead back to themselves end, too.
    let cycle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
    assert_eq!(problems(&cycle, json!(1)).await.len(), 1);
    // Recursion along the value is what such a schema is for.
    let tree = json!({
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
        "additionalProperties": false,
    });
    let value = (0..50).fold(json!({}), |below, _| json!({"children": [below]}));
    assert_eq!(problems(&tree, value).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_large_value_is_checked_and_its_problems_are_bounded() {
    let schema = json!({"type": "array", "items": {"type": "string"}});
    let texts: Vec<String> = (0..10_000).map(|number| format!("{number:01000}")).collect();
    assert_eq!(problems(&schema, json!(texts)).await, Vec::<String>::new());
    let numbers: Vec<u32> = (0..10_000).collect();
    let found = problems(&schema, json!(numbers)).await;
    assert_eq!(found.len(), 21);
    assert_eq!(found[20], "and 9980 more problems");
}
