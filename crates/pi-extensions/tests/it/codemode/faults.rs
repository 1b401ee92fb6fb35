//! Scripts that go wrong, are aborted, or call tools with special demands.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pi_agent::{AgentTool, FnTool, Invocation, ToolError, ToolOutput, Updates};
use pi_ai::faux::Reply;
use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::{Exposure, Handlers, ToolRegistration, ToolWait};
use pi_coding_agent::session::{NestedCall, PromptOptions, SessionEvent};
use pi_protocol::Tool;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{check, echo, register, run, start, text};

/// A limit for waiting that a loaded machine does not reach, and shorter than a slice of computing.
const PATIENCE: Duration = Duration::from_secs(40);

fn declaration(name: &str) -> Tool {
    Tool::new(name, "A tool.", json!({ "type": "object", "properties": {} }))
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_no_tool_can_read_are_refused() {
    let trial = start(|_| {}).await;
    let table: &[(&str, bool, &[&str])] = &[
        ("await tools.echo({ say: '\\ud800' })", true, &["not valid JSON for a tool", "No tool"]),
        (
            "let deep = {}; for (let i = 0; i < 200; i++) deep = { deep }; \
             await tools.echo({ say: 'x', deep })",
            true,
            &["not valid JSON for a tool: recursion limit"],
        ),
        ("store('a', 1)", false, &[]),
        (
            "try { store('a', '\\ud800') } catch (error) { text(error.message) }",
            false,
            &["cannot keep"],
        ),
        ("return load('a')", false, &["\n1"]),
    ];
    check(&trial, table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loops_of_the_engine_are_bounded() {
    let trial = start(|_| {}).await;
    let table: &[(&str, bool, &[&str])] = &[
        ("Array.prototype.reverse.call({ length: 2 ** 53 - 1 })", true, &["RangeError: reverse"]),
        ("const a = []; a.length = 2 ** 32 - 1; a.sort()", true, &["RangeError: sort"]),
        ("[].forEach.call({ length: 2 ** 40 }, () => {})", true, &["RangeError: forEach"]),
        (
            "return [[3, 1, 2].sort().reverse().map((n) => n * 2).join(), [].map.name, [].map.length]",
            false,
            &["[\"6,4,2\",\"map\",1]"],
        ),
    ];
    check(&trial, table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_after_the_end() {
    let trial = start(|_| {}).await;
    let code = "const f = () => Promise.resolve().then(f); f(); \
        const late = () => { try { image('data:image/png;base64,iVBORw0KGgo=') } catch {} }; \
        for (let i = 0; i < 20; i++) Promise.resolve().then(() => {}).then(late); return 'done'";
    let result = tokio::time::timeout(PATIENCE, run(&trial, code)).await.unwrap();
    assert!(text(&result).ends_with("done"), "{}", text(&result));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_script_reports_its_calls() {
    let (starts, mut started) = mpsc::unbounded_channel();
    // A tool that does not react to the abort.
    let stuck = FnTool::new(declaration("stuck"), move |_: Invocation| {
        starts.send(()).unwrap();
        async {
            std::future::pending::<()>().await;
            Ok::<_, ToolError>(String::new())
        }
    });
    let trial = start(move |options| options.tools.custom.push(Arc::new(stuck))).await;
    let (ends, mut ended) = mpsc::unbounded_channel();
    let _subscription = trial.runtime.subscribe(move |event| {
        if let SessionEvent::ToolExecutionEnd { tool_name, .. } = event {
            ends.send(tool_name.clone()).unwrap();
        }
    });
    let aborting = trial.runtime.session();
    let abort = tokio::spawn(async move {
        started.recv().await.unwrap();
        aborting.abort().await;
    });
    let code = "text('before'); await tools.echo({ say: 'x' }); await tools.stuck({})";
    let result = tokio::time::timeout(PATIENCE, run(&trial, code)).await.unwrap();
    abort.await.unwrap();
    let text = text(&result);
    assert!(result.is_error);
    for part in ["before", "Operation aborted", "echo (ok), stuck (cancelled)"] {
        assert!(text.contains(part), "{text}");
    }
    let calls = result.details.as_ref().unwrap()["calls"].clone();
    assert_eq!([&calls[0]["status"], &calls[1]["status"]], ["ok", "cancelled"]);
    let nested = &result.extra["nestedCalls"];
    assert_eq!(nested["complete"], false);
    assert_eq!(nested["calls"][1]["status"], "unfinished");
    let mut names = Vec::new();
    while names.len() < 3 {
        names.push(tokio::time::timeout(PATIENCE, ended.recv()).await.unwrap().unwrap());
    }
    names.sort();
    assert_eq!(names, ["codemode", "echo", "stuck"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_tools_is_not_time_of_the_script() {
    let trial = start(|_| {}).await;
    let session = trial.runtime.session();
    let late = |_: ToolWait| -> pi_agent::BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(3_500)))
    };
    session.extensions().registry().register_tool_wait("test:late", Arc::new(late));
    let code = "// @options: {\"timeout_ms\": 3000}\nreturn ALL_TOOLS.length > 0";
    let result = tokio::time::timeout(PATIENCE, run(&trial, code)).await.unwrap();
    assert!(text(&result).ends_with("true"), "{}", text(&result));
}

#[tokio::test(flavor = "multi_thread")]
async fn sequential_tools_run_one_at_a_time() {
    let most: Arc<AtomicUsize> = Arc::default();
    let (running, seen) = (Arc::<AtomicUsize>::default(), Arc::clone(&most));
    let alone = FnTool::new(declaration("alone"), move |_: Invocation| {
        let (running, seen) = (Arc::clone(&running), Arc::clone(&seen));
        async move {
            seen.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, ToolError>("alone".to_owned())
        }
    });
    // A sequential tool that calls a sequential tool.
    let session: Arc<OnceLock<AgentSession>> = Arc::default();
    let inside = Arc::clone(&session);
    let outer = FnTool::new(declaration("outer"), move |call: Invocation| {
        let session = inside.get().unwrap().clone();
        async move {
            let nested = NestedCall {
                id: format!("{}/1", call.id),
                parent_id: call.id.clone(),
                name: "alone".to_owned(),
                arguments: Map::new(),
                budget: None,
            };
            let silent = Updates::new(|_| {});
            let finished = session.execute_nested(nested, call.cancel, silent).await;
            Ok::<_, ToolError>(format!("outer {}", !finished.is_error))
        }
    });
    let tools: [Arc<dyn AgentTool>; 2] =
        [Arc::new(alone.sequential()), Arc::new(outer.sequential())];
    let trial = start(move |options| options.tools.custom.extend(tools)).await;
    assert!(session.set(trial.runtime.session()).is_ok());
    let code = "const all = await Promise.all([1, 2, 3, 4].map(() => tools.alone({}))); \
        return [...all, await tools.outer({})].join()";
    let result = tokio::time::timeout(PATIENCE, run(&trial, code)).await.unwrap();
    assert!(text(&result).ends_with("alone,alone,alone,alone,outer true"), "{}", text(&result));
    assert_eq!(most.load(Ordering::SeqCst), 1);
    // The record of the script has the calls of its calls.
    let nested = &result.extra["nestedCalls"];
    let last = &nested["calls"].as_array().unwrap()[5];
    assert_eq!((&last["name"], &last["status"]), (&json!("alone"), &json!("ok")));
    assert_eq!(last["id"], format!("{}/5/1", result.tool_call_id));
    assert_eq!(nested["complete"], true);
    // Arguments that are too long for the record make it incomplete.
    let result = run(&trial, "await tools.echo({ say: 'x'.repeat(10000) })").await;
    assert_eq!(result.extra["nestedCalls"]["complete"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_and_notes_of_calls_reach_the_result() {
    let noted = FnTool::new(declaration("noted"), |_: Invocation| async move {
        let details = json!({ "untrusted": true, "guardNotes": ["[The sandbox denied /x]"] });
        let output = ToolOutput::text("text").with_structured_content(json!({ "a": 1 }));
        Ok::<_, ToolError>(output.with_details(details))
    });
    let schema = json!({ "type": "object", "properties": { "a": { "type": "number" } } });
    let noted = ToolRegistration::new(Arc::new(noted)).output_schema(schema);
    let trial =
        start(move |options| options.extensions.own = vec![Arc::new(register(noted))]).await;
    let result = run(&trial, "await tools.noted({}); return (await tools.noted({})).a").await;
    let shown = text(&result);
    assert!(shown.ends_with("1\nNotes on the calls:\nnoted: [The sandbox denied /x]"), "{shown}");
    assert_eq!(result.details.as_ref().unwrap()["untrusted"], true);
    let result = run(&trial, "return await tools.echo({ say: 'x' })").await;
    assert_eq!(result.details.as_ref().unwrap().get("untrusted"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_come_before_identifiers() {
    let trial = start(|options| {
        options.tools.custom.extend([echo("x-y"), echo("x_y")]);
        let mut tool = ToolRegistration::new(echo("z")).exposure(Exposure::Codemode);
        tool.namespace = Some(json!({ "name": "mcp__s", "aliases": ["my-server"] }));
        options.extensions.own = vec![Arc::new(register(tool))];
    })
    .await;
    let table: &[(&str, bool, &[&str])] = &[
        ("return await describeTool('x_y')", false, &["as x_y\n", "x_y(args"]),
        ("return await describeTool('x-y')", false, &["as x-y\n", "x_y_2(args"]),
        ("return await tools['x-y']({ say: 'a' })", false, &["said a"]),
        ("return (await describeNamespace('my_server')).name", false, &["mcp__s"]),
    ];
    check(&trial, table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_leaves_the_description_as_it_is() {
    let trial = start(|_| {}).await;
    let session = trial.runtime.session();
    session.activate_tools(&["tool_search".to_owned()]);
    trial.model.push(Reply::new().tool_call("tool_search", &json!({ "query": "listed" })));
    trial.model.push(Reply::new().text("end"));
    session.prompt("go", PromptOptions::default()).await.unwrap();
    session.wait_for_idle().await;
    let declared: Vec<Vec<Tool>> = trial
        .model
        .requests()
        .iter()
        .map(|request| pi_protocol::Declarations::replay(request.context.messages.iter()).tools)
        .collect();
    let find = |at: usize, name: &str| {
        declared[at].iter().find(|tool| tool.name == name).map(|tool| tool.description.clone())
    };
    assert!(find(0, "listed").is_none() && find(1, "listed").is_some());
    assert_eq!(find(0, "codemode"), find(1, "codemode"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_cannot_submit_results() {
    let submit = ToolRegistration::new(echo("submit")).receives_result();
    let trial = start(move |options| {
        let settings: Value = json!({ "codemode": { "mode": "only" } });
        options.project.set_overrides(settings.as_object().unwrap().clone());
        let extension =
            Handlers::new("test:submit").setup(move |api| api.register_tool(submit.clone()));
        options.extensions.own = vec![Arc::new(extension)];
    })
    .await;
    let result = run(&trial, "return ['submit' in tools, 'echo' in tools]").await;
    assert!(text(&result).ends_with("[false,true]"), "{}", text(&result));
    let requests = trial.model.requests();
    let messages = requests.last().unwrap().context.messages.iter();
    let declared = pi_protocol::Declarations::replay(messages).tools;
    let names: Vec<&str> = declared.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["codemode", "submit"]);
}
