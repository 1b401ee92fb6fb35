//! Pure functions, compared with the observed results of the TypeScript pi 1.5.0.
//!
//! `fixtures/functions.json` has a table of inputs and outputs per function. Intended differences
//! are listed here with their reasons.

use pi_ai::wire::transform_messages;
use pi_ai::{
    AssistantMessage, Message, Model, ThinkingBudgets, ThinkingLevel, Usage, estimate,
    is_context_overflow, is_recoverable_length, is_retryable, retry::RetryPolicy,
};
use pi_protocol::{Declarations, PartialJson, json};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

fn rows(function: &str) -> Vec<(Value, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/functions.json");
    let text = std::fs::read_to_string(path).unwrap();
    let tables: Map<String, Value> = json::from_str_repairing(&text).unwrap();
    let rows = tables[function].as_array().unwrap();
    assert!(!rows.is_empty());
    rows.iter().map(|row| (row["input"].clone(), row["output"].clone())).collect()
}

/// Runs `ours` over the table of a function and lists every row that differs.
fn check<T: PartialEq + std::fmt::Debug>(
    function: &str,
    theirs: impl Fn(&Value, &Value) -> T,
    ours: impl Fn(&Value) -> T,
) {
    let wrong: Vec<String> = rows(function)
        .iter()
        .filter_map(|(input, output)| {
            let (ours, theirs) = (ours(input), theirs(input, output));
            (ours != theirs).then(|| format!("{input}\n  ours {ours:?}\n  theirs {theirs:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

/// Adds the required fields to a model record.
fn model(partial: &Value) -> Model {
    let mut record = serde_json::json!({"id": "m", "api": "a", "provider": "p"});
    for (key, value) in partial.as_object().unwrap() {
        record[key] = value.clone();
    }
    read(&record)
}

fn same_number(a: f64, b: &Value) -> bool {
    (a - b.as_f64().unwrap()).abs() <= a.abs() * 1e-12
}

#[test]
fn context_overflow_is_detected_like_pi() {
    check(
        "isContextOverflow",
        // Numbers may have thousands separators.
        |input, output| {
            let error = input["message"]["errorMessage"].as_str().unwrap_or_default();
            output == true || error.contains("maximum context length is 128,000 tokens")
        },
        |input| is_context_overflow(&read(&input["message"]), input["contextWindow"].as_u64()),
    );
}

#[test]
fn recoverable_length_is_detected_like_pi() {
    check(
        "isRecoverableLength",
        |_, output| output == true,
        |input| {
            let wanted = input["desired"].as_u64().unwrap_or(0);
            is_recoverable_length(&read(&input["message"]), wanted)
        },
    );
}

#[test]
fn retryable_errors_are_classified_like_pi() {
    check(
        "isRetryableAssistantError",
        |_, output| output == true,
        |input| is_retryable(&read(input)),
    );
}

#[test]
fn retry_delays_are_those_of_pi() {
    check(
        "retryDelayMs",
        |_, output| output.as_f64().unwrap(),
        |input| {
            let millis =
                |field: &str| input[0][field].as_u64().map(std::time::Duration::from_millis);
            let mut policy = RetryPolicy::default();
            policy.base_delay = millis("baseDelayMs").unwrap_or(policy.base_delay);
            policy.max_delay = millis("maxAgentDelayMs").unwrap_or(policy.max_delay);
            let attempt = u32::try_from(input[1].as_u64().unwrap()).unwrap();
            policy.delay(attempt).as_secs_f64() * 1e3
        },
    );
}

#[test]
fn complete_tool_arguments_are_parsed_like_pi() {
    check(
        "parseToolCallArguments",
        |_, output| match output.get("argumentsError").and_then(Value::as_str) {
            Some(error) => Err(received(error)),
            None => Ok(normal(&output["arguments"])),
        },
        |input| match json::parse_tool_arguments(input.as_str().unwrap()) {
            Ok(arguments) => Ok(normal(&Value::Object(arguments))),
            Err(error) => Err(received(&error.to_string())),
        },
    );
}

/// Returns the part of the error after the text of the parser.
fn received(error: &str) -> String {
    error.split_once("\n\nReceived arguments:\n").unwrap().1.to_owned()
}

/// Normalizes numbers, since JavaScript has one kind of number.
fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), normal(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn partial_tool_arguments_are_parsed_like_pi() {
    check(
        "StreamingJsonParser",
        // A root that is not an object gives an empty object.
        |_, output| {
            let shown = |snapshot: &Value| match snapshot {
                Value::Object(_) => normal(snapshot),
                _ => Value::Object(Map::new()),
            };
            output.as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
        },
        |input| {
            let mut reader = PartialJson::new();
            let mut arguments = Map::new();
            let mut read = |piece: &Value| {
                reader.push(piece.as_str().unwrap(), &mut arguments);
                normal(&Value::Object(arguments.clone()))
            };
            input.as_array().unwrap().iter().map(&mut read).collect()
        },
    );
}

#[test]
fn thinking_levels_are_clamped_like_pi() {
    for (input, output) in rows("getSupportedThinkingLevels") {
        assert_eq!(model(&input).thinking_levels(), read::<Vec<ThinkingLevel>>(&output), "{input}");
    }
    for (input, output) in rows("clampThinkingLevel") {
        // An invalid level is rejected when it is parsed.
        let Ok(level) = serde_json::from_value::<ThinkingLevel>(input["level"].clone()) else {
            continue;
        };
        let clamped = model(&input["model"]).clamp_thinking(level);
        assert_eq!(clamped, read(&output), "{input}");
    }
}

#[test]
fn thinking_budgets_are_those_of_pi() {
    for (input, output) in rows("adjustMaxTokensForThinking") {
        let custom: ThinkingBudgets = input.get(3).map(read).unwrap_or_default();
        let level: ThinkingLevel = read(&input[2]);
        let split = level.split_allowance(input[0].as_u64(), input[1].as_u64().unwrap(), &custom);
        let expected =
            (output["maxTokens"].as_u64().unwrap(), output["thinkingBudget"].as_u64().unwrap());
        assert_eq!((split.max_tokens, split.thinking), expected, "{input}");
    }
}

#[test]
fn max_tokens_are_limited_like_pi() {
    for (input, output) in rows("clampMaxTokensToContext") {
        let window = input[0]["contextWindow"].as_u64().unwrap();
        let messages: Vec<Message> = read(&input[1]);
        let fitted = estimate::fit_max_tokens(input[2].as_u64().unwrap(), window, &messages);
        assert_eq!(fitted, output.as_u64().unwrap(), "{input}");
    }
}

#[test]
fn context_estimates_are_those_of_pi() {
    for (input, output) in rows("estimateContextTokens") {
        let messages: Vec<Message> = read(&input);
        assert_eq!(
            estimate::context_tokens(&messages),
            output["tokens"].as_u64().unwrap(),
            "{input}"
        );
    }
}

#[test]
fn costs_are_those_of_pi() {
    for (input, output) in rows("calculateCost") {
        let counts = |index: usize| input[1].get(index).and_then(Value::as_u64);
        let mut usage = Usage {
            input: counts(0).unwrap_or(0),
            output: counts(1).unwrap_or(0),
            cache_read: counts(2).unwrap_or(0),
            cache_write: counts(3).unwrap_or(0),
            cache_write_1h: counts(4),
            ..Usage::default()
        };
        usage.price(&read(&input[0]));
        let cost = &usage.cost;
        for (field, ours) in [
            ("input", cost.input),
            ("output", cost.output),
            ("cacheRead", cost.cache_read),
            ("cacheWrite", cost.cache_write),
            ("total", cost.total),
        ] {
            assert!(same_number(ours, &output[field]), "{input}: {field} {ours}, {output}");
        }
    }
}

#[test]
fn messages_are_transformed_like_pi() {
    for (input, output) in rows("transformMessages") {
        let messages: Vec<Message> = read(&input["messages"]);
        let normalize = |id: &str, _: &AssistantMessage| {
            let clean =
                |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '_' };
            format!("N_{}", id.chars().map(clean).collect::<String>())
        };
        let ours = transform_messages(&messages, &model(&input["model"]), &normalize);
        let theirs: Vec<Message> = read(&output);
        assert_eq!(without_times(&ours), without_times(&theirs), "{input}");
    }
}

fn without_times(messages: &[Message]) -> Value {
    let mut value = serde_json::to_value(messages).unwrap();
    for message in value.as_array_mut().unwrap() {
        message.as_object_mut().unwrap().shift_remove("timestamp");
    }
    value
}

#[test]
fn declarations_are_replayed_like_pi() {
    for (input, output) in rows("transcript") {
        let messages: Vec<Message> = read(&input);
        let state = Declarations::replay(&messages);
        assert_eq!(serde_json::to_value(&state.tools).unwrap(), output["currentTools"], "{input}");
        assert_eq!(state.prompt(), output["prompt"].as_str().unwrap(), "{input}");
    }
}
