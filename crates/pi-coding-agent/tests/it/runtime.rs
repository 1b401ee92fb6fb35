//! The runtime: subscriptions that survive a replacement, trust, discovery, requests.

use std::sync::{Arc, Mutex};

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{
    BeforeProviderHeaders, BeforeProviderRequest, BeforeSwitch, Command, DiscoveredResources,
    ExtensionError, Handlers, Headers, Payload, ProjectTrust, ResourcesDiscover, SwitchDecision,
    TrustDecision,
};
use pi_coding_agent::session::{PromptOptions, SessionEvent};
use pi_coding_agent::{
    AgentOptions, Created, CustomModel, Environment, Project, SessionSelector, ToolChange,
    ToolChoice, create_agent_session,
};
use serde_json::json;

use crate::env::TestEnv;
use crate::socket::{self, Server};

fn options(env: &TestEnv, model: &Faux) -> AgentOptions {
    let mut options = AgentOptions::new(env.environment("home/proj"));
    options.model.custom = Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
    options.guard.checkpoints = false;
    options
}

/// Collects the types of all events of a runtime.
fn record(created: &Created) -> Arc<Mutex<Vec<String>>> {
    let types: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&types);
    let listener = move |event: &SessionEvent| {
        let kind = serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
        sink.lock().unwrap().push(kind);
    };
    created.runtime.subscribe(listener).forever();
    types
}

#[tokio::test]
async fn a_subscription_survives_the_replacement_of_the_session() {
    let (env, model) = (TestEnv::new(), Faux::responding(|_| Reply::new().text("a")));
    let naming = Handlers::new("test:naming").on_event(|event, context| async move {
        if let (SessionEvent::SessionStart { .. }, Some(session)) = (event, context.session()) {
            session.set_name("new").await.map_err(ExtensionError::with_source)?;
        }
        Ok(())
    });
    let mut options = options(&env, &model);
    options.extensions.own = vec![Arc::new(naming)];
    let created = create_agent_session(options).await.unwrap();
    let types = record(&created);
    let old = created.runtime.session();
    old.prompt("q", PromptOptions::default()).await.unwrap();
    types.lock().unwrap().clear();
    created.runtime.new_session(None).await.unwrap();
    let expected = ["session_shutdown", "session_info_changed", "session_start"];
    assert_eq!(*types.lock().unwrap(), expected, "the handler runs before subscribers");
    types.lock().unwrap().clear();
    old.set_name("old").await.unwrap();
    assert!(types.lock().unwrap().is_empty(), "events of the old session are not the runtime's");
    created.runtime.session().prompt("q", PromptOptions::default()).await.unwrap();
    assert!(types.lock().unwrap().contains(&"agent_settled".to_owned()));
}

#[tokio::test]
async fn a_command_replaces_the_session_through_its_context() {
    let (env, model) = (TestEnv::new(), Faux::responding(|_| Reply::new().text("a")));
    let extension = Handlers::new("test:switching")
        .command(Command::new("fresh", "Start anew.", |_, context| async move {
            let runtime = context.runtime().ok_or_else(|| ExtensionError::new("no runtime"))?;
            runtime.new_session(None).await.map_err(ExtensionError::with_source)?;
            Ok(())
        }))
        .on(|switch: BeforeSwitch, context| async move {
            assert!(switch.target_session_file.is_none());
            let keep = context.session().is_some_and(|session| session.name().is_some());
            Ok(if keep { SwitchDecision::cancel() } else { SwitchDecision::default() })
        });
    let mut options = options(&env, &model);
    options.extensions.own = vec![Arc::new(extension)];
    let created = create_agent_session(options).await.unwrap();
    let first = created.runtime.session();
    first.prompt("/fresh", PromptOptions::default()).await.unwrap();
    let second = created.runtime.session();
    assert_ne!(first.id(), second.id());
    second.set_name("keep me").await.unwrap();
    second.prompt("/fresh", PromptOptions::default()).await.unwrap();
    assert_eq!(created.runtime.session().id(), second.id(), "an extension cancelled it");
}

#[tokio::test]
async fn extensions_decide_about_trust_and_add_resources() {
    let env = TestEnv::new();
    env.write("home/proj/.pi/settings.json", r#"{"defaultThinkingLevel": "high"}"#);
    env.write(
        "home/more/greeting/SKILL.md",
        "---\nname: greeting\ndescription: How to greet.\n---\nSay hello.",
    );
    let more = env.path("home/more");
    for (trusted, remember) in [(true, false), (false, true)] {
        let more = more.clone();
        let extension = Handlers::new("test:trust")
            .on(move |question: ProjectTrust, _| async move {
                assert!(question.cwd.ends_with("proj"));
                Ok(match trusted {
                    true => TrustDecision::Trusted { remember },
                    false => TrustDecision::Untrusted { remember },
                })
            })
            .on(move |_: ResourcesDiscover, _| {
                let found = DiscoveredResources {
                    skills: vec![more.clone()],
                    ..DiscoveredResources::default()
                };
                std::future::ready(Ok(found))
            });
        let mut options = options(&env, &Faux::new());
        options.extensions.own = vec![Arc::new(extension)];
        options.session.selector = SessionSelector::InMemory;
        let created = create_agent_session(options).await.unwrap();
        let session = created.runtime.session();
        let level = session.settings().default_thinking_level;
        assert_eq!(level.is_some(), trusted, "{level:?}");
        assert!(session.system_prompt().contains("How to greet."));
        let names: Vec<String> = session.commands().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["skill:greeting"]);
    }
    let trust = std::fs::read_to_string(env.path("home/.pi/agent/trust.json")).unwrap();
    assert!(trust.contains("false"), "only the decision to remember is stored: {trust}");
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request: 7\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

#[tokio::test]
async fn extensions_change_and_observe_requests() {
    let server = Server::start(|_, _| socket::Reply::Raw(STREAM.as_bytes().to_vec())).await;
    let env = TestEnv::new();
    let models = json!({"providers": {"own": {
        "baseUrl": format!("http://{}/v1", server.address),
        "api": "openai-completions",
        "apiKey": "key",
        "headers": {"X-Remove": "me", "X-Keep": "me"},
        "models": [{"id": "m"}],
    }}});
    env.write("home/.pi/agent/models.json", models.to_string());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let changing = Handlers::new("test:changing")
        .with_progress()
        .on(|question: BeforeProviderHeaders, _| async move {
            let mut headers = question.headers;
            headers.insert("x-remove".to_owned(), None);
            headers.insert("x-added".to_owned(), Some("yes".to_owned()));
            Ok(Headers(Some(headers)))
        })
        .on(|question: BeforeProviderRequest, _| async move {
            let mut payload = (*question.payload).clone();
            payload["user"] = "someone".into();
            Ok(Payload::from(payload))
        })
        .on_event(move |event, _| {
            match &event {
                SessionEvent::AfterProviderResponse { status, headers } => {
                    sink.lock().unwrap().push(format!("{status} {}", headers["x-request"]));
                }
                SessionEvent::ProviderStreamEvent { provider, data, .. } => {
                    sink.lock()
                        .unwrap()
                        .push(format!("{provider} {}", data["choices"][0]["delta"]));
                }
                _ => {}
            }
            std::future::ready(Ok(()))
        });
    let broken = Handlers::new("test:broken").on(|_: BeforeProviderRequest, _| async {
        assert!(!true.then_some(true).unwrap(), "in the request");
        Ok(Payload::default())
    });
    let mut options = AgentOptions::new(env.environment("home/proj"));
    options.model.requested = Some("own/m".to_owned());
    options.session.selector = SessionSelector::InMemory;
    options.extensions.own = vec![Arc::new(changing), Arc::new(broken)];
    let created = create_agent_session(options).await.unwrap();
    let failures: Arc<Mutex<Vec<String>>> = Arc::default();
    let collected = Arc::clone(&failures);
    let _subscription = created.runtime.subscribe(move |event| {
        if let SessionEvent::ExtensionError { extension_path, error, .. } = event {
            collected.lock().unwrap().push(format!("{extension_path}: {error}"));
        }
    });
    let session = created.runtime.session();
    session.prompt("Hello", PromptOptions::default()).await.unwrap();
    assert_eq!(session.last_assistant_text().as_deref(), Some("Hi"));
    let request = server.requests()[0].to_lowercase();
    assert!(request.contains("x-added: yes") && request.contains("x-keep: me"), "{request}");
    assert!(!request.contains("x-remove") && request.contains("\"user\":\"someone\""), "{request}");
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], "200 \"7\"");
    assert_eq!(seen[1], "own {\"content\":\"Hi\"}");
    let failures = failures.lock().unwrap();
    assert_eq!(*failures, ["test:broken: panicked: in the request"]);
}

/// A stand-in for `docker exec`, which runs the command here with an environment of its own.
const DOCKER: &str = r#"#!/bin/sh
shift
while [ "${1#-}" != "$1" ]; do
    case $1 in
    -u | -w | -e) shift 2 ;;
    *) shift ;;
    esac
done
shift
exec env -i PATH="$PATH" "$@"
"#;

#[cfg(unix)]
#[tokio::test]
async fn tools_run_on_the_executor_of_the_settings() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let docker = env.write("bin/docker", DOCKER);
    std::fs::set_permissions(&docker, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(env.path("container")).unwrap();
    let executor = format!("docker:box:{}", env.path("container").display());
    env.write("home/.pi/agent/settings.json", json!({ "executor": executor }).to_string());
    let model = Faux::new();
    let mut options = options(&env, &model);
    let path = format!("{}:/usr/bin:/bin", env.path("bin").display());
    let variables = [("PATH", path.as_str()), ("LOCAL_SECRET", "hidden")];
    let variables =
        Arc::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    options.project = Project::open(Environment { variables, ..options.environment().clone() });
    options.session.selector = SessionSelector::InMemory;
    let created = create_agent_session(options).await.unwrap();
    let session = created.runtime.session();
    let command = "echo \"$PI_CODING_AGENT,$LOCAL_SECRET\" > made";
    model.push(Reply::new().tool_call("bash", &json!({ "command": command })));
    model.push(Reply::new().tool_call("write", &json!({ "path": "w", "content": "x" })));
    model.push(Reply::new().text("Done."));
    session.prompt("Go", PromptOptions::default()).await.unwrap();
    let made = std::fs::read_to_string(env.path("container/made")).unwrap();
    assert_eq!(made, "true,\n", "variables of this machine stay here");
    assert_eq!(std::fs::read_to_string(env.path("container/w")).unwrap(), "x");
    let container = env.path("container").display().to_string();
    assert!(session.system_prompt().contains(&container), "the prompt names its directory");
}

#[tokio::test]
async fn background_processes_are_switched_on_like_a_tool() {
    let env = TestEnv::new();
    let model = Faux::new();
    let mut options = options(&env, &model);
    let path = ("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    let variables = Arc::new([path].into());
    options.project = Project::open(Environment { variables, ..options.environment().clone() });
    options.session.selector = SessionSelector::InMemory;
    let plain = create_agent_session(options.clone()).await.unwrap().runtime.session();
    assert!(plain.all_tools().iter().all(|tool| tool.declaration().name != "process"));
    options.tools.selection.choice =
        Some(ToolChoice::Change(vec![ToolChange::Add("process".to_owned())]));
    let created = create_agent_session(options).await.unwrap();
    let session = created.runtime.session();
    let background = json!({ "command": "echo up; sleep 600", "background": true });
    model.push(Reply::new().tool_call("bash", &background));
    model.push(Reply::new().tool_call("process", &json!({ "action": "list" })));
    model.push(Reply::new().tool_call("process", &json!({ "action": "stop", "id": 1 })));
    model.push(Reply::new().text("Done."));
    session.prompt("Go", PromptOptions::default()).await.unwrap();
    let messages = session.messages();
    let results: Vec<String> = messages
        .iter()
        .filter(|message| message.role() == "toolResult")
        .map(|message| serde_json::to_string(message).unwrap())
        .collect();
    assert!(results.iter().all(|result| result.contains("\"isError\":false")), "{results:#?}");
    assert!(results[1].contains("sleep 600"), "{}", results[1]);
}
