//! The lists of built-in tools.

use std::fs;
use std::sync::Arc;

use pi_tools::{Host, Workspace, toolset};
use tempfile::TempDir;

#[test]
fn default_and_all_tools_are_listed() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("f"), "x").unwrap();
    let workspace =
        Arc::new(Workspace::new(Arc::new(Host::default()), directory.path().to_owned(), None));
    let names = |tools: Vec<Arc<dyn pi_agent::AgentTool>>| -> Vec<String> {
        tools.iter().map(|tool| tool.declaration().name.clone()).collect()
    };
    assert_eq!(names(toolset::coding(&workspace)), ["read", "bash", "edit", "write"]);
    let all = names(toolset::all(&workspace));
    // Tools that the TypeScript pi does not have follow.
    assert_eq!(all[..7], ["read", "bash", "edit", "write", "grep", "find", "ls"]);
}
