//! The tools of the suite that ask the client.

use pi_jsonrpc::Error;
use pi_mcp::server::{Context, Question, QuestionKind, text_result};
use serde_json::{Map, Value, json};

pub(crate) fn elicitation(key: &str, message: &str, field: &str, kind: &str) -> Question {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": kind } },
        "required": [field],
    });
    form(key, message, schema)
}

fn form(key: &str, message: &str, schema: Value) -> Question {
    let mut params = json!({ "mode": "form", "message": message });
    params["requestedSchema"] = schema;
    Question { key: key.to_owned(), kind: QuestionKind::Elicitation, params }
}

fn sampling(key: &str, prompt: &str, tokens: u32) -> Question {
    let content = json!({ "type": "text", "text": prompt });
    let messages = json!([{ "role": "user", "content": content }]);
    let params = json!({ "messages": messages, "maxTokens": tokens });
    Question { key: key.to_owned(), kind: QuestionKind::Sampling, params }
}

fn roots(key: &str) -> Question {
    Question { key: key.to_owned(), kind: QuestionKind::Roots, params: json!({}) }
}

fn name_question() -> Question {
    elicitation("user_name", "What is your name?", "name", "string")
}

pub(crate) const NAMES: &[&str] = &[
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
];

pub(crate) async fn call(
    name: &str,
    arguments: &Map<String, Value>,
    context: &Context,
) -> Result<Value, Error> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let confirm = || elicitation("confirm", "Please confirm", "ok", "boolean");
    let questions = match name {
        "test_sampling" => vec![sampling("answer", argument("prompt"), 100)],
        "test_elicitation" => vec![user(argument("message"))],
        "test_elicitation_sep1034_defaults" => vec![defaults()],
        "test_elicitation_sep1330_enums" => vec![enums()],
        "test_input_required_result_sampling" => {
            vec![sampling("capital_question", "What is the capital of France?", 100)]
        }
        "test_input_required_result_list_roots" => vec![roots("client_roots")],
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => vec![confirm()],
        "test_input_required_result_multiple_inputs" => {
            vec![
                name_question(),
                sampling("greeting", "Generate a greeting", 50),
                roots("client_roots"),
            ]
        }
        "test_input_required_result_multi_round" => {
            let first = elicitation("step1", "Step 1: What is your name?", "name", "string");
            context.ask(vec![first]).await?;
            vec![elicitation("step2", "Step 2: What is your favorite color?", "color", "string")]
        }
        "test_input_required_result_capabilities" => {
            let mut questions = Vec::new();
            if context.client().has("elicitation") {
                questions.push(name_question());
            }
            if context.client().has("sampling") {
                questions.push(sampling("greeting", "Generate a greeting", 50));
            }
            questions
        }
        "test_streaming_elicitation" => {
            context.progress(1.0, Some(2.0), Some("asking"));
            vec![name_question()]
        }
        _ => vec![name_question()],
    };
    let answers = context.ask(questions).await?;
    let text = match name {
        "test_input_required_result_request_state" => format!("state-ok {}", json!(answers)),
        "test_sampling" => {
            let text = answers["answer"]["content"]["text"].as_str().unwrap_or_default();
            format!("LLM response: {text}")
        }
        _ => {
            let answer = answers.values().next().cloned().unwrap_or_default();
            let (action, content) = (&answer["action"], &answer["content"]);
            format!("Elicitation completed: action={action}, content={content}")
        }
    };
    Ok(text_result(text))
}

fn user(message: &str) -> Question {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    form("user", message, schema)
}

fn defaults() -> Question {
    let states = ["active", "inactive", "pending"];
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": states, "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
        "required": [],
    });
    form("form", "Please check the values", schema)
}

fn enums() -> Question {
    let plain = ["option1", "option2", "option3"];
    let titled = |word: &str| -> Vec<Value> {
        let names = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
        let titled = names.iter();
        titled
            .map(|(value, title)| json!({ "const": value, "title": format!("{title} {word}") }))
            .collect()
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        },
        "required": [],
    });
    form("form", "Please choose", schema)
}
