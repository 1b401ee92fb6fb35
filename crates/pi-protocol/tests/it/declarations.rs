//! Prompt and tools, declared and patched by system messages.

use pi_protocol::{Context, Declarations, Message, Tool, ToolPlacement, render_system_update};
use serde_json::{Value, json};

fn messages(values: Value) -> Vec<Message> {
    serde_json::from_value(values).unwrap()
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description})
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn prompt_and_tools_become_a_leading_system_message() {
    let context = Context::new().system("S").user("u").tool(Tool::new("t", "d", json!({})));
    let normal = context.normalize();
    let state = Declarations::replay(&normal);
    assert_eq!((state.prompt().as_str(), names(&state.tools)), ("S", vec!["t"]));
    assert_eq!(normal.len(), 2);
    assert_eq!(Context::new().user("u").normalize().len(), 1, "no system message without content");
}

#[test]
fn later_messages_patch_earlier_ones() {
    let conversation = messages(json!([
        {"role": "system", "content": "Base.", "sections": {"env": "a", "x": "1"}, "toolsAdded": [tool("r", "1"), tool("b", "1")]},
        {"role": "user", "content": "u"},
        {"role": "system", "content": "", "sections": {"env": "b", "x": null}, "toolsAdded": [tool("r", "2")]},
        {"role": "system", "content": "More.", "toolsAdded": [tool("b", "2")], "toolsRemoved": [{"name": "b"}]},
    ]));
    let state = Declarations::replay(&conversation);
    assert_eq!(state.prompt(), "Base.\n\nMore.\n\nb");
    assert_eq!(names(&state.tools), ["r", "b"]);
    assert!(state.tools.iter().all(|tool| tool.description == "2"));
    let collapsed = Declarations::collapse(&conversation);
    assert_eq!(collapsed.len(), 2);
    assert_eq!(Declarations::replay(&collapsed).prompt(), state.prompt());
}

#[test]
fn a_system_update_lists_its_changes() {
    let conversation = messages(json!([
        {"role": "system", "content": "Now.", "sections": {"env": "b", "gone": null}},
    ]));
    let Message::System(system) = &conversation[0] else { panic!() };
    assert_eq!(
        render_system_update(system),
        "Now.\n\nUpdated system prompt section \"env\":\n\nb\n\nRemoved system prompt section \"gone\"."
    );
}

#[test]
fn tools_are_placed_as_the_api_accepts_them() {
    let additions = messages(json!([
        {"role": "system", "content": "S", "toolsAdded": [tool("a", "1")]},
        {"role": "user", "content": "u"},
        {"role": "system", "content": "", "toolsAdded": [tool("b", "1")]},
    ]));
    let rewritten = messages(json!([
        {"role": "system", "content": "S", "toolsAdded": [tool("a", "1")]},
        {"role": "system", "content": "", "toolsAdded": [tool("a", "2")]},
        {"role": "system", "content": "", "toolsAdded": [tool("b", "1")]},
    ]));
    let cases: [(&str, &[Message], ToolPlacement, &[&str], usize); 5] = [
        ("all at the top", &additions, ToolPlacement::TopLevel, &["a", "b"], 3),
        ("additions in place", &additions, ToolPlacement::Additions, &["a"], 1),
        ("up to the last rewrite at the top", &rewritten, ToolPlacement::Additions, &["a"], 2),
        ("changes in place", &rewritten, ToolPlacement::Changes, &["a"], 1),
        ("nothing declared at first", &additions[1..], ToolPlacement::Changes, &[], 0),
    ];
    for (what, conversation, placement, expected, from) in cases {
        let placed = Declarations::place_tools(conversation, placement);
        let actual = (names(&placed.top_level), placed.in_place_from);
        assert_eq!(actual, (expected.to_vec(), from), "{what}");
    }
}
