//! Events: their order, the names of their fields, and the state of the context, as in pi 1.5.0.

use pi_ai::faux::Reply;
use serde_json::json;

use crate::probes::{probe, prompt};
use crate::trial::Setup;

#[tokio::test]
async fn events_of_a_run_with_a_tool_are_those_of_pi() {
    let reader = r#"export default (pi) => pi.registerTool({
        name: "events", description: "", parameters: { type: "object", properties: {} },
        execute: async () => ({ content: [{ type: "text", text: globalThis.eventLog.splice(0).join("\n") }] }) })"#;
    let setup = Setup::new().existing(probe("events.ts")).extension("project/reader.ts", reader);
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    trial.model.push(Reply::new().tool_call("probe", &json!({ "a": "x" })));
    trial.model.push(Reply::new().text("all done"));
    prompt(&trial, "one").await;
    let session = trial.runtime.session();
    session.set_name("nm").await.unwrap();
    trial.runtime.new_session(None).await.unwrap();
    insta::assert_snapshot!(trial.tool_text("events", json!({})).await);
}

/// The first handler reads the message of each delta at once, the second one keeps the event and
/// reads it when the run is over, and the third one changes its own event.
#[tokio::test]
async fn the_message_of_a_delta_is_that_of_its_event() {
    let extension = r#"export default (pi) => {
        const read = [], kept = [];
        pi.on("message_update", (event) => {
            const { message, assistantMessageEvent } = event;
            read.push(JSON.stringify(message));
            if (assistantMessageEvent.partial !== message) throw new Error("two messages");
        });
        pi.on("message_update", async (event) => { kept.push(event); });
        pi.on("message_update", (event) => { event.message = "mine"; });
        pi.registerTool({
            name: "result", description: "", parameters: { type: "object", properties: {} },
            execute: async () => {
                const later = kept.map((event) => JSON.stringify(event.message));
                const keys = Object.keys(kept[0]).sort();
                const same = later.every((text, at) => text === read[at]);
                const lengths = new Set(later.map((text) => text.length));
                const text = JSON.stringify({ same, keys, grows: lengths.size > 3, role: kept[0].message.role });
                return { content: [{ type: "text", text }] };
            },
        });
    }"#;
    let trial = Setup::new().extension("project/deltas.ts", extension).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    trial.model.push(Reply::new().text("an answer that grows in steps").chunks_of(4));
    prompt(&trial, "one").await;
    let result = trial.tool_text("result", json!({})).await;
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    let keys = ["assistantMessageEvent", "message", "type"];
    assert_eq!(result, json!({ "same": true, "keys": keys, "grows": true, "role": "assistant" }));
}
