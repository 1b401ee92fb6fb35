//! The examples, run as they are.

#![allow(unreachable_pub)] // they are programs of their own, too

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
async fn chat_talks() {
    assert_eq!(chat::run().await, Ok(5));
}

#[tokio::test]
async fn custom_tool_is_called() {
    assert_eq!(custom_tool::run().await.as_deref(), Ok("You rolled a six."));
}

#[tokio::test]
async fn approval_blocks_what_it_should() {
    let told = approval::run().await.unwrap();
    assert_eq!(told[0], "(pretending to run \"ls\")");
    assert_eq!(told[1], "The user does not allow deleting files.");
}

#[tokio::test]
async fn steering_reaches_the_model() {
    let roles = steering::run().await.unwrap();
    assert_eq!(roles, ["system", "user", "assistant", "toolResult", "user", "assistant"]);
}

#[tokio::test]
async fn structured_result_is_checked() {
    let verdict = structured::run().await.unwrap().unwrap();
    assert!(verdict.approved);
    assert_eq!(verdict.reason, "It is small and tested.");
}
