//! The `codemode` tool, and the built-in extension that adds it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use pi_agent::{AgentTool, FnTool, Invocation, ToolError, ToolOutput};
use pi_base::lock;
use pi_coding_agent::extension::{
    Exposure, Extension, ExtensionApi, ExtensionContext, LoadReason, Reply as ExtensionReply,
    ToolRegistration, ToolWait,
};
use pi_coding_agent::guard::mark_untrusted;
use pi_coding_agent::{AgentSession, BuiltinExtension};
use pi_config::settings::{CodemodeSettings, Profile};
use pi_protocol::{ConstrainedSampling, Effects, GrammarVariants, Tool};
use serde_json::{Value, json};

use super::CODEMODE;
use super::calls::{Calls, Fanout};
use super::catalog::Catalog;
use super::declare;
use super::options_line::{self, Options};
use super::output::{Ending, Output};
use super::script::{self, Ended, Reply, Script, TIMED_OUT};
use super::store::{self, Store};
use super::workers;

/// Path of the extension.
const PATH: &str = "builtin:codemode";

/// Bounds on the calls of a script, and those where no one watches.
const ATTENDED: Fanout = Fanout { calls: 1_000, parallel: 16 };
const UNATTENDED: Fanout = Fanout { calls: 200, parallel: 4 };

/// Bytes of a script.
const MAX_CODE: usize = 1024 * 1024;

/// Time for a script to end after it was stopped, and after the run was aborted. The loop gives up
/// an aborted tool after 40 ms.
const GRACE: Duration = Duration::from_secs(2);
const ABORT_GRACE: Duration = Duration::from_millis(12);

/// Grammar of the input for models that write it as raw text.
const GRAMMAR: &str = "start: SOURCE\nSOURCE: /[\\s\\S]+/";

/// Returns the built-in extension that adds the `codemode` tool. `workers` is the value of
/// `PI_CODEMODE_MAX_WORKERS`. Nothing of a script's surroundings exists before the first script.
pub fn builtin(workers: Option<String>) -> BuiltinExtension {
    BuiltinExtension::new(PATH, move |settings| {
        Arc::new(Codemode {
            settings: settings.codemode,
            workers: workers.clone(),
            context: Arc::default(),
        })
    })
}

struct Codemode {
    settings: CodemodeSettings,
    workers: Option<String>,
    context: Arc<OnceLock<ExtensionContext>>,
}

impl Extension for Codemode {
    fn path(&self) -> &str {
        PATH
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, _reason: LoadReason) -> ExtensionReply<'a, ()> {
        Box::pin(async move {
            // An extension of the user replaces the tool.
            if api.registry().has_tool(CODEMODE) {
                return Ok(());
            }
            let settings = self.settings;
            let registration = ToolRegistration::new(self.tool())
                .exposure(Exposure::ModelOnly)
                .inactive()
                .prepare_loadout(Arc::new(move |loadout| declare::prepare(settings, loadout)));
            Ok(api.register_tool(registration.internal())?)
        })
    }

    fn bind(&self, context: &ExtensionContext) {
        // Each session has an instance of its own.
        let _ = self.context.set(context.clone());
    }
}

impl Codemode {
    fn tool(&self) -> Arc<dyn AgentTool> {
        let parameters = json!({
            "type": "object",
            "required": ["code"],
            "properties": { "code": { "type": "string", "description": "JavaScript source." } },
        });
        let (context, workers) = (Arc::clone(&self.context), self.workers.clone());
        let tool = FnTool::new(
            Tool::new(CODEMODE, declare::DESCRIPTION, parameters),
            move |invocation: Invocation| {
                let session = context.get().and_then(ExtensionContext::session);
                let workers = workers.clone();
                async move {
                    let session =
                        session.ok_or_else(|| ToolError::new("The session has ended."))?;
                    run(session, workers.as_deref(), invocation).await
                }
            },
        );
        let variants =
            GrammarVariants { openai_lark: Some(GRAMMAR.to_owned()), openai_regex: None };
        let tool = tool
            .prompt_snippet("Run JavaScript that calls other tools")
            .prompt_guidelines([
                "Use codemode to make independent tool calls at once, to chain calls, or to \
                 filter large output, instead of many single calls.",
            ])
            .constrained_sampling(ConstrainedSampling::Grammar { variants })
            // A script has no effects of its own: each of its calls is judged by itself.
            .effects(|_| Effects::none());
        Arc::new(tool)
    }
}

/// Stops the script when the call ends, however it ends.
struct StopOnDrop {
    stop: Arc<AtomicBool>,
    replies: mpsc::Sender<Reply>,
}

impl StopOnDrop {
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Without a receiver the thread has ended.
        let _ = self.replies.send(Reply::Stop);
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(
    session: AgentSession,
    workers: Option<&str>,
    invocation: Invocation,
) -> Result<ToolOutput, ToolError> {
    let code = invocation.arguments.get("code").and_then(Value::as_str).unwrap_or_default();
    if code.len() > MAX_CODE {
        return Err(ToolError::new(format!("A script has at most {MAX_CODE} bytes.")));
    }
    let options = options_line::parse(code).map_err(ToolError::new)?;
    // Servers that are being connected do not cost the script its time.
    wait_for_tools(&session, code).await;
    let began = Instant::now();
    let deadline = options.timeout.map(|timeout| began + timeout);
    let worker = tokio::select! {
        worker = workers::wait(workers, deadline.map(Into::into)) => worker,
        () = passed(deadline) => return Err(ToolError::new(TIMED_OUT)),
    };
    let worker =
        worker.map_err(|problem| ToolError::new(format!("The script was not run: {problem}")))?;
    let catalog = Arc::new(Catalog::new(&session));
    let fanout = fanout(&session);
    let (stop, output) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Output>>::default());
    let (reply_sender, replies) = mpsc::channel();
    let (requests, mut incoming) = tokio::sync::mpsc::unbounded_channel();
    let (computing, watched) = tokio::sync::watch::channel(None);
    let uses_store = has_identifier(code, "store") || has_identifier(code, "load");
    let script = Script {
        code: code.to_owned(),
        deadline,
        most_calls: fanout.calls,
        catalog: Arc::clone(&catalog),
        store: if uses_store { Store::read(&session) } else { Store::default() },
        output: Arc::clone(&output),
        stop: Arc::clone(&stop),
        requests,
        replies,
        models: list_models(&session),
        computing,
    };
    let mut ended = script::start(script, worker.clone())
        .map_err(|error| ToolError::new(format!("The script was not run: {error}")))?;
    let stopping = StopOnDrop { stop, replies: reply_sender };
    let Invocation { id, cancel, updates, budget, .. } = invocation;
    let calls_cancel = cancel.child();
    let mut calls = Calls::new(session.clone(), id, budget, updates, catalog, calls_cancel, fanout);
    calls.report();
    let mut over = std::pin::pin!(async {
        tokio::select! {
            () = cancel.cancelled() => {
                stopping.stop();
                tokio::time::sleep(ABORT_GRACE).await;
            }
            () = passed(deadline) => {
                stopping.stop();
                tokio::time::sleep(GRACE).await;
            }
            () = script::unstoppable(watched, GRACE) => stopping.stop(),
        }
    });
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut ended => break ended.ok(),
            (number, result) = calls.next() => {
                // Without a receiver the thread has ended.
                let _ = stopping.replies.send(Reply::Settle { number, result });
            }
            Some(request) = incoming.recv() => calls.request(request),
            () = &mut over => break None,
        }
    };
    if ended.is_none() {
        worker.give_up();
    }
    while let Ok(request) = incoming.try_recv() {
        calls.record(&request);
    }
    calls.end(cancel.is_cancelled()).await;
    let ended = ended.unwrap_or_else(|| {
        let problem = match cancel.is_cancelled() {
            true => "Operation aborted",
            false => "Script stopped: it did not end in time.",
        };
        Ended { ending: Ending::Failed(problem.to_owned()), store: Store::default() }
    });
    let ended = keep(&session, ended).await;
    let output = std::mem::take(&mut *lock(&output));
    Ok(result(&session, &calls, ended, output, began.elapsed(), options))
}

/// Waits until a deadline has passed; for ever without one.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Returns true if a script contains an identifier.
fn has_identifier(code: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Keeps the stored values of a script that completed.
async fn keep(session: &AgentSession, ended: Ended) -> Ending {
    let changes = ended.store.changes().filter(|_| ended.ending == Ending::Completed);
    let Some(changes) = changes else { return ended.ending };
    match session.append_entry(store::ENTRY, Some(changes)).await {
        Ok(_) => ended.ending,
        Err(error) => Ending::Failed(format!("The stored values were not kept: {error}")),
    }
}

fn result(
    session: &AgentSession,
    calls: &Calls,
    ending: Ending,
    output: Output,
    time: Duration,
    options: Options,
) -> ToolOutput {
    let full_output = RefCell::new(None);
    let save = |ending: &str, bytes: &[u8]| match session.save_output(ending, bytes) {
        Ok(Some(path)) => {
            let path = path.display().to_string();
            if ending == ".txt" {
                full_output.replace(Some(path.clone()));
            }
            Ok(path)
        }
        Ok(None) => Err("It was not saved: this session saves no output".to_owned()),
        Err(error) => Err(format!("It was not saved: {error}")),
    };
    let ending = match ending {
        Ending::Completed => Ending::Completed,
        Ending::Failed(error) => Ending::Failed(format!("{error}\n\n{}", calls.summary())),
    };
    let failed = ending != Ending::Completed;
    let blocks =
        output.into_blocks(&ending, &calls.notes(), time, options.max_output_tokens, &save);
    let mut details = calls.details();
    if let Some(path) = full_output.into_inner() {
        details["fullOutputPath"] = path.into();
    }
    let mut result = ToolOutput::blocks(blocks).with_details(details).with_is_error(failed);
    result.usage = calls.usage();
    // A script can return anything that its calls returned.
    if calls.is_untrusted { mark_untrusted(result) } else { result }
}

/// Returns the bounds on the calls of a script.
fn fanout(session: &AgentSession) -> Fanout {
    match session.guard().map(|guard| guard.plan().profile) {
        Some(Profile::Unattended) => UNATTENDED,
        _ => ATTENDED,
    }
}

/// Waits for the tools that a script names, or for all if it looks for some.
async fn wait_for_tools(session: &AgentSession, code: &str) {
    const SEARCHES: [&str; 4] = ["searchTools", "describeNamespace", "describeTool", "ALL_TOOLS"];
    if SEARCHES.iter().any(|name| code.contains(name)) {
        return session.wait_for_tools(ToolWait::All).await;
    }
    let namespaces = namespaces(code);
    if !namespaces.is_empty() {
        session.wait_for_tools(ToolWait::Namespaces(namespaces)).await;
    }
}

/// Returns the names of servers that a script may mean: for `mcp__a__b`, `mcp__a` and `mcp__a__b`.
fn namespaces(code: &str) -> Vec<String> {
    const MOST: usize = 1_000;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let words =
        code.split(|c| !is_part(c)).filter_map(|word| word.find("mcp__").map(|at| &word[at..]));
    let mut names = BTreeSet::new();
    for word in words.take(MOST) {
        let ends = word.match_indices("__").map(|(at, _)| at).skip(1);
        names.extend(ends.map(|end| word[..end].to_owned()));
        names.insert(word.to_owned());
    }
    names.into_iter().collect()
}

/// Lists the models of the session. Models that are not for chats do not exist here.
fn list_models(session: &AgentSession) -> script::ListModels {
    let models = session.models().cloned();
    Arc::new(move |function, arguments| {
        let (kind, provider) = (arguments[0].as_str(), arguments[1].as_str());
        let all = || -> Vec<Value> {
            let Some(models) = models.as_ref().filter(|_| kind == Some("chat")) else {
                return Vec::new();
            };
            let all = match function {
                "getAvailableOfType" => models.available(),
                _ => models.all(),
            };
            let all = all.iter().filter(|one| provider.is_none_or(|id| one.provider == id));
            all.filter_map(|model| serde_json::to_value(model).ok()).collect()
        };
        match function {
            "getModelOfType" => all().into_iter().find(|model| model["id"] == arguments[2]),
            "getModelsOfType" | "getAvailableOfType" => Some(all().into()),
            _ => {
                let model = &arguments[0];
                Some(json!({
                    "provider": model["provider"], "model": model["id"], "stopReason": "error",
                    "errorMessage": format!("models.{function} is not supported by this version."),
                }))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{has_identifier, namespaces};

    #[test]
    fn identifiers_are_whole_words() {
        for code in
            ["store('a', 1)", "x=load ('a')", "globalThis[\"store\"]", "const {load} = globalThis"]
        {
            assert!(has_identifier(code, "store") || has_identifier(code, "load"), "{code}");
        }
        for code in ["upload()", "restored", "load_all()", "$store", "a.stores"] {
            assert!(!has_identifier(code, "store") && !has_identifier(code, "load"), "{code}");
        }
    }

    #[test]
    fn scripts_name_servers() {
        let cases: [(&str, &[&str]); 4] = [
            ("tools.read({})", &[]),
            ("tools.mcp__docs__search()", &["mcp__docs", "mcp__docs__search"]),
            ("describe('mcp__dev-x')", &["mcp__dev-x"]),
            ("x.mcp__a__b__c", &["mcp__a", "mcp__a__b", "mcp__a__b__c"]),
        ];
        for (code, expected) in cases {
            assert_eq!(namespaces(code), expected, "{code}");
        }
    }
}
