//! Lifetime: what a new session and a reload keep, and what becomes of files that change.

use serde_json::{Value, json};

use crate::probes::probe;
use crate::trial::{Setup, Trial};

async fn state(trial: &Trial) -> Value {
    serde_json::from_str(&trial.tool_text("state", json!({})).await).unwrap()
}

#[tokio::test]
async fn modules_stay_in_a_new_session_and_are_new_after_a_reload() {
    let trial = Setup::new().existing(probe("life/index.ts")).start().await;
    let fine = json!({"getSessionName": "fine", "on": "fine", "cwd": "fine", "isIdle": "fine"});
    let text = "This extension ctx is stale after session replacement or rel";
    let stale = json!({"getSessionName": text, "on": text, "cwd": text, "isIdle": text});
    assert_eq!(
        state(&trial).await,
        json!({"bump": 1, "runs": 1, "born": 1, "factories": 1, "mine": 1, "tries": fine,
            "log": ["factory 1", "1 session_start startup", "1 resources_discover startup"]})
    );
    trial.runtime.new_session(None).await.unwrap();
    assert_eq!(
        state(&trial).await,
        json!({"bump": 2, "runs": 2, "born": 1, "factories": 2, "mine": 2, "tries": stale,
            "log": ["1 session_shutdown new", "factory 2", "2 session_start new",
                "2 resources_discover startup"]})
    );
    trial.runtime.reload().await;
    assert_eq!(
        state(&trial).await,
        json!({"bump": 1, "runs": 1, "born": 2, "factories": 3, "mine": 3, "tries": stale,
            "log": ["2 session_shutdown reload", "factory 3", "3 session_start reload",
                "3 resources_discover reload"]})
    );
}

#[tokio::test]
async fn a_reload_finds_new_removed_and_broken_files() {
    let tool = |name: &str| {
        format!(
            r#"export default (pi) => pi.registerTool({{ name: "{name}", description: "",
                parameters: {{ type: "object", properties: {{}} }}, execute: async () => ({{ content: [] }}) }})"#
        )
    };
    let directory = "home/agent/extensions";
    let trial = Setup::new()
        .file(&format!("{directory}/kept.ts"), &tool("kept"))
        .file(&format!("{directory}/removed.ts"), &tool("removed"))
        .file(&format!("{directory}/broken.ts"), &tool("broken"))
        .start()
        .await;
    let names = || {
        let tools = trial.runtime.registry().tools();
        tools.iter().map(|tool| tool.tool.declaration().name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["broken", "kept", "removed"]);
    let root = trial.root.path().join(directory);
    std::fs::write(root.join("kept.ts"), tool("changed")).unwrap();
    std::fs::write(root.join("new.ts"), tool("new")).unwrap();
    std::fs::write(root.join("broken.ts"), "export default function (").unwrap();
    std::fs::remove_file(root.join("removed.ts")).unwrap();
    let problems = trial.runtime.reload().await;
    assert_eq!(names(), ["changed", "new"]);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.contains("broken.ts\": Failed to load extension: ParseError: "), "{problem}");
}

#[tokio::test]
async fn reloads_leave_nothing_behind() {
    let trial = Setup::new().existing(probe("leak.ts")).start().await;
    for _ in 0..200 {
        assert!(trial.runtime.reload().await.is_empty());
    }
    let text = trial.tool_text("alive", json!({})).await;
    let counts: Vec<u32> = text.split(' ').map(|count| count.parse().unwrap()).collect();
    assert_eq!((counts[0], counts[2]), (201, 5000), "{text}");
    // Those that a cycle holds wait for the collector.
    assert!(counts[1] <= 20, "{text}");
}

#[tokio::test]
async fn the_api_of_a_failed_extension_is_dead() {
    let failing = r#"export default (pi) => {
        globalThis.dead = pi;
        pi.registerTool({ name: "half", description: "", parameters: { type: "object" }, execute: async () => ({ content: [] }) });
        throw "no";
    }"#;
    let other = r#"export default (pi) => pi.registerTool({
        name: "use", description: "", parameters: { type: "object", properties: {} },
        execute: async () => { try { globalThis.dead.on("x", () => {}); } catch (e) { return { content: [{ type: "text", text: e.message }] }; } return { content: [] }; } })"#;
    let trial = Setup::new()
        .extension("project/failing.ts", failing)
        .extension("project/other.ts", other)
        .start()
        .await;
    let path = trial.root.path().join("project/failing.ts");
    let path = path.display();
    let expected = format!("Failed to load extension \"{path}\": Failed to load extension: no");
    assert_eq!(trial.problems(), [expected]);
    let expected = format!("Extension \"{path}\" failed to load and its API is no longer active.");
    assert_eq!(trial.tool_text("use", json!({})).await, expected);
    let tools = trial.runtime.registry().tools();
    assert!(tools.iter().all(|tool| tool.tool.declaration().name != "half"));
}
