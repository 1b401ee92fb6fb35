//! The tools of the suite that go on as tasks.

use std::time::Duration;

use pi_jsonrpc::Error;
use pi_mcp::server::{Context, error_result, text_result};
use serde_json::{Map, Value};

use super::questions::elicitation;

pub(crate) const NAMES: &[&str] = &[
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

pub(crate) async fn call(
    name: &str,
    arguments: &Map<String, Value>,
    context: &Context,
) -> Result<Value, Error> {
    match name {
        "slow_compute" => {
            let seconds = arguments.get("seconds").and_then(Value::as_u64).unwrap_or_default();
            if context.can_start_task() {
                context.start_task().await?;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
                () = context.cancel().cancelled() => return Err(Error::internal("cancelled")),
            }
            Ok(text_result(format!("computed for {seconds} s")))
        }
        "failing_job" => {
            context.start_task().await?;
            Ok(error_result("The job failed"))
        }
        "protocol_error_job" => {
            context.start_task().await?;
            Err(Error::internal("The job broke"))
        }
        "confirm_delete" => {
            context.start_task().await?;
            let question = elicitation("confirm", "Delete the file?", "confirm", "boolean");
            context.ask(vec![question]).await?;
            Ok(text_result("deleted"))
        }
        "multi_input" => {
            context.start_task().await?;
            let first = elicitation("first", "First name?", "name", "string");
            let second = elicitation("second", "Second name?", "name", "string");
            context.ask(vec![first, second]).await?;
            Ok(text_result("both given"))
        }
        _ => {
            context.require_task()?;
            let question = elicitation("user_name", "What is your name?", "name", "string");
            let answers = context.ask(vec![question]).await?;
            context.start_task().await?;
            Ok(text_result(format!("Hello, {}", answers["user_name"]["content"]["name"])))
        }
    }
}
