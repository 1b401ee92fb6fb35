//! Tools, resources and prompts of a server, as the model and the user see them.

use std::fs;
use std::sync::Arc;

use pi_ai::faux::Reply;
use pi_coding_agent::extension::{RunMode, ToolWait};
use pi_coding_agent::session::PromptOptions;
use pi_mcp_host::ServerState;
use serde_json::{Value, json};

use super::{McpTest, PATIENCE, declared, text, tools};

#[tokio::test]
async fn a_declared_tool_is_called() {
    let test = McpTest::new(&["echo", "error", "refuse", "where", "progress"]);
    let running = test.start().await;
    let result = test.call(&running, "mcp__s__echo", json!({"message": "hi"})).await;
    assert_eq!((text(&result).as_str(), result.is_error), ("Echo: hi", false));
    assert_eq!(result.details, Some(json!({"server": "s", "tool": "echo", "untrusted": true})));
    let request = test.model.requests().remove(0);
    let names = declared(&request);
    assert!(names.contains(&"mcp__s__echo".to_owned()), "{names:?}");
    assert!(names.contains(&"read_mcp_resource".to_owned()), "{names:?}");
    let echo = tools(&request).into_iter().find(|tool| tool.name == "mcp__s__echo").unwrap();
    assert_eq!(echo.description, "Does echo.");
    for (tool, expected) in
        [("error", "MCP tool s/error returned an error"), ("refuse", "bad thing")]
    {
        let result = test.call(&running, &format!("mcp__s__{tool}"), json!({})).await;
        assert_eq!((text(&result).as_str(), result.is_error), (expected, true));
    }
    let result = test.call(&running, "mcp__s__where", json!({})).await;
    assert_eq!(test.env.placeholder(&text(&result)), "$ROOT/home/proj");
    running.records.lock().unwrap().clear();
    test.call(&running, "mcp__s__progress", json!({})).await;
    let updates: Vec<String> = running
        .records
        .lock()
        .unwrap()
        .iter()
        .filter(|record| record["type"] == "tool_execution_update")
        .map(|record| record["partialResult"]["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(updates, ["Progress 1/3", "nearly"]);
    assert_eq!(test.count("start"), 1);
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let test = McpTest::new(&[]);
    let running = test.start().await;
    let result = test.call(&running, "list_mcp_resources", json!({})).await;
    let listed: Value = serde_json::from_str(&text(&result)).unwrap();
    let resource = json!({"server": "s", "uri": "x://a", "name": "a", "mimeType": "text/plain",
        "annotations": {"priority": 1}});
    assert_eq!(listed, json!({"resources": [resource]}));
    let result = test.call(&running, "list_mcp_resource_templates", json!({})).await;
    let listed: Value = serde_json::from_str(&text(&result)).unwrap();
    let template = json!({"server": "s", "uriTemplate": "x://{id}", "name": "t"});
    assert_eq!(listed, json!({"resourceTemplates": [template]}));
    let read = json!({"server": "s", "uri": "x://a"});
    let result = test.call(&running, "read_mcp_resource", read).await;
    assert_eq!(text(&result), "content of a");
    let result = test.call(&running, "read_mcp_resource", json!({"server": "s", "uri": ""})).await;
    assert_eq!((text(&result).as_str(), result.is_error), ("The uri is empty.", true));
    let result =
        test.call(&running, "read_mcp_resource", json!({"server": "t", "uri": "x://a"})).await;
    assert_eq!(text(&result), "MCP server \"t\" has no resources. Servers with resources: s");
    running.runtime.shut_down().await;
}

/// A server whose tools are not declared is listed in the system prompt, and is not started.
#[tokio::test]
async fn a_server_that_is_not_used_is_not_started() {
    let test = McpTest::with(&["echo"], &json!({"description": "Echoes things"}));
    let running = test.start().await;
    let request = test.request(&running).await;
    assert!(!declared(&request).iter().any(|name| name.starts_with("mcp__")));
    assert_eq!(test.log(), [""; 0]);
    let mcp = pi_mcp_host::servers_of(&running.session).unwrap();
    assert_eq!(mcp.states()[0].state, ServerState::Disconnected(None));
    // A script that names the server waits for its tools.
    let other = ToolWait::Namespaces(vec!["mcp__other".to_owned()]);
    running.session.wait_for_tools(other).await;
    assert_eq!(test.log(), [""; 0]);
    running.session.wait_for_tools(ToolWait::Namespaces(vec!["mcp__s".to_owned()])).await;
    let tools = running.session.extensions().registry().tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.tool.declaration().name.as_str()).collect();
    assert!(names.contains(&"mcp__s__echo"), "{names:?}");
    assert_eq!(mcp.states()[0].state, ServerState::Connected);
    running.runtime.shut_down().await;
}

/// The lists of a server outlive the session: the next one knows the tools without a connection.
#[tokio::test]
async fn lists_are_cached() {
    let test = McpTest::with(&["echo"], &json!({}));
    let running = test.start().await;
    running.session.wait_for_tools(ToolWait::All).await;
    running.runtime.shut_down().await;
    assert_eq!(test.count("start"), 1);
    let running = test.start().await;
    running.session.wait_for_tools(ToolWait::All).await;
    let registry = running.session.extensions().registry();
    assert!(registry.has_tool("mcp__s__echo"));
    assert_eq!(test.count("start"), 1);
    assert_eq!(
        pi_mcp_host::servers_of(&running.session).unwrap().states()[0].state,
        ServerState::Disconnected(None)
    );
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn servers_connect_in_the_background_of_a_screen() {
    let mut test = McpTest::with(&["echo"], &json!({}));
    test.mode = RunMode::Rpc;
    let running = test.start().await;
    let mcp = pi_mcp_host::servers_of(&running.session).unwrap();
    let mut changes = mcp.changes();
    let connected = async {
        while mcp.states()[0].state != ServerState::Connected {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, connected).await.unwrap();
    assert_eq!(mcp.states()[0].tools, Some(vec!["echo".to_owned()]));
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn changed_lists_reach_the_model() {
    let test = McpTest::new(&["rename"]);
    test.set_tools("tools2.json", &[json!({"name": "fresh", "inputSchema": {}})]);
    let running = test.start().await;
    let mut changes = pi_mcp_host::servers_of(&running.session).unwrap().changes();
    test.call(&running, "mcp__s__rename", json!({})).await;
    let registry = running.session.extensions().registry().clone();
    let renamed = async {
        while !registry.has_tool("mcp__s__fresh") {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, renamed).await.unwrap();
    let request = test.request(&running).await;
    let names = declared(&request);
    assert!(names.contains(&"mcp__s__fresh".to_owned()), "{names:?}");
    assert!(!names.contains(&"mcp__s__rename".to_owned()), "{names:?}");
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn prompts_are_commands_with_completions() {
    let test = McpTest::new(&[]);
    let running = test.start().await;
    running.session.wait_for_tools(ToolWait::All).await;
    let found = running.session.extensions().registry().find_command("mcp:s:greet").unwrap();
    assert_eq!(found.command.description.as_deref(), Some("Greets. <who>"));
    let completer = found.command.completer.unwrap();
    let values: Vec<String> =
        completer("A".to_owned()).await.into_iter().map(|one| one.value).collect();
    assert_eq!(values, ["Ada", "Alan"]);
    test.model.push(Reply::new().text("Hello, Ada."));
    running.session.prompt("/mcp:s:greet Ada", PromptOptions::default()).await.unwrap();
    assert_eq!(running.session.last_assistant_text().as_deref(), Some("Hello, Ada."));
    let request = test.model.requests().pop().unwrap();
    let last = format!("{:?}", request.context.messages.iter().last());
    assert!(last.contains("Greet Ada"), "{last}");
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn no_process_outlives_the_session() {
    let test = McpTest::new(&["echo"]);
    let running = test.start().await;
    test.call(&running, "mcp__s__echo", json!({"message": "hi"})).await;
    running.runtime.shut_down().await;
    // Each process has its arguments in a file; those of other tests are elsewhere.
    let directory = test.env.path("server");
    let alive = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|process| {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(&*directory.to_string_lossy())
    });
    assert_eq!(alive.count(), 0);
}

/// The registry holds the extensions, and with them their programs.
#[tokio::test]
async fn the_registry_ends_with_the_session() {
    for is_replaced in [false, true] {
        let test = McpTest::new(&["echo"]);
        let runtime = test.start().await.runtime;
        let registry = runtime.registry();
        let held = Arc::new(());
        let is_dropped = Arc::downgrade(&held);
        let wait = move |_: ToolWait| -> pi_agent::BoxFuture<'static, ()> {
            let _held = Arc::clone(&held);
            Box::pin(std::future::ready(()))
        };
        registry.register_tool_wait("test:program", Arc::new(wait));
        // A registration that is observed.
        registry.register_mcp_server("test:program", "other", json!({"command": "x"})).unwrap();
        drop(registry);
        runtime.session().wait_for_tools(ToolWait::All).await;
        match is_replaced {
            true => drop(runtime.new_session(None).await.unwrap()),
            false => runtime.shut_down().await,
        }
        let _next = is_replaced.then_some(runtime);
        let dropping = async {
            while is_dropped.upgrade().is_some() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, dropping).await.unwrap();
    }
}

/// A configuration that is broken costs nothing but itself.
#[tokio::test]
async fn broken_servers_are_reported() {
    let test = McpTest::new(&["echo"]);
    test.configure(&json!({"mcpServers": {
        "missing": {"command": "/does/not/exist", "exposure": "direct"},
        "ends": {"command": "/bin/sh", "args": ["-c", "echo why >&2; exit 1"], "exposure": "direct"},
        "off": {"command": "/bin/sh", "enabled": false},
        "bad": {},
    }}));
    let created = pi_coding_agent::create_agent_session(test.options()).await.unwrap();
    let problems: Vec<String> = created.diagnostics.iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.contains("mcpServers.bad")), "{problems:?}");
    let session = created.runtime.session();
    session.wait_for_tools(ToolWait::All).await;
    let states: Vec<(String, String)> = pi_mcp_host::servers_of(&session)
        .unwrap()
        .states()
        .into_iter()
        .map(|one| (one.name, one.state.reason().unwrap_or(one.state.as_str()).to_owned()))
        .collect();
    let reason = |name: &str| states.iter().find(|(other, _)| other == name).unwrap().1.clone();
    assert!(reason("missing").contains("was not found"), "{states:?}");
    assert!(reason("ends").contains("its last messages: why"), "{states:?}");
    assert_eq!(reason("off"), "disabled");
    created.runtime.shut_down().await;
}

/// The model is told once that a resource which it has read has changed. Lists mark it until then.
#[tokio::test]
async fn changes_of_resources_are_announced() {
    let test = McpTest::new(&["echo", "touch"]);
    let running = test.start().await;
    let read = json!({"server": "s", "uri": "x://a"});
    test.call(&running, "read_mcp_resource", read.clone()).await;
    test.call(&running, "mcp__s__touch", json!({})).await;
    assert_eq!(test.count("resources/subscribe"), 1);
    let marked = "\"changed\":true";
    let listed = async || text(&test.call(&running, "list_mcp_resources", json!({})).await);
    let is_marked = async { while !listed().await.contains(marked) {} };
    tokio::time::timeout(PATIENCE, is_marked).await.unwrap();
    let note = "[Resources of the MCP server s that changed since you read them: x://a. Read them \
                again if you need them.]";
    for expected in [format!("Echo: hi\n{note}"), "Echo: hi".to_owned()] {
        let result = test.call(&running, "mcp__s__echo", json!({"message": "hi"})).await;
        assert_eq!(text(&result), expected);
    }
    test.call(&running, "read_mcp_resource", read).await;
    assert!(!listed().await.contains(marked));
    running.runtime.shut_down().await;
}
