//! The native functions of `pi/test`: sessions with a scripted model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pi_ai::faux::{Faux, Reply};
use pi_base::lock;
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{
    AgentOptions, AgentRuntime, CustomModel, Environment, SessionSelector, create_agent_session,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ui::ScriptedUi;
use crate::error::NativeError;
use crate::host::{Call, Natives, Thrown};
use crate::host_process::ProcessOptions;
use crate::hosting::{ExtensionHost, HostOptions};
use crate::limits::Limits;
use crate::value::Plain;

/// What a test asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    extensions: Vec<PathBuf>,
    /// Files of the project, by name.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// An answer of the scripted model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScriptedReply {
    text: Option<String>,
    thinking: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ScriptedCall>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct ScriptedCall {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// A session of a test.
struct TestSession {
    runtime: AgentRuntime,
    model: Faux,
    ui: Arc<ScriptedUi>,
    problems: Vec<String>,
    directory: TempDir,
    reports: Arc<Mutex<Vec<String>>>,
}

/// Sessions of tests by number.
type Sessions = Arc<Mutex<BTreeMap<u32, Arc<TestSession>>>>;

/// The native functions.
pub(super) const FUNCTIONS: Natives = &[
    ("start", |call| {
        let (all, wanted) = (Arc::clone(&call.host.area::<Sessions>()), call.json(0)?);
        let variables = call.host.process.options.variables.clone();
        call.promise_on_main(async move {
            let session = start(wanted, variables).await?;
            let mut all = lock(&all);
            let id = u32::try_from(all.len()).unwrap_or(u32::MAX);
            all.insert(id, Arc::new(session));
            Ok(id.into())
        })
    }),
    ("reply", |call| {
        let reply = scripted(call.json(1)?)?;
        find(call)?.model.push(reply);
        call.done()
    }),
    ("answer", |call| {
        find(call)?.ui.answer(call.json(1)?);
        call.done()
    }),
    ("prompt", |call| {
        let (session, text) = (find(call)?, call.text(1)?);
        call.promise_on_main(async move { Ok(prompt(&session, &text).await?.into()) })
    }),
    ("state", |call| call.reply(state(&*find(call)?))),
    ("stop", |call| {
        let session = lock(&call.host.area::<Sessions>()).remove(&call.id(0)?);
        call.promise_on_main(async move {
            if let Some(session) = session {
                session.runtime.shut_down().await;
            }
            Ok(Plain::Nothing)
        })
    }),
];

async fn start(
    wanted: Value,
    variables: BTreeMap<String, String>,
) -> Result<TestSession, NativeError> {
    let wanted: Wanted = serde_json::from_value(wanted)?;
    let directory = TempDir::new()?;
    let project = directory.path().join("project");
    std::fs::create_dir(&project)?;
    for (name, text) in &wanted.files {
        let path = project.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let host = ExtensionHost::new(HostOptions {
        limits: Limits::default(),
        process: ProcessOptions { variables, ..ProcessOptions::new(&project) },
        programs: Default::default(),
        cache: None,
        reporter: Arc::new(move |report| lock(&seen).push(report.error)),
    });
    let (model, ui) = (Faux::new(), Arc::new(ScriptedUi::default()));
    let mut options = AgentOptions::new(Environment::new(&project, directory.path().join("agent")));
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
    options.resources.extensions =
        wanted.extensions.iter().map(|path| path.display().to_string()).collect();
    options.extensions.open = Some(Arc::new(move |source, _| host.open(source)));
    options.ui = Arc::clone(&ui) as _;
    options.mode = RunMode::Rpc;
    options.extensions.builtins.push(pi_mcp_host::builtin());
    let created = Box::pin(create_agent_session(options)).await?;
    let problems = created.diagnostics.iter().map(ToString::to_string).collect();
    Ok(TestSession { runtime: created.runtime, model, ui, problems, directory, reports })
}

fn scripted(reply: Value) -> Result<Reply, NativeError> {
    let scripted: ScriptedReply = serde_json::from_value(reply)?;
    let mut reply = Reply::new();
    if let Some(thinking) = scripted.thinking {
        reply = reply.thinking(thinking);
    }
    if let Some(text) = scripted.text {
        reply = reply.text(text);
    }
    for call in scripted.tool_calls {
        reply = reply.tool_call(call.name, &call.arguments);
    }
    Ok(match scripted.error {
        Some(error) => reply.fail(error),
        None => reply,
    })
}

/// Sends a prompt and returns the last answer.
async fn prompt(session: &TestSession, text: &str) -> Result<String, NativeError> {
    let agent = session.runtime.session();
    agent.prompt(text, PromptOptions::default()).await?;
    // The session may have been replaced by a command.
    let agent = session.runtime.session();
    agent.wait_for_idle().await;
    Ok(agent.last_assistant_text().unwrap_or_default())
}

fn state(session: &TestSession) -> Value {
    let agent = session.runtime.session();
    let messages: Vec<_> = agent.messages().iter().cloned().collect();
    let requests = session.model.requests();
    let requests: Vec<_> = requests.iter().map(|request| json!(request.context.messages)).collect();
    let registry = agent.extensions().registry().clone();
    let tools: Vec<_> =
        registry.tools().iter().map(|tool| tool.tool.declaration().name.clone()).collect();
    let commands: Vec<_> = registry.commands().into_iter().map(|command| command.name).collect();
    let entries = agent.with_log(|log| log.entries().filter_map(Result::ok).collect::<Vec<_>>());
    let mut problems = session.problems.clone();
    problems.extend(lock(&session.reports).iter().cloned());
    json!({
        "messages": messages,
        "requests": requests,
        "tools": tools,
        "commands": commands,
        "entries": entries,
        "shown": session.ui.shown(),
        "problems": problems,
        "directory": session.directory.path().join("project"),
    })
}

fn find(call: &Call<'_, '_>) -> Result<Arc<TestSession>, Thrown> {
    let found = lock(&call.host.area::<Sessions>()).get(&call.id(0)?).cloned();
    found.ok_or_else(|| NativeError::new("the session of this test was stopped").into())
}
