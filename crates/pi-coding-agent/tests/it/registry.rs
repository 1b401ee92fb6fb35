//! The registry: changes at any time, read once per turn, rebuilt by a reload.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_agent::{FnTool, Invocation, ToolError};
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{
    Command, Exposure, Extension, ExtensionError, Extensions, Flag, FlagKind, FlagValue, Handlers,
    ProviderRegistration, Registry, RenderRequest, RenderTarget, Rendered, Shortcut,
    ToolRegistration, command_handler,
};
use pi_coding_agent::session::{PromptOptions, SessionEvent};
use pi_protocol::Tool;
use serde_json::json;

use crate::test_session::TestSession;

fn tool(name: &str) -> FnTool {
    let declaration = Tool::new(name, "A tool.", json!({"type": "object", "properties": {}}));
    let name = name.to_owned();
    FnTool::new(declaration, move |_: Invocation| {
        let text = format!("{name} ran");
        async move { Ok::<_, ToolError>(text) }
    })
}

fn command(name: &str) -> Command {
    Command::new(name, "A command.", |_, _| async { Ok(()) })
}

async fn loaded(extensions: Vec<Arc<dyn Extension>>) -> Extensions {
    let (extensions, failures) = Extensions::load(extensions).await;
    assert_eq!(failures, []);
    extensions
}

/// Names of the tools that a request declares.
fn declared(test: &TestSession, request: usize) -> Vec<String> {
    let requests = test.model.requests();
    let messages = requests[request].context.messages.iter();
    let mut names: Vec<String> = pi_protocol::Declarations::replay(messages)
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_tool_that_is_registered_in_a_run_is_there_at_the_next_turn() {
    let adding = Handlers::new("test:adding").on_event(|event, context| async move {
        if let SessionEvent::ToolExecutionEnd { tool_name, .. } = &event
            && tool_name == "bash"
        {
            context.api().register_tool(ToolRegistration::new(Arc::new(tool("late"))))?;
            let hidden = ToolRegistration::new(Arc::new(tool("hidden")));
            context.api().register_tool(hidden.exposure(Exposure::Hidden))?;
        }
        Ok(())
    });
    let extensions = loaded(vec![Arc::new(adding)]).await;
    let test = TestSession::with(|parts| parts.extensions = extensions);
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "true"})));
    test.model.push(Reply::new().tool_call("late", &json!({})));
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("Go", PromptOptions::default()).await.unwrap();
    assert_eq!(declared(&test, 0), ["bash", "edit", "read", "write"]);
    assert_eq!(declared(&test, 1), ["bash", "edit", "late", "read", "write"]);
    let results = test.entries().iter().filter(|kind| *kind == "toolResult").count();
    assert_eq!(results, 2);

    let registry = test.session.extensions().registry();
    assert!(registry.unregister_tool("test:adding", "late"));
    test.model.push(Reply::new().text("Gone."));
    test.session.prompt("And now?", PromptOptions::default()).await.unwrap();
    assert_eq!(declared(&test, 3), ["bash", "edit", "read", "write"]);
}

#[tokio::test]
async fn an_extension_replaces_a_builtin_tool_in_its_place() {
    let replacing = Handlers::new("test:replacing").tool(tool("bash"));
    let extensions = loaded(vec![Arc::new(replacing)]).await;
    let test = TestSession::with(|parts| parts.extensions = extensions);
    let active = test.session.active_tools();
    let names: Vec<&str> = active.iter().map(|tool| tool.declaration().name.as_str()).collect();
    assert_eq!(names, ["read", "bash", "edit", "write"]);
    assert_eq!(active[1].declaration().description, "A tool.");
}

#[tokio::test]
async fn conflicts_and_invalid_registrations_are_load_errors_of_the_later_one() {
    let first = Handlers::new("first").tool(tool("same")).setup(|api| {
        api.register_flag(Flag {
            name: "flag".to_owned(),
            kind: FlagKind::String,
            default: Some(FlagValue::String("a".to_owned())),
            description: None,
        })
    });
    let second = Handlers::new("second").command(command("kept-out")).tool(tool("same"));
    let flag = Handlers::new("flag").setup(|api| {
        api.register_flag(Flag {
            name: "other".to_owned(),
            kind: FlagKind::Boolean,
            default: Some(FlagValue::String("a".to_owned())),
            description: None,
        })
    });
    let schema = Handlers::new("schema").setup(|api| {
        let declaration = Tool::new("t", "A tool.", json!("string"));
        let tool = FnTool::new(declaration, |_| async { Ok::<_, ToolError>(String::new()) });
        api.register_tool(ToolRegistration::new(Arc::new(tool)))
    });
    let panicking = Handlers::new("panicking").setup(|_| panic!("while loading"));
    let (extensions, failures) = Extensions::load(vec![
        Arc::new(first),
        Arc::new(second),
        Arc::new(flag),
        Arc::new(schema),
        Arc::new(panicking),
    ])
    .await;
    let failures: Vec<String> = failures
        .iter()
        .map(|failure| format!("{}: {}", failure.extension, failure.error))
        .collect();
    assert_eq!(
        failures,
        [
            "second: Tool \"same\" conflicts with first",
            "flag: Invalid default for flag \"other\": expected boolean, got string",
            "schema: Tool \"t\" registered by extension \"schema\" must define an object parameter schema.",
            "panicking: panicked: while loading",
        ]
    );
    let registry = extensions.registry();
    assert!(registry.commands().is_empty(), "a failed load leaves nothing behind");
    assert_eq!(registry.flag("first", "flag"), Some(FlagValue::String("a".to_owned())));
    registry.set_flag("flag", FlagValue::String("b".to_owned()));
    assert_eq!(registry.flag("first", "flag"), Some(FlagValue::String("b".to_owned())));
    assert_eq!(registry.flag("second", "flag"), None, "flags of others are not visible");
}

#[test]
fn equal_commands_get_numbers() {
    let registry = Registry::default();
    for (owner, name) in [("a", "same"), ("b", "same"), ("c", "own"), ("d", "same:1")] {
        registry.register_command(owner, command(name)).unwrap();
    }
    let names: Vec<String> = registry.commands().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["same:1:2", "same:2", "own", "same:1"]);
    assert!(registry.find_command("same").is_none());
    assert_eq!(registry.find_command("same:2").unwrap().owner, "b");
}

#[tokio::test]
async fn shortcuts_renderers_and_completions_have_their_rules() {
    let registry = Registry::default();
    for owner in ["a", "b"] {
        registry.register_shortcut(
            owner,
            Shortcut {
                key: "ctrl+x".to_owned(),
                description: Some(owner.to_owned()),
                handler: command_handler(|_, _| async { Ok(()) }),
            },
        );
        let lines = vec![owner.to_owned()];
        registry.register_renderer(
            owner,
            RenderTarget::Message("note".to_owned()),
            Arc::new(move |_: &RenderRequest| Some(Rendered::Lines(lines.clone()))),
        );
        registry.register_completions(owner, Arc::new(|_| Box::pin(async { None })));
    }
    let shortcuts = registry.shortcuts();
    assert_eq!((shortcuts.len(), shortcuts[0].description.as_deref()), (1, Some("b")));
    let renderers = registry.renderers(&RenderTarget::Message("note".to_owned()));
    let key = String::new();
    let request = RenderRequest { subject: json!({}), key, width: 80, expanded: false };
    assert_eq!(renderers[0](&request), Some(Rendered::Lines(vec!["a".to_owned()])));
    assert_eq!(registry.completions().len(), 2);
    registry.remove_owner("b");
    assert_eq!(registry.completions().len(), 1);
    assert_eq!(registry.shortcuts()[0].description.as_deref(), Some("a"), "that of `a` is back");
}

#[tokio::test]
async fn a_provider_of_an_extension_answers_for_its_models() {
    let answering = Faux::responding(|_| Reply::new().text("from the extension"));
    let registered = answering.clone();
    let extension = Handlers::new("test:provider").setup(move |api| {
        let config = json!({
            "baseUrl": "http://127.0.0.1:9",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": "own-model", "name": "Own model"}],
        });
        let provider = ProviderRegistration::new("own", config);
        api.register_provider(provider.stream(Arc::new(registered.clone())))
    });
    let env = crate::env::TestEnv::new();
    let mut options = pi_coding_agent::AgentOptions::new(env.environment("home/proj"));
    options.model.requested = Some("own/own-model".to_owned());
    options.extensions.own = vec![Arc::new(extension)];
    options.session.selector = pi_coding_agent::SessionSelector::InMemory;
    let created = pi_coding_agent::create_agent_session(options).await.unwrap();
    let session = created.runtime.session();
    assert_eq!(session.model().unwrap().name, "Own model");
    session.prompt("Hello", PromptOptions::default()).await.unwrap();
    assert_eq!(session.last_assistant_text().as_deref(), Some("from the extension"));
    assert_eq!(answering.requests().len(), 1);

    created.runtime.registry().unregister_provider("own");
    assert!(session.find_model("own", "own-model").is_some(), "until the next turn");
    let refused = session.prompt("Again", PromptOptions::default()).await;
    assert!(refused.is_err() || answering.requests().len() == 1, "{refused:?}");
    assert!(session.find_model("own", "own-model").is_none());
}

#[tokio::test]
async fn a_reload_rebuilds_the_registry() {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&loads);
    let extension = Handlers::new("test:changing").setup(move |api| {
        let load = counted.fetch_add(1, Ordering::Relaxed);
        api.register_command(command(&format!("load-{load}")))
    });
    let reloading = Handlers::new("test:reloading").command(Command::new(
        "reload",
        "Reload.",
        |_, context| async move {
            let runtime = context.runtime().ok_or_else(|| ExtensionError::new("no runtime"))?;
            runtime.reload().await;
            Ok(())
        },
    ));
    let env = crate::env::TestEnv::new();
    let mut options = pi_coding_agent::AgentOptions::new(env.environment("home/proj"));
    let model = Faux::new();
    options.model.custom =
        Some(pi_coding_agent::CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
    options.extensions.own = vec![Arc::new(extension), Arc::new(reloading)];
    options.session.selector = pi_coding_agent::SessionSelector::InMemory;
    let created = pi_coding_agent::create_agent_session(options).await.unwrap();
    let session = created.runtime.session();
    let names =
        || -> Vec<String> { session.commands().into_iter().map(|command| command.name).collect() };
    assert_eq!(names(), ["load-0", "reload"]);
    let reasons = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&reasons);
    let _subscription = created.runtime.subscribe(move |event| match event {
        SessionEvent::SessionStart { reason, .. } => {
            sink.lock().unwrap().push(format!("start {reason:?}"));
        }
        SessionEvent::SessionShutdown { reason, .. } => {
            sink.lock().unwrap().push(format!("shutdown {reason:?}"));
        }
        _ => {}
    });
    env.write("home/proj/AGENTS.md", "Use tabs.");
    session.prompt("/reload", PromptOptions::default()).await.unwrap();
    assert_eq!(names(), ["load-1", "reload"]);
    assert_eq!(*reasons.lock().unwrap(), ["shutdown Reload", "start Reload"]);
    assert!(session.system_prompt().contains("Use tabs."), "resources are read anew");
}
