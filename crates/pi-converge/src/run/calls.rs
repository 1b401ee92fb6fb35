//! Results of calls whose process died: the recorded one, or the statement that it is unknown.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;
use pi_protocol::{ToolCall, ToolResultMessage, UserBlock, now_ms};

/// Maximum number of files that a result names.
const MAX_FILES: usize = 20;

/// Creates the result of a call that was executed by a process that died meanwhile.
pub(super) fn interrupted(call: &ToolCall, began: f64, workspace: &Path) -> ToolResultMessage {
    let mut text =
        "Interrupted: the program was stopped while this call was running. The call may \
         have had all, some or none of its effects. It was not repeated. Check the state before \
         you repeat it."
            .to_owned();
    let (files, more) = changed_since(workspace, began);
    if files.is_empty() {
        text.push_str("\n\nNo file in the workspace has changed since the call began.");
    } else {
        text.push_str("\n\nFiles in the workspace that have changed since the call began:");
        for file in &files {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n- {file}");
        }
        if more > 0 {
            let _ = write!(text, "\n- and {more} more");
        }
    }
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![UserBlock::text(text)],
        is_error: true,
        timestamp: now_ms(),
        ..ToolResultMessage::default()
    }
}

/// Returns the files that were written since a time, and the number of files that are not listed.
/// Files that git ignores are left out.
fn changed_since(workspace: &Path, since: f64) -> (Vec<String>, usize) {
    // The clock of a file system can be coarser than that of the journal.
    const COARSE: Duration = Duration::from_millis(20);
    let since = UNIX_EPOCH + Duration::from_secs_f64((since / 1000.0).max(0.0));
    let since = since.checked_sub(COARSE).unwrap_or(since);
    let is_new = |entry: &ignore::DirEntry| {
        let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        modified.is_some_and(|modified: SystemTime| modified >= since)
    };
    let walk = WalkBuilder::new(workspace)
        .hidden(false)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut changed: Vec<String> = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()) && is_new(entry))
        .filter_map(|entry| Some(entry.path().strip_prefix(workspace).ok()?.display().to_string()))
        .collect();
    let more = changed.len().saturating_sub(MAX_FILES);
    changed.truncate(MAX_FILES);
    (changed, more)
}
