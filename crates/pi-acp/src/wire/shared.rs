//! Shapes that both versions have.

use serde_json::{Map, Value, json};

use crate::update::{
    Block, ConfigOption, Location, PermissionOption, PlanEntry, Status, Title, ToolCall,
};

/// Adds a field if there is a value for it.
pub(super) fn set(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Value::Object(object), Some(value)) = (object, value) {
        object.insert(name.to_owned(), value);
    }
}

/// Makes an update of a kind with fields.
pub(super) fn update(kind: &str, fields: Value) -> Value {
    let mut update = Map::new();
    update.insert("sessionUpdate".to_owned(), kind.into());
    if let Value::Object(fields) = fields {
        update.extend(fields);
    }
    Value::Object(update)
}

pub(crate) fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Image { data, mime_type } => {
            json!({ "type": "image", "data": data, "mimeType": mime_type })
        }
    }
}

/// Writes a config option; `id` is the name of the field with its id.
pub(super) fn option(id: &str, option: &ConfigOption) -> Value {
    let choices: Vec<Value> = option
        .choices
        .iter()
        .map(|choice| {
            let mut value = json!({ "value": choice.value, "name": choice.name });
            set(&mut value, "description", choice.description.clone().map(Value::from));
            value
        })
        .collect();
    let mut value = Map::new();
    value.insert(id.to_owned(), option.id.into());
    value.insert("name".to_owned(), option.name.into());
    value.insert("description".to_owned(), option.description.into());
    value.insert("category".to_owned(), option.category.into());
    value.insert("type".to_owned(), "select".into());
    value.insert("currentValue".to_owned(), option.current.clone().into());
    value.insert("options".to_owned(), choices.into());
    Value::Object(value)
}

/// Writes the fields of a tool call that both versions have. `status` writes its status, `content`
/// an element of its content.
pub(super) fn tool_call(
    call: ToolCall,
    status: fn(Status) -> &'static str,
    content: fn(crate::update::ToolContent) -> Value,
) -> Value {
    let mut value = json!({ "toolCallId": call.id });
    set(&mut value, "name", call.name.map(Value::from));
    set(&mut value, "title", call.title.map(Value::from));
    set(&mut value, "kind", call.kind.map(Value::from));
    set(&mut value, "status", call.status.map(|given| status(given).into()));
    set(&mut value, "content", call.content.map(|all| all.into_iter().map(content).collect()));
    set(&mut value, "locations", call.locations.map(|all| all.iter().map(location).collect()));
    set(&mut value, "rawInput", call.raw_input);
    set(&mut value, "rawOutput", call.raw_output);
    value
}

fn location(location: &Location) -> Value {
    let mut value = json!({ "path": location.path });
    set(&mut value, "line", location.line.map(Value::from));
    value
}

pub(super) fn permission_option(option: &PermissionOption) -> Value {
    json!({ "optionId": option.id, "name": option.name, "kind": option.kind })
}

pub(super) fn plan_entry(entry: &PlanEntry) -> Value {
    json!({ "content": entry.content, "priority": entry.priority, "status": entry.status })
}

/// Writes the fields of a usage report.
pub(super) fn usage(used: u64, size: u64, cost: f64) -> Value {
    let cost = json!({ "amount": cost, "currency": "USD" });
    json!({ "used": used, "size": size, "cost": cost })
}

/// Writes the fields of a report about the title and the time of a session.
pub(super) fn info(title: Title, updated_at: Option<String>) -> Value {
    let mut value = json!({});
    let title = match title {
        Title::Unchanged => None,
        Title::Set(title) => Some(title.into()),
        Title::Removed => Some(Value::Null),
    };
    set(&mut value, "title", title);
    set(&mut value, "updatedAt", updated_at.map(Value::from));
    value
}
