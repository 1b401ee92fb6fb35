//! The diff that an edit would make, before the tool runs.

use pi_coding_agent::session::AgentSession;
use serde_json::{Map, Value};

/// Largest file for which a diff is computed.
const LIMIT: u64 = 512 * 1024;

/// Returns the diff of a call of `edit`; `None` if the file cannot be read here, is large, or if the
/// edit would fail.
pub(super) fn of_edit(arguments: &Map<String, Value>, session: &AgentSession) -> Option<String> {
    let path = arguments.get("path").and_then(Value::as_str)?;
    let workspace = session.workspace();
    // Files of a remote executor have no path here.
    let path = workspace.executor().host_path(&workspace.resolve(path))?;
    let metadata = std::fs::metadata(&path).ok()?;
    if !metadata.is_file() || metadata.len() > LIMIT {
        return None;
    }
    let diff = pi_tools::preview_edit(arguments, &std::fs::read(&path).ok()?)?;
    Some(session.redacted(&diff).into_owned())
}
