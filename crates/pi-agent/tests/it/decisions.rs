//! Decisions before a call: declared effects, required approvals, and decorated tools.

use std::sync::{Arc, Mutex};

use pi_agent::{
    AgentTool, BeforeToolCall, BoxFuture, ExecutionMode, FnTool, Invocation, Permission,
    RequiredApproval, ToolError, ToolOutput, hook,
};
use pi_protocol::{Effects, Tool};
use serde_json::{Map, Value, json};

use crate::env::{Counter, TestEnv, answer, calls, named, user};

/// Creates a tool that counts how often it declares its effects.
fn counted(declared: &Counter) -> FnTool {
    let declared = declared.clone();
    named("echo", |_| ToolOutput::text("echoed")).effects(move |arguments| {
        declared.count();
        let path = arguments.get("value").and_then(Value::as_str).unwrap_or("a");
        Effects::none().write(path, "value")
    })
}

#[tokio::test(start_paused = true)]
async fn effects_are_declared_once_per_call_and_again_for_other_arguments() {
    let changed = Map::from_iter([("value".to_owned(), json!("b"))]);
    for (permission, expected) in [(Permission::allow(), 2), (Permission::allow_with(changed), 4)] {
        let declared = Counter::default();
        let seen: Arc<Mutex<Vec<Effects>>> = Arc::default();
        let sink = Arc::clone(&seen);
        let replies = vec![calls(&[("1", "echo"), ("2", "echo")]), answer()];
        let env = TestEnv::new(vec![counted(&declared)], replies, |settings| {
            settings.hooks.before_tool_call = hook(move |call: BeforeToolCall| {
                sink.lock().unwrap().push(call.effects);
                std::future::ready(Ok(permission.clone()))
            });
        });
        env.agent.prompt_messages(vec![user("u")]).await.unwrap();
        assert_eq!(env.result("2"), "echoed");
        assert_eq!(declared.get(), expected);
        assert_eq!(seen.lock().unwrap()[0], Effects::none().write("a", "value"));
    }
}

/// A decorator that reports what it was invoked with.
struct Decorated(FnTool);

impl AgentTool for Decorated {
    fn inner(&self) -> Option<&dyn AgentTool> {
        Some(&self.0)
    }

    fn declaration(&self) -> &Tool {
        self.0.declaration()
    }

    fn requests_approval(&self) -> bool {
        true
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let reasons = invocation.required_approvals.iter().map(|one| one.reason.as_str());
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let writes = invocation.effects.map_or(0, |effects| effects.writes.len());
        let output = ToolOutput::text(format!("{reasons}; {writes} written"));
        Box::pin(std::future::ready(Ok(output)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_required_approval_reaches_the_tool_or_refuses_the_call() {
    let approval = RequiredApproval { reason: "why?".to_owned(), by: "test".to_owned() };
    let ask = Permission::Ask { arguments: None, approvals: vec![approval] };
    let plain: Arc<dyn AgentTool> = Arc::new(counted(&Counter::default()));
    let decorated: Arc<dyn AgentTool> = Arc::new(Decorated(counted(&Counter::default())));
    for (tool, expected) in [
        (plain, "Tool execution was blocked: it needs approval: why?"),
        (decorated, "why?; 1 written"),
    ] {
        let replies = vec![calls(&[("1", "echo")]), answer()];
        let permission = ask.clone();
        let env = TestEnv::new(Vec::new(), replies, |settings| {
            settings.tools = vec![tool];
            settings.hooks.before_tool_call =
                hook(move |_| std::future::ready(Ok(permission.clone())));
        });
        env.agent.prompt_messages(vec![user("u")]).await.unwrap();
        assert_eq!(env.result("1"), expected);
    }
}

#[test]
fn a_decorator_has_the_methods_of_its_inner_tool() {
    let inner = named("echo", |_| ToolOutput::text(""))
        .label("a label")
        .prompt_snippet("a snippet")
        .prompt_guidelines(["a guideline"])
        .sequential()
        .effects(|_| Effects::none().run("ls"));
    let (arguments, decorated) = (Map::new(), Decorated(inner.clone()));
    let (inner, decorated): (&dyn AgentTool, &dyn AgentTool) = (&inner, &decorated);
    for tool in [inner, decorated] {
        assert_eq!(tool.label(), "a label");
        assert_eq!(tool.prompt_snippet(), Some("a snippet"));
        assert_eq!(tool.prompt_guidelines(), ["a guideline"]);
        assert_eq!(tool.execution_mode(), ExecutionMode::Sequential);
        assert_eq!(tool.effects(&arguments).runs, ["ls"]);
    }
    assert!(!inner.requests_approval() && decorated.requests_approval());
}
