//! Codemode: scripts through a real session, with a scripted model.

mod faults;

use std::sync::{Arc, Mutex};

use pi_agent::{AgentTool, FnTool, Invocation, ToolError, ToolOutput};
use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Exposure, Handlers, Namespace, ToolCall, ToolDecision};
use pi_coding_agent::extension::{RegistryError, ToolRegistration};
use pi_coding_agent::session::{PromptOptions, SessionEvent};
use pi_coding_agent::{AgentOptions, ToolChange, ToolChoice, tool_search};
use pi_extensions::codemode;
use pi_protocol::{AgentMessage, Message, Tool, ToolResultMessage, Usage, UserBlock};
use serde_json::{Value, json};

use crate::trial::{Setup, Trial};

/// A tool that returns its arguments.
fn echo(name: &str) -> Arc<dyn AgentTool> {
    let parameters = json!({
        "type": "object",
        "properties": { "say": { "type": "string", "description": "What to say" } },
        "required": ["say"],
    });
    let declaration = Tool::new(name, format!("Repeats what it gets, as {name}"), parameters);
    Arc::new(FnTool::new(declaration, |call: Invocation| async move {
        let said = call.arguments["say"].as_str().unwrap_or_default().to_owned();
        match said.as_str() {
            "fail" => Err(ToolError::new("it failed")),
            "data" => Ok(ToolOutput::text("text").with_structured_content(json!({ "said": 1 }))),
            "wait" => {
                call.cancel.cancelled().await;
                Err(ToolError::new("cancelled"))
            }
            "spend" => {
                let mut output = ToolOutput::text("spent");
                let mut usage = Usage { output: 5, total_tokens: 5, ..Usage::default() };
                usage.cost.total = 0.5;
                output.usage = Some(usage);
                Ok(output)
            }
            _ => Ok(ToolOutput::text(format!("said {said}"))),
        }
    }))
}

fn register(tool: ToolRegistration) -> Handlers {
    Handlers::new("test:tools")
        .setup(move |api| -> Result<(), RegistryError> { api.register_tool(tool.clone()) })
}

/// Adds `codemode` and the tools of the tests.
fn enable(options: &mut AgentOptions) {
    options.extensions.builtins =
        vec![codemode::builtin(Some("8".to_owned())), tool_search::builtin()];
    let add = |name: &str| ToolChange::Add(name.to_owned());
    options.tools.selection.choice = Some(ToolChoice::Change(vec![add("codemode")]));
    options.tools.custom = vec![echo("echo")];
    let schema = json!({ "type": "object", "properties": { "said": { "type": "number" } } });
    let structured = ToolRegistration::new(echo("struct-ured")).output_schema(schema);
    let mut listed = ToolRegistration::new(echo("listed")).exposure(Exposure::Codemode);
    listed.namespace = Some(json!({
        "name": "group", "aliases": ["g"], "description": "A group", "instructions": "With care.",
    }));
    let hidden = ToolRegistration::new(echo("private")).exposure(Exposure::ModelOnly);
    let tools = Handlers::new("test:tools").setup(move |api| {
        [&structured, &listed, &hidden]
            .into_iter()
            .try_for_each(|one| api.register_tool(one.clone()))
    });
    options.extensions.own.push(Arc::new(tools));
}

async fn start(change: impl FnOnce(&mut AgentOptions) + 'static) -> Trial {
    let mut setup = Setup::new();
    setup.change = Box::new(move |options| {
        enable(options);
        change(options);
    });
    setup.start().await
}

/// Runs a script, and returns its result as the log has it.
async fn run(trial: &Trial, code: &str) -> Arc<ToolResultMessage> {
    trial.model.push(Reply::new().tool_call("codemode", &json!({ "code": code })));
    trial.model.push(Reply::new().text("end"));
    let session = trial.runtime.session();
    session.prompt("go", PromptOptions::default()).await.unwrap();
    session.wait_for_idle().await;
    let messages = session.messages();
    let result = messages.iter().rev().find_map(|message| match message {
        AgentMessage::Llm(Message::ToolResult(result)) => Some(Arc::clone(result)),
        _ => None,
    });
    result.unwrap()
}

fn text(result: &ToolResultMessage) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        UserBlock::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Runs scripts of a table: code, whether it fails, and parts of the result.
async fn check(trial: &Trial, table: &[(&str, bool, &[&str])]) {
    for (code, fails, parts) in table {
        let result = run(trial, code).await;
        let text = text(&result);
        assert_eq!(result.is_error, *fails, "{code}\n{text}");
        for part in *parts {
            assert!(text.contains(part), "{code}\nexpected {part:?} in:\n{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_output_values() {
    let trial = start(|_| {}).await;
    let table: &[(&str, bool, &[&str])] = &[
        ("return 1 + 1", false, &["Script completed\nWall time ", " seconds\nOutput:\n", "\n2"]),
        (
            "text('a'); text({ b: [1] }); text(undefined)",
            false,
            &["==> text 1/3 <==\na\n==> text 2/3 <==\n{\"b\":[1]}\n==> text 3/3 <==\nundefined"],
        ),
        (
            "console.log('x', 1, null); console.error('y'); text('t')",
            false,
            &["t\n<console_output>\nx 1 null\ny\n</console_output>"],
        ),
        ("text('a'); try { exit() } catch {} text('b'); for (;;) {}", false, &["Output:\n\na"]),
        ("text('\\ud800 ok')", false, &["ok"]),
        ("const a = {}; a.a = a; text(a)", true, &["TypeError: circular reference"]),
        ("const a = {}; a.a = a; return a", true, &["TypeError: circular reference"]),
        ("const a = {}; a.a = a; console.log(a, 1)", false, &["[a value that is not JSON] 1"]),
        ("return new Date(0)", false, &["\n1970-01-01T00:00:00.000Z"]),
        ("return [typeof (text = 1), typeof text]", false, &["[\"number\",\"function\"]"]),
        ("image({ type: 'image', data: 'AAAA' })", true, &["not a PNG, JPEG, GIF or WebP"]),
        ("image('http://example.com/x.png')", true, &["data: URL"]),
        (
            "image('data:image/png;base64,iVBORw0KGgo=')",
            false,
            &["[Image saved to ", "(image/png, 8B)]"],
        ),
        (
            "// @options: {\"max_output_tokens\": 10}\ntext('x'.repeat(400) + 'end')",
            false,
            &[
                "Warning: truncated output (original token count: 101)",
                "tokens truncated…",
                "end",
                "[Full output: ",
            ],
        ),
        ("1\n// @options: {}", true, &["must be the first line"]),
        ("  ", true, &["The script is empty"]),
        (
            "throw new RangeError('far')",
            true,
            &["Script failed", "RangeError: far\n    at ", "No tool calls were made."],
        ),
        ("let a = 1;\nlet b = ;", true, &["SyntaxError: ", "codemode.js:2:9"]),
        ("const f = () => { throw 1 };\nf()", true, &["Error: 1"]),
    ];
    check(&trial, table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_call_tools() {
    let trial = start(|_| {}).await;
    let table: &[(&str, bool, &[&str])] = &[
        ("return await tools.echo({ say: 'hi' })", false, &["said hi"]),
        ("return await tools.struct_ured({ say: 'data' })", false, &["{\"said\":1}"]),
        ("return await tools['struct-ured']({ say: 'x' })", false, &["said x"]),
        ("return await tools.listed({ say: 'x' })", false, &["said x"]),
        ("return await tools.echo({ say: 'data' })", false, &["\ntext"]),
        ("return await tools.bash({ command: 'exit 3' })", false, &["\"exit_code\":3"]),
        (
            "await tools.echo({ say: 'fail' })",
            true,
            &[
                "Error: it failed",
                "Tool calls made before the failure (they are not undone): echo (error)",
            ],
        ),
        ("await tools.echo({})", true, &["Validation failed for tool \"echo\""]),
        ("await tools.echo('hi')", true, &["one object"]),
        ("tools.nothing({})", true, &["There is no tool tools.nothing. Find"]),
        ("tools.ecko({})", true, &["Did you mean tools.echo?"]),
        (
            "return [typeof tools.then, 'echo' in tools, 'private' in tools, 'codemode' in tools]",
            false,
            &["[\"undefined\",true,false,false]"],
        ),
        ("tools.private({ say: 'x' })", true, &["There is no tool"]),
        ("tools.codemode({ code: '1' })", true, &["There is no tool"]),
        ("tools.echo({ say: 'wait' }); return 'done'", false, &["done"]),
        (
            "return (await Promise.all([1, 2, 3].map((n) => tools.echo({ say: String(n) })))).join()",
            false,
            &["said 1,said 2,said 3"],
        ),
    ];
    check(&trial, table).await;
}

/// A script may end before its calls, and even before they have begun.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_a_script_leaves_behind_are_cancelled() {
    let trial = start(|_| {}).await;
    for code in ["tools.echo({ say: 'wait' })", "tools.echo({ say: 'wait' }); exit()"] {
        let result = run(&trial, code).await;
        let calls = &result.details.as_ref().unwrap()["calls"];
        assert_eq!(calls.as_array().unwrap().len(), 1, "{code}: {calls}");
        assert_eq!(calls[0]["status"], "cancelled", "{code}: {calls}");
        assert_eq!(calls[0]["error"], Value::Null, "{code}: {calls}");
    }
    let result = run(&trial, "tools.echo({ say: 'wait' }); throw 1").await;
    assert!(text(&result).ends_with("(they are not undone): echo (cancelled)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_find_tools() {
    let trial = start(|_| {}).await;
    let table: &[(&str, bool, &[&str])] = &[
        (
            "return ALL_TOOLS.map((tool) => tool.name)",
            false,
            &["\"echo\"", "\"listed\"", "\"read\""],
        ),
        (
            "return (await searchTools('repeats what it gets', { namespace: 'g' })).map((t) => t.name)",
            false,
            &["\n[\"listed\"]"],
        ),
        ("return await searchTools('quantum entanglement')", false, &["\n[]"]),
        ("return await searchTools(1)", true, &["The query of searchTools() is a string."]),
        ("return await searchTools('a', { limit: 0 })", true, &["a whole number from 1"]),
        ("return await searchTools('a', { limit: 'b' })", true, &["a whole number from 1"]),
        ("return await searchTools('a', { namespace: 1 })", true, &["The namespace of"]),
        ("return await describeTool()", true, &["takes the name of a tool"]),
        ("return await describeNamespace()", true, &["takes the name of a namespace"]),
        ("ALL_TOOLS.push(1)", true, &["TypeError"]),
        (
            "return await describeTool('listed')",
            false,
            &[
                "Repeats what it gets, as listed",
                "codemode tool declaration:\n```ts\n",
                "declare const tools: { listed(args: {\n  // What to say\n  say: string;\n}): Promise<string>; };",
            ],
        ),
        (
            "return [await describeTool('no'), await describeNamespace('no')]",
            false,
            &["[null,null]"],
        ),
        (
            "return await describeNamespace('g')",
            false,
            &[
                "{\"name\":\"group\",\"description\":\"A group\",\"instructions\":\"With care.\",\"tools\":[\"listed\"]}",
            ],
        ),
        ("return await models.getModelsOfType('image')", false, &["[]"]),
        (
            "return (await models.classify({ provider: 'p', id: 'i' }, {})).stopReason",
            false,
            &["error"],
        ),
    ];
    check(&trial, table).await;
    // A namespace is what a server gives; anything else does not group tools.
    let namespace: Namespace = serde_json::from_value(json!({ "name": "x", "more": 1 })).unwrap();
    assert!(namespace.is_named("x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_scripts_only_harm_themselves() {
    let trial = start(|_| {}).await;
    let limit = "// @options: {\"timeout_ms\": 400}\n";
    let timed = |code: &str| format!("{limit}{code}");
    let busy = timed("try { for (;;) {} } catch {} finally { for (;;) {} }");
    let microtasks = timed(
        "const f = () => Promise.resolve().then(f); for (let i = 0; i < 100; i++) f(); await new Promise(() => {})",
    );
    let waits = timed("await tools.echo({ say: 'wait' })");
    let table: &[(&str, bool, &[&str])] = &[
        (&busy, true, &["Script timed out"]),
        (&microtasks, true, &["Script timed out"]),
        (&waits, true, &["Script timed out", "echo ("]),
        ("const a = []; for (;;) a.push(new Array(100000).fill(1))", true, &["out of memory"]),
        ("const f = () => f() + 1; f()", true, &["stack"]),
        ("for (;;) text('x'.repeat(100000))", true, &["The output of the script exceeds"]),
        ("for (;;) console.log('')", true, &["The output of the script exceeds"]),
        ("await new Promise(() => {})", true, &["nothing can settle"]),
        ("await { then() {} }", true, &["nothing can settle"]),
        (
            "Promise.prototype.then = () => { throw 1 }; JSON.stringify = () => { throw 2 }; \
          Object.prototype.resolve = () => { throw 3 }; Array.prototype.map = null; \
          String.prototype.toWellFormed = null; globalThis.Promise = null; globalThis.Error = null; \
          text({ a: 1 }); text('still here')",
            false,
            &["{\"a\":1}", "still here"],
        ),
        (
            "tools.__proto__ = null; Object.setPrototypeOf(tools, { evil: 1 }); return 'evil' in tools",
            false,
            &["false"],
        ),
        (
            "return [typeof require, typeof process, typeof fetch, typeof setTimeout, typeof std, typeof os]",
            false,
            &[
                "[\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\"]",
            ],
        ),
        ("return await import('fs').catch((error) => 'refused')", false, &["refused"]),
        ("})(); text('outside'); (async () => { text('inside')", false, &["inside"]),
        ("return 'fine'", false, &["fine"]),
    ];
    check(&trial, table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_bounded_and_counted() {
    let code = "const all = await Promise.allSettled(Array.from({ length: 10000 }, () => \
        tools.echo({ say: 'x' }))); const made = all.filter((one) => one.status === 'fulfilled'); \
        return [made.length, String(all[9999].reason)]";
    let trial = start(|_| {}).await;
    let result = run(&trial, code).await;
    assert!(
        text(&result).contains("[1000,\"Error: Not executed: a script makes at most 1000 calls")
    );
    let nested = &result.extra["nestedCalls"];
    assert_eq!(nested["calls"].as_array().unwrap().len(), 256);
    assert_eq!(nested["complete"], false);
    let details = result.details.as_ref().unwrap();
    assert_eq!(details["calls"].as_array().unwrap().len(), 256);
    assert_eq!(details["omittedCalls"], 744);

    // The limits of the run count the calls of scripts.
    let trial = start(|options| {
        options
            .project
            .set_overrides(json!({ "limits": { "maxToolCalls": 5 } }).as_object().unwrap().clone());
    })
    .await;
    let code = "const all = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7].map(() => \
        tools.echo({ say: 'x' }))); return 'made: ' + all.filter((one) => one.status === 'fulfilled').length";
    trial.model.push(Reply::new().tool_call("codemode", &json!({ "code": code })));
    let session = trial.runtime.session();
    session.prompt("go", PromptOptions::default()).await.unwrap();
    session.wait_for_idle().await;
    let shown = format!("{:?}", session.messages());
    // That of the script is the fifth. Which of the parallel ones are made is open.
    assert!(shown.contains("\"made: 4\""), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_calls_have_events_and_records() {
    let trial = start(|options| {
        let gate = Handlers::new("test:gate").on(|call: ToolCall, _| async move {
            let said = call.input.get("say").cloned().unwrap_or_default();
            if call.parent_tool_call_id.is_some() && said == "forbidden" {
                return Ok(ToolDecision::block("No."));
            }
            Ok(ToolDecision::allow())
        });
        options.extensions.own.push(Arc::new(gate));
    })
    .await;
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let events = Arc::clone(&seen);
    let _subscription = trial.runtime.subscribe(move |event| {
        if let SessionEvent::ToolExecutionStart { .. } | SessionEvent::ToolExecutionEnd { .. } =
            event
        {
            events.lock().unwrap().push(json!(event));
        }
    });
    let code = "await tools.echo({ say: 'spend' }); await tools.echo({ say: 'spend' }); \
        await tools.echo({ say: 'forbidden' }).catch((error) => text(error.message))";
    let result = run(&trial, code).await;
    assert!(text(&result).contains("\nNo."), "{}", text(&result));
    let usage = result.usage.as_ref().unwrap();
    assert_eq!((usage.total_tokens, usage.cost.total), (10, 1.0));
    let id = &result.tool_call_id;
    let calls = result.details.as_ref().unwrap()["calls"].as_array().unwrap().clone();
    let shown = |call: &Value| (call["id"].clone(), call["status"].clone(), call["cost"].clone());
    assert_eq!(shown(&calls[0]), (json!(format!("{id}/1")), json!("ok"), json!(0.5)));
    assert_eq!(shown(&calls[2]), (json!(format!("{id}/3")), json!("error"), Value::Null));
    assert_eq!(calls[0]["args"], "{\"say\":\"spend\"}");
    let nested = &result.extra["nestedCalls"];
    assert_eq!(nested["complete"], true);
    assert_eq!(nested["calls"][2]["error"], "No.");
    assert_eq!(nested["calls"][0]["arguments"], json!({ "say": "spend" }));
    let events = seen.lock().unwrap().clone();
    let places: Vec<(&str, &str, &Value)> = events
        .iter()
        .map(|event| {
            let text = |name: &str| event[name].as_str().unwrap();
            (text("type"), text("toolCallId"), &event["parentToolCallId"])
        })
        .collect();
    let (first, parent) = (format!("{id}/1"), json!(id));
    assert_eq!(places[0], ("tool_execution_start", id.as_str(), &Value::Null));
    assert_eq!(places[1], ("tool_execution_start", first.as_str(), &parent));
    assert_eq!(places[2], ("tool_execution_end", first.as_str(), &parent));
    assert_eq!(places.len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_kept_after_success_only() {
    let trial = start(|_| {}).await;
    let table: &[(&str, bool, &[&str])] = &[
        ("store('a', { n: 1 }); return load('a')", false, &["{\"n\":1}"]),
        ("store('a', 2); throw new Error('no')", true, &["no"]),
        ("return [load('a'), load('b')]", false, &["[{\"n\":1},null]"]),
        ("store('a', undefined); store('b', 'x')", false, &[]),
        ("return [load('a'), load('b')]", false, &["[null,\"x\"]"]),
        ("store('c', 'x'.repeat(300000))", true, &["at most 262144"]),
        ("store('c', 'ä'.repeat(200000)); return load('c').length", false, &["\n200000"]),
        ("store('f', () => 1)", true, &["store(\"f\"): the value is not JSON."]),
        ("store(1, 1)", true, &["The key of store() is a string."]),
        ("load()", true, &["The key of load() is a string."]),
    ];
    check(&trial, table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tools_say_how_scripts_call_them() {
    let declared = |trial: &Trial| -> Vec<(String, String)> {
        let requests = trial.model.requests();
        let tools =
            pi_protocol::Declarations::replay(requests.last().unwrap().context.messages.iter())
                .tools;
        tools.into_iter().map(|tool| (tool.name, tool.description)).collect()
    };
    let find = |tools: &[(String, String)], name: &str| -> String {
        tools
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, text)| text.clone())
            .unwrap_or_default()
    };
    let trial = start(|_| {}).await;
    run(&trial, "1").await;
    let tools = declared(&trial);
    let note = "Codemode: `tools.bash(args)` resolves to `{ output, truncated, full_output_path?, exit_code, wall_time_seconds }`.";
    assert!(find(&tools, "bash").ends_with(note), "{tools:?}");
    assert!(find(&tools, "edit").ends_with("Codemode: `tools.edit(args)` resolves to a string."));
    assert!(
        find(&tools, "struct-ured")
            .ends_with("Codemode: `tools.struct_ured(args)` resolves to `{ said? }`.")
    );
    assert!(!find(&tools, "private").contains("Codemode"));
    let own = find(&tools, "codemode");
    assert!(own.contains("## group: A group") && own.contains("tools.listed(args: {"), "{own}");
    assert!(!own.contains("tools.echo(args"), "{own}");
    assert!(find(&tools, "listed").is_empty());

    let trial = start(|options| {
        let settings = json!({ "codemode": { "mode": "only", "inlineBudget": 0 } });
        options.project.set_overrides(settings.as_object().unwrap().clone());
    })
    .await;
    run(&trial, "return await tools.echo({ say: 'x' })").await;
    let tools = declared(&trial);
    let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["codemode", "private"]);
    assert!(find(&tools, "codemode").contains("## group: A group\n\n1 more: see ALL_TOOLS."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_needs_codemode_activates_it() {
    let trial = start(|options| {
        options.tools.selection.choice = None;
        let tool = ToolRegistration::new(echo("mcp__s__echo"))
            .exposure(Exposure::Codemode)
            .reached_through("codemode");
        options.extensions.own = vec![Arc::new(register(tool))];
    })
    .await;
    let active = |trial: &Trial| -> Vec<String> {
        let tools = trial.runtime.session().active_tools();
        tools.iter().map(|tool| tool.declaration().name.clone()).collect()
    };
    assert!(active(&trial).contains(&"codemode".to_owned()));
    let result = run(&trial, "return await tools.mcp__s__echo({ say: 'x' })").await;
    assert!(text(&result).contains("said x"));

    let trial = start(|options| options.tools.selection.choice = None).await;
    assert!(!active(&trial).contains(&"codemode".to_owned()));
    let trial = start(|options| options.resources.no_extensions = true).await;
    assert!(!active(&trial).contains(&"codemode".to_owned()));
}
