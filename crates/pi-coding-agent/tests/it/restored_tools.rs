//! The active tools of a session that is resumed, or goes to another branch.

use std::sync::Arc;

use pi_agent::{FnTool, ToolError};
use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Exposure, Extensions, Handlers, LoadoutChange, ToolRegistration};
use pi_coding_agent::session::{PromptOptions, SessionParts};
use pi_protocol::{Declarations, Tool};
use serde_json::json;

use crate::test_session::TestSession;

const OWNER: &str = "test:server";

fn registration(name: &str) -> ToolRegistration {
    let declaration = Tool::new(name, "A tool.", json!({"type": "object", "properties": {}}));
    let tool = FnTool::new(declaration, |_| async { Ok::<_, ToolError>(String::new()) });
    ToolRegistration::new(Arc::new(tool))
}

/// Registers a tool as a server does that connects.
fn connect(test: &TestSession, name: &str) {
    let tool = registration(name).exposure(Exposure::Deferred);
    test.session.extensions().registry().register_tool(OWNER, tool).unwrap();
}

fn disconnect(test: &TestSession, name: &str) {
    assert!(test.session.extensions().registry().unregister_tool(OWNER, name));
}

fn active(test: &TestSession) -> Vec<String> {
    let tools = test.session.active_tools();
    tools.iter().map(|tool| tool.declaration().name.clone()).collect()
}

/// Prompts, and returns the names of the tools that the request declares.
async fn declared(test: &TestSession) -> Vec<String> {
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    let requests = test.model.requests();
    let messages = requests.last().unwrap().context.messages.iter();
    let mut names: Vec<String> =
        Declarations::replay(messages).tools.into_iter().map(|tool| tool.name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_loaded_tool_is_active_again_when_its_server_connects() {
    let test = TestSession::new();
    connect(&test, "late");
    assert_eq!(active(&test), ["read", "bash", "edit", "write"]);
    test.session.activate_tools(&["late".to_owned()]);
    assert_eq!(declared(&test).await, ["bash", "edit", "late", "read", "write"]);

    let test = test.reopened(|_| {});
    assert_eq!(active(&test), ["read", "bash", "edit", "write"]);
    // Additions leave a tool alone that is not there yet.
    test.session.set_active_tools(&active(&test));
    connect(&test, "late");
    assert_eq!(active(&test), ["read", "bash", "edit", "write", "late"]);
    assert_eq!(declared(&test).await, ["bash", "edit", "late", "read", "write"]);

    disconnect(&test, "late");
    assert_eq!(active(&test), ["read", "bash", "edit", "write"]);
    connect(&test, "late");
    assert_eq!(active(&test), ["read", "bash", "edit", "write", "late"]);

    // A new choice of tools holds for it, too.
    disconnect(&test, "late");
    test.session.set_active_tools(&["read".to_owned()]);
    connect(&test, "late");
    assert_eq!(active(&test), ["read"]);
}

#[tokio::test]
async fn a_deactivated_tool_stays_inactive() {
    let test = TestSession::new();
    connect(&test, "late");
    test.session.activate_tools(&["late".to_owned()]);
    declared(&test).await;
    let test = test.reopened(|_| {});
    test.session.deactivate_tools(&["late".to_owned()]);
    connect(&test, "late");
    assert_eq!(active(&test), ["read", "bash", "edit", "write"]);
}

#[tokio::test]
async fn tools_that_requests_hide_are_restored() {
    let hiding = || async {
        let scripts = registration("scripts").prepare_loadout(Arc::new(|_| {
            let hidden = ["read".to_owned(), "bash".to_owned()].into();
            LoadoutChange { hidden, ..LoadoutChange::default() }
        }));
        let extension =
            Handlers::new("test:scripts").setup(move |api| api.register_tool(scripts.clone()));
        Extensions::load(vec![Arc::new(extension)]).await.0
    };
    let extensions = hiding().await;
    let test = TestSession::with(|parts: &mut SessionParts| parts.extensions = extensions);
    for _ in 0..2 {
        assert_eq!(declared(&test).await, ["edit", "scripts", "write"]);
    }
    let extensions = hiding().await;
    let test = test.reopened(|parts| parts.extensions = extensions);
    assert_eq!(declared(&test).await, ["edit", "scripts", "write"]);
    // Without the tool that hides them they are declared.
    let test = test.reopened(|_| {});
    assert_eq!(declared(&test).await, ["bash", "edit", "read", "write"]);
}

#[tokio::test]
async fn tools_of_another_branch_are_left_behind() {
    let test = TestSession::new();
    connect(&test, "late");
    declared(&test).await;
    declared(&test).await;
    let second = test.session.user_messages().unwrap()[1].entry_id.clone();
    test.session.activate_tools(&["late".to_owned()]);
    assert_eq!(declared(&test).await, ["bash", "edit", "late", "read", "write"]);
    test.session.navigate(&second, Default::default()).await.unwrap();
    assert_eq!(declared(&test).await, ["bash", "edit", "read", "write"]);
}
