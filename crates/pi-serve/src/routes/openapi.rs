//! `/api/v1/openapi.json`: the API as an OpenAPI document, from the table of routes and the types of
//! its bodies.

use pi_web::http::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Access, Form, Reach, Route, table};
use crate::api::{Answer, Call, json as answer};

/// Answers with the document.
pub(crate) async fn get(call: Call) -> Answer {
    answer(StatusCode::OK, &document(&call.state.options.version))
}

/// Returns the OpenAPI document of the API.
pub fn document(version: &str) -> Value {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let mut paths = Map::new();
    for route in table() {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut generator);
    }
    let error = json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
            },
        }},
    });
    let mut schemas: Map<String, Value> = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), error);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "pi serve",
            "version": version,
            "description": "Sessions and runs of the coding agent pi.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "pi_session"},
            },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let in_query = route.query.iter().map(|(name, description)| {
        json!({
            "name": name, "in": "query", "description": description, "schema": {"type": "string"},
        })
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let mut success = json!({"description": "success"});
    if let Some(content) = content(route.answer, generator) {
        success["content"] = content;
    }
    let failure = json!({
        "description": "failure",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    });
    let mut operation = json!({
        "summary": route.summary,
        "description": description(route),
        "parameters": parameters,
        "responses": {route.status.to_string(): success, "default": failure},
        "security": match route.access {
            Access::Open => json!([]),
            Access::Any | Access::Needs(_) => json!([{"token": []}, {"cookie": []}]),
        },
    });
    if let Some(content) = content(route.body, generator) {
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

fn content(form: Form, generator: &mut SchemaGenerator) -> Option<Value> {
    match form {
        Form::Json(schema) => Some(json!({"application/json": {"schema": schema(generator)}})),
        Form::Other(content_type) => Some(json!({content_type: {}})),
        Form::None => None,
    }
}

fn description(route: &Route) -> String {
    let right = match route.access {
        Access::Open => return "Needs no token.".to_owned(),
        Access::Any => "Needs a token.".to_owned(),
        Access::Needs(right) => format!("Needs the right `{}`.", right.as_str()),
    };
    match route.reach {
        Reach::Session => format!("{right} A token for one session reaches only that session."),
        Reach::Filtered => format!("{right} A token for one session gets only what concerns it."),
        Reach::Server => format!("{right} Tokens for one session are refused."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_and_every_schema_is_in_the_document() {
        let document = document("1.2.3");
        for route in table() {
            let operation =
                &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
            assert_eq!(operation["summary"], route.summary, "{}", route.path);
        }
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        assert!(schemas.contains_key("SessionList") && schemas.contains_key("Right"));
    }
}
