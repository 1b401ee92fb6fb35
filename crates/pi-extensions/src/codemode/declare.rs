//! What the model reads about scripts: the description of `codemode`, and how the other tools are
//! described while it is active.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pi_coding_agent::extension::{CallableTool, Exposure, Loadout, LoadoutChange, Namespace};
use pi_config::settings::{CodemodeMode, CodemodeSettings};

use super::CODEMODE;
use super::catalog::identifiers;
use super::typescript::{declaration, result_in_words};

/// Characters per token in the budget of declarations.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// The description, without the tools that it lists.
pub(super) const DESCRIPTION: &str = r#"Run a JavaScript script that calls other tools. Only what the script outputs reaches you, so it can make many calls, in parallel with Promise.allSettled, and filter large results. The input is JavaScript source, not JSON and without a code fence; it is the body of an async function, so `await` and `return` work at the top level. There is no Node, file system, network or timer.
- `await tools.NAME({ ... })` resolves to a string, or to an object where the tool says so, and rejects with an Error if the call fails. A tool with an object as its result also resolves after a failure if it has that object: check its fields. Calls are real and not undone; those still running at the end of the script are cancelled.
- The first line may set options: `// @options: {"max_output_tokens": 10000, "timeout_ms": 60000}`

Globals:
- `text(value)`, `image(dataUrlOrImageBlock)`, `console.log(...)` and a top-level `return` add output; `exit()` ends the script. Images are also saved, and the result names their files.
- `store(key, value)` and `load(key)` keep JSON values for later scripts.
- `ALL_TOOLS`, `await searchTools(query, { limit?, namespace? })`, `await describeTool(name)` and `await describeNamespace(name)` find tools that are not listed here, such as those of MCP servers."#;

/// Changes the declarations of the tools of a request.
pub(super) fn prepare(settings: CodemodeSettings, loadout: &Loadout) -> LoadoutChange {
    let mut change = LoadoutChange::default();
    let active: BTreeSet<&str> = loadout.active.iter().map(String::as_str).collect();
    let ids = identifiers(&loadout.callable);
    let mut listed: Vec<(&str, &CallableTool)> = Vec::new();
    for (tool, id) in loadout.callable.iter().zip(&ids) {
        // Also if a search loaded the tool: the description stays as it is.
        if tool.is_listed {
            listed.push((id, tool));
        }
        if !active.contains(tool.name()) {
            continue;
        }
        match settings.mode {
            CodemodeMode::On => {
                let description = with_note(id, tool);
                change.descriptions.insert(tool.name().to_owned(), description);
            }
            // What a search loaded stays declared: the model asked for it.
            CodemodeMode::Only if tool.exposure == Exposure::Direct => {
                change.hidden.insert(tool.name().to_owned());
                listed.push((id, tool));
            }
            CodemodeMode::Only => {}
        }
    }
    let mut description = DESCRIPTION.to_owned();
    description.push_str(&list(&listed, settings.inline_budget));
    change.descriptions.insert(CODEMODE.to_owned(), description);
    change
}

/// Returns the description of a tool with a note on calls by scripts.
fn with_note(id: &str, tool: &CallableTool) -> String {
    let description = &tool.tool.declaration().description;
    let result = result_in_words(tool.output_schema.as_ref());
    let result =
        result.unwrap_or_else(|| format!("a value; `describeTool(\"{id}\")` shows its type"));
    format!("{description}\n\nCodemode: `tools.{id}(args)` resolves to {result}.")
}

/// Lists tools by namespace, as far as the budget permits: in turns, and the shortest first, so
/// that each namespace shows something.
fn list(tools: &[(&str, &CallableTool)], budget: u64) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for (id, tool) in tools {
        let name = tool.namespace.as_ref().map_or("", |namespace| &namespace.name);
        let group = groups.entry(name).or_default();
        group.namespace = group.namespace.or(tool.namespace.as_ref());
        group.left.push(entry(id, tool));
    }
    for group in groups.values_mut() {
        // From the end, where entries are taken off.
        group.left.sort_by_key(|entry| std::cmp::Reverse((entry.len(), entry.clone())));
    }
    let mut room = budget.saturating_mul(CHARACTERS_PER_TOKEN);
    loop {
        let mut is_added = false;
        for group in groups.values_mut() {
            let fits = |entry: &String| entry.len() as u64 <= room;
            if let Some(entry) = group.left.pop_if(|entry| fits(entry)) {
                room -= entry.len() as u64;
                group.shown.push(entry);
                is_added = true;
            }
        }
        if !is_added {
            break;
        }
    }
    let mut text = "\n\nTools that scripts can call:".to_owned();
    for (name, mut group) in groups {
        // Writing to a string cannot fail.
        if !name.is_empty() {
            let description = group.namespace.and_then(|one| one.description.as_deref());
            let description = description.map(|text| format!(": {text}")).unwrap_or_default();
            let _ = write!(text, "\n\n## {name}{description}");
        }
        group.shown.sort();
        for entry in &group.shown {
            let _ = write!(text, "\n\n{entry}");
        }
        if !group.left.is_empty() {
            let _ = write!(text, "\n\n{} more: see ALL_TOOLS.", group.left.len());
        }
    }
    text
}

#[derive(Default)]
struct Group<'a> {
    namespace: Option<&'a Namespace>,
    left: Vec<String>,
    shown: Vec<String>,
}

/// Returns a listed tool: its description, guidelines and declaration.
fn entry(id: &str, tool: &CallableTool) -> String {
    let declared = tool.tool.declaration();
    let mut text = declared.description.trim().to_owned();
    for guideline in tool.tool.prompt_guidelines() {
        let _ = write!(text, "\n- {guideline}");
    }
    let declaration = declaration(id, &declared.parameters, tool.output_schema.as_ref());
    format!("{text}\n```ts\ntools.{declaration}\n```")
}
