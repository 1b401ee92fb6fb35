//! Constrained final answers: what each wire format sends, when it sends nothing, and the request
//! without a schema after a provider has rejected it.

use std::sync::Arc;

use pi_ai::wire::{self, Call, enforces_output};
use pi_ai::{Context, Model, OutputSchema, Request, StreamOptions, Tool};
use serde_json::{Map, Value, json};

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "The name"},
            "size": {"type": "integer", "minimum": 0, "default": 0},
            "link": {"type": "string", "format": "uri"},
        },
        "required": ["name", "size"],
    })
}

/// The schema as providers with bounds receive it.
fn bounded() -> Value {
    let link = json!({"type": "string", "description": "format: \"uri\""});
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name (minLength: 1)"},
            "size": {"type": "integer", "minimum": 0},
            "link": {"anyOf": [link, {"type": "null"}]},
        },
        "required": ["name", "size", "link"],
        "additionalProperties": false,
    })
}

/// The schema as providers without bounds receive it.
fn described() -> Value {
    let mut schema = bounded();
    schema["properties"]["size"] = json!({"type": "integer", "description": "minimum: 0"});
    schema
}

fn model(api: &str, id: &str, compat: &Value) -> Model {
    let (provider, base_url) = match api {
        "openai-completions" => ("openai", "https://api.openai.com/v1"),
        "amazon-bedrock" => ("amazon-bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com"),
        "azure-openai-responses" => ("azure", "https://r.openai.azure.com"),
        _ => ("test", "https://api.example/v1"),
    };
    serde_json::from_value(json!({
        "id": id, "api": api, "provider": provider, "baseUrl": base_url, "compat": compat,
    }))
    .unwrap()
}

fn body(model: &Model, schema: Option<Value>, has_tools: bool) -> Map<String, Value> {
    let mut context = Context::new().user("hi");
    if has_tools {
        context = context.tool(Tool::new("look", "Looks.", json!({"type": "object"})));
    }
    let mut options = StreamOptions::default();
    options.output_schema = schema.map(|schema| Arc::new(OutputSchema::new("result", schema)));
    // Bedrock and Vertex find their endpoint by variables.
    for (name, value) in [
        ("AWS_BEARER_TOKEN_BEDROCK", "t"),
        ("AWS_REGION", "us-east-1"),
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GOOGLE_CLOUD_LOCATION", "global"),
    ] {
        options.env.insert(name.to_owned(), value.to_owned());
    }
    let request = Request::new(Arc::new(model.clone()), context, options);
    // A token that names an account, for ChatGPT's backend.
    let claims = "eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYSJ9fQ";
    let key = format!("x.{claims}.x");
    let call = Call::new(request, Some(key.into()), &|_| None);
    let encoded = (wire::format(&model.api).unwrap().encode)(&call).unwrap();
    match encoded.body {
        Value::Object(body) => body,
        other => panic!("{other}"),
    }
}

/// Returns the fields that a schema adds or changes.
fn added(model: &Model, schema: Value, has_tools: bool) -> Value {
    let plain = body(model, None, has_tools);
    let mut with = body(model, Some(schema), has_tools);
    with.retain(|name, value| plain.get(name) != Some(value));
    Value::Object(with)
}

#[test]
fn every_format_sends_the_schema_in_its_field() {
    let strict = json!({"supportsStrictMode": true});
    let text_format = json!({
        "type": "json_schema", "name": "result", "schema": bounded(), "strict": true,
    });
    let response_format = |schema: Value| {
        let schema = json!({"name": "result", "schema": schema, "strict": true});
        json!({"response_format": {"type": "json_schema", "json_schema": schema}})
    };
    let google = json!({"generationConfig": {
        "responseMimeType": "application/json", "responseJsonSchema": bounded(),
    }});
    // The model, whether the request has tools, the fields.
    let cases = [
        (model("openai-responses", "gpt", &strict), true, json!({"text": {"format": text_format}})),
        (
            model("azure-openai-responses", "gpt", &json!({})),
            true,
            json!({"text": {"format": text_format}}),
        ),
        (
            model("openai-codex-responses", "gpt", &json!({})),
            true,
            json!({"text": {"verbosity": "low", "format": text_format}}),
        ),
        (model("openai-completions", "gpt", &json!({})), true, response_format(bounded())),
        (
            model("anthropic-messages", "claude", &json!({"supportsStrictTools": true})),
            true,
            json!({"output_config": {"format": {"type": "json_schema", "schema": described()}}}),
        ),
        (model("google-generative-ai", "gemini-3-pro", &json!({})), true, google.clone()),
        (model("google-vertex", "gemini-2.5-pro", &json!({})), false, google),
        (
            model("bedrock-converse-stream", "anthropic.claude-x", &strict),
            true,
            json!({"outputConfig": {"textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"name": "result", "schema": described().to_string()}},
            }}}),
        ),
        (
            model("mistral-conversations", "mistral-large", &json!({})),
            false,
            response_format(described()),
        ),
    ];
    for (model, has_tools, expected) in cases {
        let api = &model.api;
        assert_eq!(added(&model, schema(), has_tools), expected, "{api}");
        let enforced = enforces_output(&model, &OutputSchema::new("result", schema()), has_tools);
        assert!(enforced, "{api}");
    }
}

#[test]
fn a_schema_is_not_sent_to_models_that_may_not_support_it() {
    let strict = json!({"supportsStrictMode": true});
    let other = |schema: Value| OutputSchema::new("result", schema);
    // The model, whether the request has tools, the schema.
    let cases = [
        (model("openai-responses", "m", &json!({})), false, schema()),
        (model("anthropic-messages", "m", &json!({})), false, schema()),
        (model("google-generative-ai", "gemini-2.5-pro", &json!({})), true, schema()),
        (model("google-generative-ai", "gemma-3", &json!({})), false, schema()),
        (model("mistral-conversations", "m", &json!({})), true, schema()),
        (model("bedrock-converse-stream", "m", &json!({})), false, schema()),
        (model("pi-messages", "m", &json!({})), false, schema()),
        // Switched off in the record.
        (
            model("openai-completions", "m", &json!({"supportsOutputSchema": false})),
            false,
            schema(),
        ),
        // Schemas that strict sampling cannot express.
        (model("openai-responses", "m", &strict), false, json!({"type": "array"})),
        (model("openai-responses", "m", &strict), false, json!({"oneOf": []})),
        (
            model("openai-responses", "m", &strict),
            false,
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}),
        ),
    ];
    for (model, has_tools, schema) in cases {
        let api = &model.api;
        assert_eq!(added(&model, schema.clone(), has_tools), json!({}), "{api}");
        assert!(!enforces_output(&model, &other(schema), has_tools), "{api}");
    }
}

#[test]
fn a_record_can_declare_support() {
    let local = |compat: Value| {
        let mut model = model("openai-completions", "m", &compat);
        model.provider = "llama".to_owned();
        model.base_url = "http://localhost:1/v1".to_owned();
        model
    };
    let cases = [
        (json!({}), false, false),
        (json!({"supportsOutputSchema": true}), true, false),
        (json!({"supportsOutputSchema": true, "supportsOutputSchemaWithTools": true}), true, true),
        (json!({"supportsOutputSchemaWithTools": true}), false, false),
    ];
    for (compat, without_tools, with_tools) in cases {
        let model = local(compat.clone());
        let sends = |has_tools| added(&model, schema(), has_tools) != json!({});
        assert_eq!((sends(false), sends(true)), (without_tools, with_tools), "{compat}");
    }
}

#[cfg(feature = "http")]
mod rejection {
    use pi_ai::StopReason;

    use super::*;
    use crate::server::{Server, Step, response};

    const COMPLETE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n\
         data: [DONE]\n\n";

    async fn ask(server: &Server, wanted: &Arc<OutputSchema>) -> Arc<pi_ai::AssistantMessage> {
        let mut model = model("openai-completions", "gpt", &json!({}));
        model.base_url = server.url();
        let mut options = StreamOptions::default().with_api_key("k");
        options.output_schema = Some(Arc::clone(wanted));
        let context = Context::new().user("hi");
        crate::hostile::client().complete(&Arc::new(model), context, options).await
    }

    #[tokio::test]
    async fn a_rejected_schema_is_sent_once() {
        let complaint = r#"{"error":{"message":"Invalid schema for response_format 'result'"}}"#;
        let refusal = vec![Step::Send(response("400 Bad Request", &[], complaint))];
        let answer = || vec![Step::Send(response("200 OK", &[], COMPLETE))];
        let server = Server::scripted(vec![refusal, answer(), answer()]).await;
        let wanted = Arc::new(OutputSchema::new("result", schema()));
        let message = ask(&server, &wanted).await;
        assert_eq!(message.stop_reason, StopReason::Stop, "{message:?}");
        assert_eq!(message.diagnostics[0].kind, "output_schema_fallback");
        assert!(wanted.is_rejected());
        ask(&server, &wanted).await;
        let sent: Vec<bool> =
            server.requests().iter().map(|request| request.contains("json_schema")).collect();
        assert_eq!(sent, [true, false, false]);
    }

    #[tokio::test]
    async fn other_failures_do_not_reject_the_schema() {
        let cases = [
            ("400 Bad Request", r#"{"error":{"message":"context too long"}}"#),
            ("401 Unauthorized", r#"{"error":{"message":"schema"}}"#),
        ];
        for (status, text) in cases {
            let server = Server::responding(response(status, &[], text)).await;
            let wanted = Arc::new(OutputSchema::new("result", schema()));
            let message = ask(&server, &wanted).await;
            assert_eq!(message.stop_reason, StopReason::Error);
            assert!(!wanted.is_rejected(), "{status}");
            assert_eq!(server.requests().len(), 1, "{status}");
        }
    }
}
