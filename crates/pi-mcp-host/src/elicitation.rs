//! Questions of a server to the user, as dialogs: a form field by field, or a page to open.

mod several;

use pi_coding_agent::extension::{Dialog, DialogAnswer, DialogOptions, ExtensionUi, NotifyKind};
use pi_mcp::protocol::{ElicitAction, ElicitParams, ElicitResult};
use pi_schema as schema;
use serde_json::{Map, Value};

use crate::text::{clean, clean_line};

/// The most fields of a form.
const MOST_FIELDS: usize = 50;

/// Times that a field is asked for until the answer is valid.
const ATTEMPTS: usize = 3;

const ANSWER: &str = "Answer";
const DECLINE: &str = "Decline";

/// Asks the user. Without a user the question is cancelled.
pub(crate) async fn elicit(server: &str, request: &ElicitParams, ui: &ExtensionUi) -> ElicitResult {
    if !ui.is_present() {
        return ended(ElicitAction::Cancel);
    }
    let message = clean(&request.message, 2000);
    if request.is_url() {
        return open_page(server, &message, request.url.as_deref().unwrap_or_default(), ui).await;
    }
    let title = format!("MCP server {server} asks: {message}");
    match ui.select(&title, [ANSWER, DECLINE]).await.as_deref() {
        Some(ANSWER) => {}
        Some(_) => return ended(ElicitAction::Decline),
        None => return ended(ElicitAction::Cancel),
    }
    let schema = request.requested_schema.as_ref();
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let required: Vec<&str> = schema
        .and_then(|schema| schema.get("required"))
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut content = Map::new();
    for (name, field) in fields.into_iter().flatten().take(MOST_FIELDS) {
        match ask(server, name, field, required.contains(&name.as_str()), ui).await {
            Answer::Value(value) => drop(content.insert(name.clone(), value)),
            Answer::Left => {}
            Answer::Closed => return ended(ElicitAction::Cancel),
        }
    }
    ElicitResult { action: ElicitAction::Accept, content: Some(content) }
}

fn ended(action: ElicitAction) -> ElicitResult {
    ElicitResult { action, content: None }
}

/// Shows the address of a page, which the user opens. Nothing is opened by itself: the server chose
/// the address.
async fn open_page(server: &str, message: &str, url: &str, ui: &ExtensionUi) -> ElicitResult {
    let Ok(parsed) = url::Url::parse(url) else { return ended(ElicitAction::Decline) };
    if !matches!(parsed.scheme(), "https" | "http") {
        return ended(ElicitAction::Decline);
    }
    let host = parsed.host_str().unwrap_or_default();
    let title = format!("MCP server {server} asks you to open a page on {host}");
    let dialog = Dialog::Confirm { title, message: format!("{message}\n\n{parsed}") };
    match ui.dialog(dialog, DialogOptions::default()).await {
        Some(DialogAnswer::Confirmed(true)) => {
            ui.notify(format!("Open this page in a browser: {parsed}"), NotifyKind::Info);
            ended(ElicitAction::Accept)
        }
        Some(_) => ended(ElicitAction::Decline),
        None => ended(ElicitAction::Cancel),
    }
}

enum Answer {
    Value(Value),
    /// An optional field without a value.
    Left,
    Closed,
}

/// Asks for the value of one field.
async fn ask(server: &str, name: &str, field: &Value, required: bool, ui: &ExtensionUi) -> Answer {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    let label = clean_line(text("title").unwrap_or(name), 100);
    let mut title = format!("{server}: {label}");
    if let Some(description) = text("description") {
        title.push_str(&format!(" ({})", clean_line(description, 300)));
    }
    let default = field.get("default");
    if let Some(choices) = choices(field) {
        return choose(&title, choices, default, required, ui).await;
    }
    let is_list = text("type") == Some("array");
    if let Some(choices) = field.get("items").filter(|_| is_list).and_then(choices) {
        return several::choose(&title, field, &choices, required, ui).await;
    }
    for _ in 0..ATTEMPTS {
        let hint = default.map(plain);
        let dialog = Dialog::Input { title: title.clone(), placeholder: hint };
        let Some(answer) = ui.dialog(dialog, DialogOptions::default()).await else {
            return Answer::Closed;
        };
        let given = answer.into_text().unwrap_or_default();
        if given.trim().is_empty() {
            match (default, required) {
                (Some(default), _) => return Answer::Value(default.clone()),
                (None, false) => return Answer::Left,
                (None, true) => {
                    ui.notify(format!("{label} is required."), NotifyKind::Warning);
                    continue;
                }
            }
        }
        match parse(field, given.trim()) {
            Ok(value) => return Answer::Value(value),
            Err(problem) => ui.notify(format!("{label}: {problem}"), NotifyKind::Warning),
        }
    }
    Answer::Closed
}

async fn choose(
    title: &str,
    choices: Vec<(Value, String)>,
    default: Option<&Value>,
    required: bool,
    ui: &ExtensionUi,
) -> Answer {
    const NONE: &str = "(no answer)";
    let mut shown: Vec<String> = Vec::new();
    let mut sorted = choices;
    // The default comes first, where the cursor is.
    sorted.sort_by_key(|(value, _)| Some(value) != default);
    shown.extend(sorted.iter().map(|(_, label)| label.clone()));
    if !required {
        shown.push(NONE.to_owned());
    }
    let Some(chosen) = ui.select(title, shown).await else { return Answer::Closed };
    match sorted.into_iter().find(|(_, label)| *label == chosen) {
        Some((value, _)) => Answer::Value(value),
        None => Answer::Left,
    }
}

/// Returns the values of a field that has only some, with labels.
fn choices(field: &Value) -> Option<Vec<(Value, String)>> {
    let label = |value: &Value| clean_line(&plain(value), 200);
    if field.get("type").and_then(Value::as_str) == Some("boolean") {
        return Some(vec![(true.into(), "Yes".to_owned()), (false.into(), "No".to_owned())]);
    }
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let names = field.get("enumNames").and_then(Value::as_array);
        let named = |at: usize| names.and_then(|names| names.get(at)).map(label);
        let values = values.iter().enumerate().take(500);
        return Some(
            values
                .map(|(at, one)| (one.clone(), named(at).unwrap_or_else(|| label(one))))
                .collect(),
        );
    }
    let titled = field.get("oneOf").or_else(|| field.get("anyOf")).and_then(Value::as_array)?;
    let titled = titled.iter().take(500).filter_map(|one| {
        let value = one.get("const")?;
        Some((value.clone(), one.get("title").map_or_else(|| label(value), label)))
    });
    Some(titled.collect())
}

/// Reads the text of a field by its type, and checks the value.
fn parse(field: &Value, text: &str) -> Result<Value, String> {
    let value = match field.get("type").and_then(Value::as_str) {
        Some("integer") => {
            text.parse::<i64>().map_err(|_| "expected a whole number".to_owned())?.into()
        }
        Some("number") => text.parse::<f64>().map_err(|_| "expected a number".to_owned())?.into(),
        Some("array") => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(Value::from).collect()
        }
        _ => text.into(),
    };
    check(field, &value)?;
    Ok(value)
}

/// Checks the value of a field. The error is a message for the user.
fn check(field: &Value, value: &Value) -> Result<(), String> {
    let checked = schema::check(field, value);
    let Some(mismatch) = checked.mismatches.first() else { return Ok(()) };
    let expected = mismatch.expected;
    Err(match mismatch.keyword {
        "minimum" => format!("expected at least {expected}"),
        "maximum" => format!("expected at most {expected}"),
        "minItems" => format!("expected at least {expected} values"),
        "maxItems" => format!("expected at most {expected} values"),
        "minLength" => "the text is too short".to_owned(),
        "maxLength" => "the text is too long".to_owned(),
        keyword => format!("expected {keyword} {}", plain(expected)),
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
