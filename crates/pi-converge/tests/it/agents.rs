//! Agent specs, sub-agents and handoffs.

mod handoff;
mod specs;
mod subagents;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::Outcome;
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::{AgentSession, PromptOptions};
use pi_coding_agent::{AgentOptions, AgentRuntime, CustomModel, Environment, create_agent_session};
use pi_converge::agents::{AgentError, AgentLibrary, AgentSet};
use pi_protocol::{AgentMessage, Message, Request};
use serde_json::{Value, json};

/// A directory with specs and a project.
struct AgentEnv {
    directory: tempfile::TempDir,
}

/// An agent with a scripted model.
struct Started {
    runtime: AgentRuntime,
    model: Faux,
}

impl Started {
    fn session(&self) -> AgentSession {
        self.runtime.session()
    }

    async fn prompt(&self, text: &str) -> Outcome {
        let end = self.session().turn(text, PromptOptions::default()).run().await;
        assert!(end.is_asked);
        end.run.unwrap()
    }

    fn seen(&self) -> Vec<Seen> {
        self.model.requests().iter().map(Seen::of).collect()
    }
}

impl AgentEnv {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home", "project", "specs"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn load(&self, name: &str) -> Result<AgentSet, AgentError> {
        AgentLibrary::new(vec![self.path("installed")]).load(name, &self.path("specs"))
    }

    /// Returns the problems of a spec, without the path of the directory.
    fn problems(&self, name: &str) -> String {
        let specs = format!("{}/", self.path("specs").display());
        self.load(name).unwrap_err().to_string().replace(&specs, "")
    }

    fn options(&self) -> AgentOptions {
        let mut environment = Environment::new(self.path("project"), self.path("home"));
        environment.variables =
            Arc::new([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())].into());
        let mut options = AgentOptions::new(environment);
        options.project.set_approval(Some(true));
        options
    }

    /// Starts an agent with a spec and a model that answers by function.
    async fn start(
        &self,
        spec: &str,
        mut options: AgentOptions,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Started {
        let model = Faux::responding(move |request| answer(&Seen::of(request)));
        let provider = Arc::new(model.clone());
        options.model.custom = Some(CustomModel::new(provider, Arc::new(Faux::model())));
        let set = self.load(spec).unwrap();
        let created = Box::pin(create_agent_session(set.apply(&options))).await.unwrap();
        Started { runtime: created.runtime, model }
    }
}

/// A request as the scripted model sees it.
struct Seen {
    system: String,
    /// Role and text of each message but system messages.
    messages: Vec<(String, String)>,
    tools: Vec<String>,
}

impl Seen {
    fn of(request: &Request) -> Self {
        let (mut system, mut messages) = (String::new(), Vec::new());
        let declared = pi_protocol::Declarations::replay(request.context.messages.iter());
        for section in declared.sections.values().filter_map(Value::as_str) {
            system.push_str(section);
            system.push('\n');
        }
        for message in request.context.messages.iter() {
            let value = serde_json::to_value(message).unwrap();
            if value["role"] == "system" {
                continue;
            }
            messages.push((value["role"].as_str().unwrap().to_owned(), text_of(&value["content"])));
        }
        let tools = declared.tools.iter().map(|tool| tool.name.clone()).collect();
        Self { system, messages, tools }
    }

    /// Returns the number of answers so far.
    fn turn(&self) -> usize {
        self.messages.iter().filter(|(role, _)| role == "assistant").count()
    }

    fn last(&self) -> &str {
        self.messages.last().map_or("", |(_, text)| text)
    }

    /// Returns the messages in one text.
    fn transcript(&self) -> String {
        self.messages.iter().map(|(role, text)| format!("{role}: {text}\n")).collect()
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["type"].as_str() {
                Some("toolCall") => format!("<{}>", block["name"].as_str().unwrap_or_default()),
                _ => block["text"].as_str().unwrap_or_default().to_owned(),
            });
            texts.collect::<Vec<_>>().join("")
        }
        _ => String::new(),
    }
}

fn task(agent: &str, prompt: &str) -> Value {
    json!({ "agent": agent, "prompt": prompt })
}

/// Returns the results of tool calls in a session.
fn results(session: &AgentSession) -> Vec<String> {
    let messages = session.messages();
    let result = |message: &AgentMessage| match message {
        AgentMessage::Llm(Message::ToolResult(result)) => {
            Some(text_of(&serde_json::to_value(&result.content).unwrap()))
        }
        _ => None,
    };
    messages.iter().filter_map(result).collect()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(name)
}
