//! The user's prompt templates as prompts.

use pi_config::resources::Resources;
use serde_json::{Map, Value, json};

use super::plan::Plan;

/// Name of the only argument: what would follow the name of the template.
const ARGUMENTS: &str = "arguments";

/// Lists the templates.
pub(super) fn list(plan: &Plan) -> Vec<Value> {
    let described = load(plan).prompts.into_iter().map(|template| {
        let about =
            template.argument_hint.unwrap_or_else(|| "Arguments of the template".to_owned());
        let argument = json!({ "name": ARGUMENTS, "description": about, "required": false });
        json!({
            "name": template.name,
            "description": template.description,
            "arguments": [argument],
        })
    });
    described.collect()
}

/// Expands a template; `None` if there is none with this name.
pub(super) fn get(
    plan: &Plan,
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<Value, String>> {
    let resources = load(plan);
    let template = resources.prompts.iter().find(|template| template.name == name)?;
    let description = template.description.clone();
    let given = arguments.get(ARGUMENTS).and_then(Value::as_str).unwrap_or_default();
    let text = match resources.expand(&format!("/{name} {given}")) {
        Ok(expanded) => expanded?.text,
        Err(error) => return Some(Err(error.to_string())),
    };
    let content = json!({ "type": "text", "text": text });
    let messages = json!([{ "role": "user", "content": content }]);
    Some(Ok(json!({ "description": description, "messages": messages })))
}

fn load(plan: &Plan) -> Resources {
    let options = super::super::setup::options(&plan.arguments, plan.environment.clone());
    Resources::of(&options.project, &options.resources)
}
