//! Tools of extensions: fields, results, nesting, activation.

use pi_ai::faux::Reply;
use serde_json::{Value, json};

use crate::probe::Probe;

const TOOLS: &str = r#"
export default function (pi: any) {
    const P = { type: "object", properties: {} };
    const text = (text: string) => ({ content: [{ type: "text", text }], details: {} });
    pi.registerTool({ name: "inner", label: "I", description: "inner", parameters: P,
        async execute(id: string, _p: any, signal: any, update: any, ctx: any) {
            update({ content: [{ type: "text", text: "part" }], details: {} });
            return { ...text("in " + id), details: { aborted: signal.aborted } };
        } });
    pi.registerTool({ name: "hid", exposure: "hidden", description: "h", parameters: P, async execute(id: string) { return text(id); } });
    pi.registerTool({ name: "defr", exposure: "deferred", description: "d", parameters: P, async execute(id: string) { return text("def " + id); } });
    pi.registerTool({ name: "monly", exposure: "model-only", description: "m", parameters: P, annotations: { readOnlyHint: true }, namespace: { name: "ns" }, async execute(id: string) { return text(id); } });
    pi.registerTool({ name: "off", defaultActive: false, description: "o", parameters: P, async execute(id: string) { return text(id); } });
    pi.registerTool({ name: "prep", description: "p", parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
        prepareArguments: (raw: any) => raw.from ? { to: raw.from + "!" } : raw,
        promptSnippet: "prepares", promptGuidelines: ["Prepare first."], executionMode: "sequential",
        async execute(_i: string, p: any) { return text("to " + p.to); } });
    pi.registerTool({ name: "how", description: "h", parameters: { type: "object", properties: { how: { type: "string" } } },
        async execute(_i: string, p: any) {
            if (p.how === "throw") throw new Error("tool failed");
            if (p.how === "string") throw "just a string";
            if (p.how === "undefined") return undefined;
            if (p.how === "noContent") return { details: 1 };
            if (p.how === "isError") return { ...text("returned failure"), isError: true, details: { why: 1 } };
            if (p.how === "terminate") return { ...text("the end"), terminate: true };
            return text("fine");
        } });
    pi.registerTool({ name: "outer", description: "o", parameters: P, async execute(_i: string, _p: any, _s: any, _u: any, ctx: any) {
        const out: any = { keys: Object.keys(ctx).includes("executeTool"), tools: ctx.tools.map((tool: any) => tool.name) };
        for (const name of ["inner", "hid", "defr", "monly", "off", "nope", "prep"]) {
            const { toolCall, result, isError } = await ctx.executeTool(name, {});
            out[name] = [toolCall.id, isError, result.content[0].text.split("\n")[0]];
        }
        pi.appendEntry("say", out);
        return text("done");
    } });
    pi.on("tool_call", (event: any) => { if (event.parentToolCallId) pi.appendEntry("nested", [event.toolName, event.parentToolCallId]); });
    pi.registerCommand("all", { handler: async () => {
        const all = pi.getAllTools();
        const own = all.filter((tool: any) => tool.sourceInfo.source !== "builtin");
        pi.appendEntry("say", {
            builtin: all.find((tool: any) => tool.name === "read").sourceInfo.path,
            own: own.map((tool: any) => [tool.name, tool.exposure, tool.sourceInfo.source, tool.sourceInfo.scope]),
            keys: Object.keys(own[0]), monly: own.find((tool: any) => tool.name === "monly"), active: pi.getActiveTools(),
        });
    } });
    pi.registerCommand("set", { handler: async (args: string) => { pi.setActiveTools(args.split(",")); pi.appendEntry("say", pi.getActiveTools()); } });
    pi.registerCommand("late", { handler: async () => {
        pi.registerTool({ name: "late_tool", description: "l", parameters: P, async execute() { return text("late"); } });
        pi.appendEntry("say", pi.getActiveTools().includes("late_tool"));
    } });
}
"#;

async fn calls(probe: &Probe, name: &str, arguments: &Value) -> Vec<String> {
    probe.trial.model.push(Reply::new().tool_call(name, arguments));
    probe.trial.model.push(Reply::new().text("end"));
    let mut lines = probe.prompt("go").await;
    lines.retain(|line| !line.starts_with("user") && !line.starts_with("assistant"));
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn results_and_failures_reach_the_model() {
    let probe = Probe::start(TOOLS).await;
    let table = [
        ("throw", "toolResult tool failed"),
        ("string", "toolResult just a string"),
        ("noContent", "toolResult "),
        ("isError", "toolResult returned failure"),
        ("fine", "toolResult fine"),
    ];
    for (how, expected) in table {
        let lines = calls(&probe, "how", &json!({ "how": how })).await;
        assert_eq!(lines, [expected, "settled false"], "{how}");
    }
    let lines = calls(&probe, "how", &json!({ "how": "undefined" })).await;
    assert!(lines[0].contains("returned no result"), "{lines:?}");
    assert_eq!(probe.trial.model.pending(), 0);
    let lines = calls(&probe, "how", &json!({ "how": "terminate" })).await;
    assert_eq!(lines, ["toolResult the end", "settled false"]);
    assert_eq!(probe.trial.model.pending(), 1, "no request follows");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_prepared_then_validated() {
    let probe = Probe::start(TOOLS).await;
    let lines = calls(&probe, "prep", &json!({ "from": "old" })).await;
    assert_eq!(lines[0], "toolResult to old!");
    let lines = calls(&probe, "prep", &json!({})).await;
    assert!(
        lines[0].starts_with("toolResult Validation failed for tool \"prep\":\n  - to: missing")
    );
    let lines = calls(&probe, "off", &json!({})).await;
    assert_eq!(lines[0], "toolResult Tool off not found");
    let options = probe.trial.runtime.session().prompt_options().payload();
    assert_eq!(options["toolSnippets"]["prep"], "prepares");
    assert_eq!(options["toolGuidelines"]["prep"], json!(["Prepare first."]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_calls_tools() {
    let probe = Probe::start(TOOLS).await;
    probe.trial.model.push(Reply::new().tool_call("outer", &json!({})));
    probe.trial.model.push(Reply::new().text("end"));
    let lines = probe.prompt("go").await;
    let nested: Vec<&String> = lines.iter().filter(|line| line.contains("nested")).collect();
    assert_eq!(nested.len(), 2, "{lines:?}");
    let said = lines.iter().find_map(|line| line.strip_prefix("say ")).unwrap();
    let said: Value = serde_json::from_str(said).unwrap();
    assert_eq!(said["keys"], false, "the members of tools are not enumerable");
    let tools = said["tools"].as_array().unwrap();
    for (name, callable) in
        [("inner", true), ("defr", true), ("hid", false), ("monly", false), ("off", false)]
    {
        assert_eq!(tools.contains(&json!(name)), callable, "{name}");
    }
    let of = |name: &str| {
        let id = said[name][0].as_str().unwrap();
        json!([id.rsplit_once('/').unwrap().1, said[name][1], said[name][2]])
    };
    assert!(said["inner"][2].as_str().unwrap().ends_with("/1"));
    assert_eq!(of("hid"), json!(["2", true, "Tool hid not found"]));
    assert_eq!(of("defr")[1], false);
    assert_eq!(of("monly"), json!(["4", true, "Tool monly not found"]));
    assert_eq!(of("nope"), json!(["6", true, "Tool nope not found"]));
    assert_eq!(of("prep"), json!(["7", true, "Validation failed for tool \"prep\":"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_and_activated_as_in_pi() {
    let probe = Probe::start(TOOLS).await;
    let said = probe.ask("/all").await;
    assert_eq!(said["builtin"], "builtin:read");
    assert_eq!(said["own"][0], json!(["inner", "direct", "cli", "temporary"]));
    assert_eq!(said["own"][1], json!(["hid", "hidden", "cli", "temporary"]));
    assert_eq!(
        said["keys"],
        json!(["name", "description", "parameters", "promptGuidelines", "exposure", "sourceInfo"])
    );
    assert_eq!(said["monly"]["namespace"], json!({ "name": "ns" }));
    assert_eq!(said["monly"]["annotations"], json!({ "readOnlyHint": true }));
    let active = said["active"].as_array().unwrap();
    for (name, is_active) in
        [("inner", true), ("monly", true), ("defr", false), ("hid", false), ("off", false)]
    {
        assert_eq!(active.contains(&json!(name)), is_active, "{name}");
    }
    // Names that stay keep their order; unknown and hidden ones are ignored.
    assert_eq!(
        probe.ask("/set off,read,hid,defr,monly,zzz").await,
        json!(["read", "monly", "off", "defr"])
    );
    assert_eq!(probe.ask("/late").await, json!(true));
    let lines = calls(&probe, "late_tool", &json!({})).await;
    assert_eq!(lines[0], "toolResult late");
}
