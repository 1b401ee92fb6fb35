//! `pi demo`: runs the complete agent in a temporary directory, with a scripted or a real model. The
//! session is saved like any other.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::{AgentOptions, CustomModel, Environment, create_agent_session};
use pi_tools::supervisor::Supervisor;
use serde_json::json;

use super::input::Prompt;
use super::print::answer;
use super::progress::{self, Detail, StderrUi};
use super::signals::until_signal;
use crate::exit::{Exit, fail, fail_with_hint, note};
use crate::flags::parse::CommandArgs;
use crate::hints::Hint as _;

const TASK: &str =
    "greet.sh prints a misspelled greeting. Find the mistake, fix it, and check the result.";

const PROGRAM: &str = "#!/bin/sh\n# Prints a greeting.\necho \"Helo, world!\"\n";

const LAST_WORDS: &str = "\
The script printed \"Helo, world!\"; now it prints \"Hello, world!\". I changed one line of greet.sh \
and ran the script again to check.

I am a scripted model: these answers were written in advance. Everything else was real: the agent read \
the file, ran the command, edited the file and saved the session. No key was needed, and nothing left \
this machine.

To use a real model, set its key and choose it:

    export ANTHROPIC_API_KEY=...
    pi demo --model anthropic/claude-sonnet-4-5";

/// Runs the demo.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    if !args.words.is_empty() && args.value("model").is_none() {
        return fail_with_hint(
            "the scripted model of the demo knows one task only",
            Some("run `pi demo` without a message, or give it to a real model with --model"),
            Exit::Usage,
        );
    }
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return fail(&error, Exit::Configuration),
    };
    let workspace = tempfile::Builder::new().prefix("pi-demo-").tempdir();
    let prepared = workspace.and_then(|workspace| {
        std::fs::write(workspace.path().join("greet.sh"), PROGRAM)?;
        // Kept on disk, since the saved session refers to it.
        Ok(workspace.keep())
    });
    let workspace = match prepared {
        Ok(workspace) => workspace,
        Err(error) => {
            return fail(&format!("cannot create a temporary directory: {error}"), Exit::Failed);
        }
    };
    super::block_on(perform(args, Environment { cwd: workspace, ..environment }))
}

async fn perform(args: &CommandArgs, environment: Environment) -> ExitCode {
    let workspace = environment.cwd.clone();
    let mut options = AgentOptions::new(environment);
    options.session.name = Some("pi demo".to_owned());
    options.ui = Arc::new(StderrUi);
    #[cfg(feature = "mcp")]
    options.extensions.builtins.push(pi_mcp_host::builtin());
    options.tools.supervisor = cfg!(target_os = "linux").then(Supervisor::this_program);
    options.model.thinking_level = args.value("thinking").and_then(|level| level.parse().ok());
    match args.value("model") {
        Some(model) => options.model.requested = Some(model.to_owned()),
        None => {
            options.model.custom =
                Some(CustomModel::new(Arc::new(scripted()), Arc::new(Faux::model())));
        }
    }
    let created = match Box::pin(create_agent_session(options)).await {
        Ok(created) => created,
        Err(failed) => {
            failed.diagnostics.iter().for_each(|diagnostic| note(&diagnostic.to_string()));
            let hint = failed.error.hint();
            return fail_with_hint(&failed.to_string(), hint.as_deref(), Exit::NoModel);
        }
    };
    created.diagnostics.iter().for_each(|diagnostic| note(&diagnostic.to_string()));
    let session = created.runtime.session();
    progress::show(&created.runtime, Detail::Tools, false);
    let words = args.words.join(" ");
    let text = if words.trim().is_empty() { TASK.to_owned() } else { words };
    note(&format!("in {}: {text}", workspace.display()));
    let prompt = Prompt { text, images: Vec::new() };
    let exit =
        until_signal(&created.runtime, Box::pin(answer(session.clone(), vec![prompt], None))).await;
    print_next_steps(&session.id(), &workspace);
    exit
}

fn print_next_steps(id: &str, workspace: &Path) {
    note(&format!("to show the session: pi sessions show {id}"));
    note(&format!("to export it as a page: pi sessions export {id} demo.html"));
    note(&format!("to undo the changes: cd {} && pi undo", workspace.display()));
}

/// Returns the scripted model with its answers.
fn scripted() -> Faux {
    let faux = Faux::new();
    let run = json!({ "command": "sh greet.sh" });
    let edit = json!({
        "path": "greet.sh",
        "edits": [{ "oldText": "Helo, world!", "newText": "Hello, world!" }],
    });
    faux.push(
        Reply::new()
            .text("I will read the script and run it.")
            .tool_call("read", &json!({ "path": "greet.sh" }))
            .tool_call("bash", &run),
    );
    faux.push(Reply::new().text("Found it: an l is missing.").tool_call("edit", &edit));
    faux.push(Reply::new().tool_call("bash", &run));
    faux.push(Reply::new().text(LAST_WORDS));
    faux
}
