//! `pi demo`: the whole agent at work, in a directory of its own, driven by a scripted model or by
//! a real one. What it does is kept as a session like any other.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::{AgentOptions, CustomModel, Environment, create_agent_session};
use pi_tools::supervisor::Supervisor;
use serde_json::json;

use super::input::Prompt;
use super::print::answer;
use super::progress::{self, StderrUi};
use super::signals::until_signal;
use crate::exit::{Exit, complain, note};
use crate::flags::parse::Given;

const TASK: &str = "The greeting that greet.sh prints is misspelt. Find out what it prints, correct it, and check.";

const PROGRAM: &str = "#!/bin/sh\n# Greets whoever runs it.\necho \"Helo, world!\"\n";

const LAST_WORDS: &str = "\
The script printed \"Helo, world!\"; it prints \"Hello, world!\" now. I changed one line of greet.sh \
and ran it again to be sure.

I am a scripted model: all of this was written beforehand, and I understand nothing. Everything else \
was real: the agent read the file, ran the command, edited the file and kept the conversation. No key \
was needed, and nothing left this machine.

To have a real model do it, put its key into the environment and name it:

    export ANTHROPIC_API_KEY=...
    pi demo --model anthropic/claude-sonnet-4-5";

/// Runs the demo.
pub(crate) fn run(given: &Given) -> ExitCode {
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return complain(&error, Exit::Configuration),
    };
    let workspace = tempfile::Builder::new().prefix("pi-demo-").tempdir();
    let prepared = workspace.and_then(|workspace| {
        std::fs::write(workspace.path().join("greet.sh"), PROGRAM)?;
        // It stays: the session that is kept speaks of it.
        Ok(workspace.keep())
    });
    let workspace = match prepared {
        Ok(workspace) => workspace,
        Err(error) => {
            return complain(&format!("could not make a workspace: {error}"), Exit::Failed);
        }
    };
    super::block_on(perform(given, Environment { cwd: workspace, ..environment }))
}

async fn perform(given: &Given, environment: Environment) -> ExitCode {
    let workspace = environment.cwd.clone();
    let mut options = AgentOptions::new(environment);
    options.name = Some("pi demo".to_owned());
    options.ui = Arc::new(StderrUi);
    options.supervisor = cfg!(target_os = "linux").then(Supervisor::this_program);
    options.thinking_level = given.value("thinking").and_then(|level| level.parse().ok());
    match given.value("model") {
        Some(model) => options.model = Some(model.to_owned()),
        None => {
            options.custom_model =
                Some(CustomModel::new(Arc::new(scripted()), Arc::new(Faux::model())));
        }
    }
    let created = match Box::pin(create_agent_session(options)).await {
        Ok(created) => created,
        Err(failed) => {
            failed.diagnostics.iter().for_each(|diagnostic| note(&diagnostic.to_string()));
            return complain(&failed.to_string(), Exit::NoModel);
        }
    };
    created.diagnostics.iter().for_each(|diagnostic| note(&diagnostic.to_string()));
    let session = created.runtime.session();
    progress::show_always(&created.runtime);
    let words = given.words.join(" ");
    let text = if words.trim().is_empty() { TASK.to_owned() } else { words };
    note(&format!("in {}: {text}", workspace.display()));
    let prompt = Prompt { text, images: Vec::new() };
    let exit = until_signal(&created.runtime, answer(&session, vec![prompt])).await;
    tell_where(&session.id(), &workspace);
    exit
}

fn tell_where(id: &str, workspace: &Path) {
    note(&format!("the session was kept: pi sessions show {id}"));
    note(&format!("as a page: pi sessions export {id} demo.html"));
    note(&format!("to take back what was changed: cd {} && pi undo", workspace.display()));
}

/// What the scripted model says, turn by turn.
fn scripted() -> Faux {
    let faux = Faux::new();
    let run = json!({ "command": "sh greet.sh" });
    let edit = json!({
        "path": "greet.sh",
        "edits": [{ "oldText": "Helo, world!", "newText": "Hello, world!" }],
    });
    faux.push(
        Reply::new()
            .text("I will read the script and see what it prints.")
            .tool_call("read", &json!({ "path": "greet.sh" }))
            .tool_call("bash", &run),
    );
    faux.push(Reply::new().text("There it is: an l is missing.").tool_call("edit", &edit));
    faux.push(Reply::new().tool_call("bash", &run));
    faux.push(Reply::new().text(LAST_WORDS));
    faux
}
