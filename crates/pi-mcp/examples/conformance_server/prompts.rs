//! The prompts of the suite.

use pi_jsonrpc::Error;
use pi_mcp::server::Context;
use serde_json::{Map, Value, json};

use super::PIXEL;
use super::questions::elicitation;

pub(crate) fn list() -> Vec<Value> {
    let argument = |name: &str| json!({ "name": name, "description": name, "required": true });
    let prompt = |name: &str, arguments: Vec<Value>| json!({ "name": name, "description": format!("Prompt {name}"), "arguments": arguments });
    vec![
        prompt("test_simple_prompt", vec![]),
        prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
        prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
        prompt("test_prompt_with_image", vec![]),
        prompt("test_input_required_result_prompt", vec![]),
    ]
}

pub(crate) async fn get(
    name: &str,
    arguments: &Map<String, Value>,
    context: &Context,
) -> Result<Value, Error> {
    let argument = |name: &str| match arguments.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::invalid_params(format_args!("the argument {name} is required"))),
    };
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument("resourceUri")?;
            let content = "Embedded resource content for testing.";
            let resource = json!({ "uri": uri, "mimeType": "text/plain", "text": content });
            vec![
                json!({ "type": "resource", "resource": resource }),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" }),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let message = "What context should the prompt use?";
            let question = elicitation("user_context", message, "context", "string");
            let answers = context.ask(vec![question]).await?;
            vec![text(&format!("Use this context: {}", answers["user_context"]["content"]))]
        }
        _ => return Err(Error::invalid_params(format_args!("unknown prompt: {name}"))),
    };
    let messages =
        contents.into_iter().map(|content| json!({ "role": "user", "content": content }));
    Ok(json!({ "messages": messages.collect::<Vec<_>>() }))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
