//! Runs the examples.

#![allow(unreachable_pub)] // the examples are also programs of their own

#[path = "../../examples/approval.rs"]
mod approval;
#[path = "../../examples/chat.rs"]
mod chat;
#[path = "../../examples/custom_tool.rs"]
mod custom_tool;
#[path = "../../examples/steering.rs"]
mod steering;
#[path = "../../examples/structured.rs"]
mod structured;

#[tokio::test]
async fn chat_has_five_messages() {
    assert_eq!(chat::run().await, Ok(5));
}

#[tokio::test]
async fn custom_tool_is_executed() {
    assert_eq!(custom_tool::run().await.as_deref(), Ok("You rolled a six."));
}

#[tokio::test]
async fn approval_blocks_only_deletion() {
    let results = approval::run().await.unwrap();
    assert_eq!(results[0], "(pretending to run \"ls\")");
    assert_eq!(results[1], "The user does not allow deleting files.");
}

#[tokio::test]
async fn steering_is_delivered_before_the_next_request() {
    let roles = steering::run().await.unwrap();
    assert_eq!(roles, ["system", "user", "assistant", "toolResult", "user", "assistant"]);
}

#[tokio::test]
async fn structured_result_is_validated() {
    let verdict = structured::run().await.unwrap().unwrap();
    assert!(verdict.approved);
    assert_eq!(verdict.reason, "It is small and tested.");
}
