//! Tool arguments: the rows recorded from the TypeScript pi 1.5.0, and properties that hold for any
//! arguments and any schema.

use pi_protocol::ToolCall;
use pi_schema::arguments::{ArgumentError, check, check_value};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Reads the rows of `fixtures/arguments.jsonl`; the README there explains their fields.
fn rows() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/arguments.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes whole numbers as integers: JavaScript does not distinguish `1` from `1.0`.
fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().unwrap() {
            float if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e18 => {
                json!(float as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), normal(member))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn recorded_rows_match() {
    let rows = rows();
    assert!(rows.len() > 1000);
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let (schema, arguments) = (&row["schema"], &row["arguments"]);
            let tool = row.get("tool").map_or("t", |tool| tool.as_str().unwrap());
            let ours = match check_value(tool, arguments, schema) {
                Ok(output) => json!({"output": normal(&output)}),
                Err(error) => json!({"error": error.to_string()}),
            };
            let wanted = match (row.get("output"), row.get("error")) {
                (Some(output), None) => json!({"output": normal(output)}),
                (None, Some(error)) => json!({"error": error}),
                _ => panic!("neither or both of output and error: {row}"),
            };
            // Compared as text, because the order of members matters.
            let (ours, wanted) = (ours.to_string(), wanted.to_string());
            (ours != wanted).then(|| {
                let name = &row["name"];
                format!("{name}\n  {schema}\n  {arguments}\n  ours   {ours}\n  wanted {wanted}")
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

fn call(arguments: &Value) -> ToolCall {
    serde_json::from_value(json!({"id": "1", "name": "read", "arguments": arguments})).unwrap()
}

#[test]
fn check_does_not_change_the_call() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let given = call(&json!({"n": "5", "other": null}));
    let checked = check(&given, &schema).unwrap();
    assert_eq!(Value::Object(checked), json!({"n": 5, "other": null}));
    assert_eq!(given, call(&json!({"n": "5", "other": null})));
}

#[test]
fn unreadable_arguments_are_rejected() {
    let mut given = call(&json!({}));
    given.arguments_error = Some("Unexpected end of JSON input".to_owned());
    let error = check(&given, &json!({})).unwrap_err();
    assert!(matches!(error, ArgumentError::Unreadable { .. }));
    let text = "Invalid arguments for tool \"read\": Unexpected end of JSON input";
    assert_eq!(error.to_string(), text);
}

#[test]
fn arguments_that_become_another_type_are_rejected() {
    let error = check(&call(&json!({})), &json!({"type": "array"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Validation failed for tool \"read\":\n  - root: expected object, got array\n\n\
         Received arguments:\n{}"
    );
}

/// An unsupported constraint counts as satisfied, which must not become a failure under `not`.
#[test]
fn an_unsupported_pattern_rejects_nothing() {
    let unsupported = json!({"pattern": "^(?!x)"});
    for schema in [
        json!({"not": unsupported}),
        json!({"oneOf": [unsupported, {"type": "string"}]}),
        json!({"if": unsupported, "then": false}),
        json!({"if": unsupported, "else": false}),
    ] {
        assert_eq!(check_value("t", &json!("y"), &schema), Ok(json!("y")), "{schema}");
    }
    let schema = json!({"patternProperties": {"^(?!x)": {}}, "additionalProperties": false});
    assert_eq!(check_value("t", &json!({"y": 1}), &schema), Ok(json!({"y": 1})));
}

/// Each level of the schema doubles the work, so that only the step limit ends the check.
#[test]
fn a_schema_that_is_built_to_be_slow_is_rejected() {
    let mut definitions = Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        definitions.insert(level.to_string(), json!({"anyOf": [next, next]}));
    }
    definitions.insert("60".to_owned(), json!({"type": "integer"}));
    let schema = json!({"$ref": "#/$defs/0", "$defs": definitions});
    let error = check_value("t", &json!({}), &schema).unwrap_err();
    assert!(error.to_string().contains("root: "), "{error}");
}

#[test]
fn checks_of_deep_schemas_and_arguments_end() {
    let mut chain = Map::new();
    for link in 0..20_000 {
        chain.insert(link.to_string(), json!({"$ref": format!("#/$defs/{}", link + 1)}));
    }
    let schema = json!({"$ref": "#/$defs/0", "$defs": chain});
    let error = check_value("t", &json!({}), &schema).unwrap_err();
    assert!(error.to_string().contains("too complex"), "{error}");

    let list = json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "null"}]});
    let nested = |depth| (0..depth).fold(json!(null), |inner, _| json!([inner]));
    assert_eq!(check_value("t", &nested(60), &list), Ok(nested(60)));
    let error = check_value("t", &nested(200), &list).unwrap_err();
    assert!(error.to_string().contains("root: "), "{error}");
}

/// The step limit grows with the arguments at least as fast as the steps that are needed.
#[test]
fn long_lists_are_checked_completely() {
    let schema = json!({
        "type": "array",
        "uniqueItems": true,
        "items": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[a-z]+$"}]},
    });
    let items: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
    let checked = check_value("t", &json!(items), &schema).unwrap();
    assert_eq!(checked[49_999], json!(49_999));
}

/// Generates any JSON, with texts and names that occur in the schemas below.
fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("5"),
        Just("-0"),
        Just("2.5"),
        Just("true"),
        Just("FALSE"),
        Just(""),
        Just("null"),
        Just("a"),
        Just("é😀"),
        Just("0x1F"),
        Just("1e400"),
        Just("9007199254740993"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-3i64..6).prop_map(Value::from),
        text.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let name = prop_oneof![Just("a"), Just("b"), Just("kind"), Just("kids"), Just("x-1"), Just("")];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|members| {
                members.into_iter().map(|(key, member)| (key.to_owned(), member)).collect()
            }),
        ]
    })
}

/// Schemas whose coercion is idempotent.
fn stable_schemas() -> Vec<Value> {
    let number = json!({"type": "number"});
    let tree = json!({
        "type": "object",
        "properties": {"a": number, "b": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["a"],
    });
    vec![
        json!({}),
        json!(false),
        number,
        json!({"type": "integer", "minimum": -2, "maximum": 100, "multipleOf": 2}),
        json!({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[^x]"}),
        json!({"type": ["integer", "null"]}),
        json!({"type": ["boolean", "string"]}),
        json!({"enum": [1, "true", false, {"a": 1}]}),
        json!({"const": 5}),
        tree,
        json!({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}, "uniqueItems": true}),
        json!({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}),
        json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}),
        json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
        json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "a": {"type": "integer"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "5"}, "b": {"type": "boolean"}}, "required": ["kind"]},
        ]}),
        json!({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]}),
        json!({"not": {"type": "string"}, "if": {"type": "object"}, "then": {"maxProperties": 2}}),
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}}}}),
    ]
}

proptest! {
    #[test]
    fn coercion_is_idempotent(value in values()) {
        for schema in stable_schemas() {
            if let Ok(coerced) = check_value("t", &value, &schema) {
                prop_assert_eq!(check_value("t", &coerced, &schema), Ok(coerced.clone()), "{}", schema);
            }
        }
    }

    /// A schema is JSON from elsewhere, so any JSON can be one.
    #[test]
    fn no_schema_panics(
        value in values(),
        keywords in prop::collection::vec((prop::sample::select(KEYWORDS), values()), 0..6),
    ) {
        let inner: Map<String, Value> =
            keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect();
        let inner = Value::Object(inner);
        for schema in [
            inner.clone(),
            json!({"properties": {"a": inner}, "additionalProperties": inner}),
            json!({"items": inner, "anyOf": [inner, {"$ref": "#"}], "$defs": {"a": inner}}),
        ] {
            let _ = check_value("t", &value, &schema);
        }
    }

    #[test]
    fn no_pattern_panics(pattern in r"[\[\](){}?*+|^$.\\a-d0-3<>:=!,-]{0,12}", text in any::<String>()) {
        let schema = json!({"pattern": pattern, "patternProperties": {pattern.as_str(): false}});
        let _ = check_value("t", &json!(text), &schema);
        let _ = check_value("t", &json!({text.as_str(): 1}), &schema);
        let _ = check_value("t", &json!(pattern), &json!({"format": "regex"}));
    }

    #[test]
    fn no_text_panics_in_a_format(text in any::<String>(), short in "[-0-9:.TtZPYMDHSW+@%/#?{}\\[\\]é ]{0,14}") {
        for format in FORMATS {
            let _ = check_value("t", &json!(text), &json!({"format": format}));
            let _ = check_value("t", &json!(short), &json!({"format": format}));
        }
    }
}

const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "enum",
    "const",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$defs",
    "minimum",
    "multipleOf",
    "minLength",
    "pattern",
    "format",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
];

const FORMATS: &[&str] = &[
    "date",
    "time",
    "date-time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "url",
    "uuid",
    "regex",
    "json-pointer",
    "relative-json-pointer",
];
