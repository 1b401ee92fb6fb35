//! What requests declare while servers connect, and during a run.

use std::sync::Arc;

use pi_agent::{FnTool, ToolError};
use pi_ai::faux::Reply;
use pi_coding_agent::create_agent_session;
use pi_coding_agent::extension::{Handlers, RunMode, ToolRegistration, ToolWait};
use pi_coding_agent::session::PromptOptions;
use pi_protocol::{Declarations, Tool};
use serde_json::json;

use super::{McpTest, PATIENCE, declared};

/// A tool that was registered in the background is declared, also if another reader saw it first.
#[tokio::test]
async fn tools_that_were_seen_before_the_prompt_are_declared() {
    let mut test = McpTest::new(&["echo"]);
    test.mode = RunMode::Tui;
    let running = test.start().await;
    let registry = pi_mcp_host::servers_of(&running.session).unwrap().clone();
    tokio::time::timeout(PATIENCE, registry.wait(&ToolWait::All)).await.unwrap();
    let all = running.session.all_tools();
    assert!(all.iter().any(|tool| tool.declaration().name == "mcp__s__echo"));
    let request = test.request(&running).await;
    let names = declared(&request);
    assert!(names.contains(&"mcp__s__echo".to_owned()), "{names:?}");
    running.runtime.shut_down().await;
}

/// The section on servers stays as it is from turn to turn, also for the cache of the provider.
#[tokio::test]
async fn the_section_stays_for_the_whole_run() {
    let test = McpTest::with(&["echo"], &json!({ "toolExposure": { "echo": "direct" } }));
    let running = test.start().await;
    for _ in 0..2 {
        test.model.push(Reply::new().tool_call("mcp__s__echo", &json!({ "message": "hi" })));
    }
    test.model.push(Reply::new().text("Done."));
    let prompting = running.session.prompt("Go", PromptOptions::default());
    tokio::time::timeout(PATIENCE, prompting).await.unwrap().unwrap();
    let requests = test.model.requests();
    assert_eq!(requests.len(), 3);
    let sections = requests.iter().map(|request| {
        let declarations = Declarations::replay(request.context.messages.iter());
        declarations.sections.get("mcp_servers").cloned()
    });
    let sections: Vec<_> = sections.collect();
    assert!(sections.iter().all(|one| one.is_some() && *one == sections[0]), "{sections:?}");
    running.runtime.shut_down().await;
}

/// A thousand tools of a server do not fill the requests, unless each of them is to be declared.
#[tokio::test]
async fn requests_stay_small_with_many_tools() {
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}});
    let tools: Vec<_> = (0..1000)
        .map(|number| {
            let description = "Changes a record of the workspace. ".repeat(10);
            json!({"name": format!("change_{number}"), "description": description, "inputSchema": schema})
        })
        .collect();
    let mut sizes = Vec::new();
    for exposure in ["hidden", "codemode", "deferred"] {
        let test = McpTest::with(&[], &json!({ "exposure": exposure }));
        test.set_tools("tools.json", &tools);
        let running = test.start().await;
        let servers = pi_mcp_host::servers_of(&running.session).unwrap().clone();
        tokio::time::timeout(PATIENCE, servers.wait(&ToolWait::All)).await.unwrap();
        assert_eq!(servers.tools("s").unwrap().len(), 1000);
        let request = test.request(&running).await;
        sizes.push(serde_json::to_string(&request.context.messages).unwrap().len());
        running.runtime.shut_down().await;
    }
    let without = sizes[0];
    assert!(sizes.iter().all(|size| *size < without + 16_000), "{sizes:?}");
}

/// `autoEnableCodemode` decides whether servers activate the tool that runs scripts.
#[tokio::test]
async fn servers_activate_codemode_unless_told_otherwise() {
    for enables in [true, false] {
        let test = McpTest::with(&["echo"], &json!({}));
        let path = test.env.path("home/.pi/agent/mcp.json");
        let text = std::fs::read_to_string(path).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
        config["autoEnableCodemode"] = enables.into();
        test.configure(&config);
        let mut options = test.options();
        let scripts = Tool::new("codemode", "Runs scripts.", json!({"type": "object"}));
        let scripts = FnTool::new(scripts, |_| async { Ok::<_, ToolError>(String::new()) });
        let scripts = ToolRegistration::new(Arc::new(scripts)).inactive();
        let extension =
            Handlers::new("test:scripts").setup(move |api| api.register_tool(scripts.clone()));
        options.extensions.own.push(Arc::new(extension));
        let created = create_agent_session(options).await.unwrap();
        let session = created.runtime.session();
        let servers = pi_mcp_host::servers_of(&session).unwrap().clone();
        tokio::time::timeout(PATIENCE, servers.wait(&ToolWait::All)).await.unwrap();
        let all = session.all_tools();
        assert!(all.iter().any(|tool| tool.declaration().name == "mcp__s__echo"));
        let active = session.active_tools();
        let is_active = active.iter().any(|tool| tool.declaration().name == "codemode");
        assert_eq!(is_active, enables);
        created.runtime.shut_down().await;
    }
}
